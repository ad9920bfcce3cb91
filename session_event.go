package loci

// An EventType is the type of a session event.
type EventType string

// The types of events.
const (
	EventSessionStart EventType = "session.start"
	EventPrompt       EventType = "prompt"
	EventResponse     EventType = "response"
	EventTool         EventType = "tool"
	EventFile         EventType = "file"
	EventNote         EventType = "note"
	EventSessionEnd   EventType = "session.end"
)

// Rule lists the types.
func (EventType) Rule() Rule {
	return Rule{Enum: enumValues(EventSessionStart, EventPrompt, EventResponse, EventTool, EventFile, EventNote,
		EventSessionEnd)}
}

// KeepsText reports whether the text of an event of this type is stored. That of tools and files never is.
func (t EventType) KeepsText() bool { return t != EventTool && t != EventFile }

// An EventRole is the author of an event's text.
type EventRole string

// The roles.
const (
	RoleOfUser      EventRole = "user"
	RoleOfAssistant EventRole = "assistant"
	RoleOfTool      EventRole = "tool"
	RoleOfSystem    EventRole = "system"
)

// Rule lists the roles.
func (EventRole) Rule() Rule {
	return Rule{Enum: enumValues(RoleOfUser, RoleOfAssistant, RoleOfTool, RoleOfSystem)}
}

// EventContent is the text of an event.
type EventContent string

// MaxEventContent is the most bytes of an event's text.
const MaxEventContent = 256 << 10

// Rule allows at most 256 KiB.
func (EventContent) Rule() Rule {
	return Rule{MaxBytes: MaxEventContent, Description: "At most 256 KiB"}
}

// A SessionEvent is one event of an automatic session, without its text.
type SessionEvent struct {
	ID         ID        `json:"id,omitzero" jsonschema:"UUIDv7; absent if it was ignored"`
	SessionID  ID        `json:"sessionId"`
	EventID    string    `json:"eventId" jsonschema:"The id that its client gave it"`
	Adapter    Adapter   `json:"adapter"`
	Type       EventType `json:"type"`
	UnitKey    string    `json:"unitKey,omitzero"`
	Role       EventRole `json:"role,omitzero"`
	OccurredAt Time      `json:"occurredAt"`
	CreatedAt  Time      `json:"createdAt"`
	UpdatedAt  Time      `json:"updatedAt"`
}

// SendEvent is the input of session.event.
type SendEvent struct {
	SessionID  ID           `json:"sessionId" id:"session"`
	Adapter    Adapter      `json:"adapter" jsonschema:"That of the session"`
	EventID    ExternalID   `json:"eventId" jsonschema:"Your id of it: a known one changes nothing"`
	Type       EventType    `json:"type"`
	UnitKey    ExternalID   `json:"unitKey,omitzero" jsonschema:"The turn or task that it belongs to"`
	OccurredAt Time         `json:"occurredAt,omitzero" jsonschema:"Default: now"`
	Role       EventRole    `json:"role,omitzero" jsonschema:"Who wrote the text"`
	Content    EventContent `json:"content,omitzero"`
	Metadata   Metadata     `json:"metadata,omitzero" jsonschema:"Free object of at most 8 KiB; path and cwd decide exclusion"`
}

// ReceivedEvent is the output of session.event.
type ReceivedEvent struct {
	Event      SessionEvent `json:"event"`
	Candidate  *Candidate   `json:"candidate,omitzero" jsonschema:"The first that was extracted"`
	Candidates []Candidate  `json:"candidates,omitzero" jsonschema:"All that were extracted: at most 5 now, and 5 later by a language model" show:"columns=id title:28 type status"`
	Duplicate  bool         `json:"duplicate" jsonschema:"The event was known"`
	Ignored    bool         `json:"ignored,omitzero" jsonschema:"The policy excludes it: nothing was stored"`
}

// A CompilationOutcome is the result of a compilation.
type CompilationOutcome string

// The outcomes.
const (
	CompilationCreated CompilationOutcome = "created"
	CompilationUpdated CompilationOutcome = "updated"
	CompilationSkipped CompilationOutcome = "skipped"
	CompilationFailed  CompilationOutcome = "failed"
)

// Rule lists the outcomes.
func (CompilationOutcome) Rule() Rule {
	return Rule{Enum: enumValues(CompilationCreated, CompilationUpdated, CompilationSkipped, CompilationFailed)}
}

// MakesMemory reports whether a compilation of this outcome has a memory.
func (o CompilationOutcome) MakesMemory() bool {
	return o == CompilationCreated || o == CompilationUpdated
}

// EventIDs are the events of a compilation.
type EventIDs []ExternalID

// Rule allows at most 500 ids.
func (EventIDs) Rule() Rule { return Rule{MaxItems: 500} }

// A Compilation records that a bridge made a memory of events, or failed to.
type Compilation struct {
	ID            ID                 `json:"id" jsonschema:"UUIDv7"`
	SessionID     ID                 `json:"sessionId"`
	UnitKey       string             `json:"unitKey"`
	Compiler      string             `json:"compiler"`
	Outcome       CompilationOutcome `json:"outcome"`
	MemoryID      ID                 `json:"memoryId,omitzero"`
	InputEventIDs []string           `json:"inputEventIds"`
	CreatedAt     Time               `json:"createdAt"`
	UpdatedAt     Time               `json:"updatedAt"`
}

// RecordCompilation is the input of session.compile.
type RecordCompilation struct {
	SessionID     ID                 `json:"sessionId" id:"session"`
	UnitKey       ExternalID         `json:"unitKey" jsonschema:"The turn or task"`
	Compiler      ExternalID         `json:"compiler" jsonschema:"Name and version of the program"`
	Outcome       CompilationOutcome `json:"outcome"`
	MemoryID      ID                 `json:"memoryId,omitzero" id:"memory" jsonschema:"Required if created or updated"`
	InputEventIDs EventIDs           `json:"inputEventIds,omitzero" jsonschema:"The events it was made of"`
}

// RecordedCompilation is the output of session.compile.
type RecordedCompilation struct {
	Compilation Compilation `json:"compilation"`
}

// Created reports that a record was created.
func (RecordedCompilation) Created() bool { return true }
