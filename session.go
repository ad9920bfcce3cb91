package loci

// A SessionKind is the way in which a session is kept.
type SessionKind string

// The kinds. An agent or a person keeps a manual session by its own calls; a bridge keeps an automatic one.
const (
	SessionManual    SessionKind = "manual"
	SessionAutomatic SessionKind = "automatic"
)

// Rule lists the kinds.
func (SessionKind) Rule() Rule { return Rule{Enum: enumValues(SessionManual, SessionAutomatic)} }

// An Adapter is the bridge that delivers the events of an automatic session.
type Adapter string

// Adapters lists every adapter, in the order of the specification.
var Adapters = []Adapter{"acp", "workbuddy", "opencode", "pi", "codex", "claude"}

// Rule lists the adapters.
func (Adapter) Rule() Rule { return Rule{Enum: enumValues(Adapters...)} }

// A SessionStatus is the state of a session.
type SessionStatus string

// The states of a session.
const (
	SessionActive    SessionStatus = "active"
	SessionCompleted SessionStatus = "completed"
	SessionFinalized SessionStatus = "finalized"
)

// Rule lists the states.
func (SessionStatus) Rule() Rule {
	return Rule{Enum: enumValues(SessionActive, SessionCompleted, SessionFinalized)}
}

// SessionStates is the table of the states of an automatic session; ManualSessionStates is that of a manual one.
var (
	SessionStates = Machine[SessionStatus]{"session", []Move[SessionStatus]{
		{"continued", []SessionStatus{SessionActive}, ""},
		{"extracted", []SessionStatus{SessionActive, SessionCompleted}, ""},
		{"completed", []SessionStatus{SessionActive}, SessionCompleted},
		{"finalized", []SessionStatus{SessionActive}, SessionFinalized},
		{"reopened", []SessionStatus{SessionCompleted, SessionFinalized}, SessionActive},
	}, nil}
	ManualSessionStates = Machine[SessionStatus]{"session", []Move[SessionStatus]{
		{"continued", []SessionStatus{SessionActive}, ""},
		{"finalized", []SessionStatus{SessionActive}, SessionFinalized},
	}, map[SessionStatus]string{SessionFinalized: "Start another one."}}
)

// ArchivedSessionStates is the table of the second state of a session: archived or not.
var ArchivedSessionStates = Machine[ContainerStatus]{"session", []Move[ContainerStatus]{
	{"changed", []ContainerStatus{ContainerActive}, ""},
	{"archived", []ContainerStatus{ContainerActive}, ContainerArchived},
	{"restored", []ContainerStatus{ContainerArchived}, ContainerActive},
}, nil}

// The limits of a session.
const (
	MaxCandidates  = 500
	MaxCheckpoints = 500
	MaxUnits       = 200
	MaxEvents      = 20_000
	MaxShownParts  = 100 // candidates, checkpoints, units or steps of the history that session.get shows
)

// An ExternalID is an id that a client chooses, such as that of a session, an event or a unit.
type ExternalID string

// Rule requires 1 to 200 printable ASCII characters.
func (ExternalID) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 200, Pattern: `^[ -~]*$`, Characters: "printable ASCII characters",
		NoSecret: true}
}

// A TaskText is the task of a session.
type TaskText string

// Rule requires 1 to 2,000 characters, one of them visible.
func (TaskText) Rule() Rule { return Rule{MinLength: 1, MaxLength: 2000, Trim: true, Visible: true} }

// A Summary is a note on the progress or the result of a session: Markdown.
type Summary string

// Rule requires a visible character, and at most 16 KiB.
func (Summary) Rule() Rule {
	return Rule{MinLength: 1, MaxBytes: 16 << 10, Visible: true, Description: "Markdown, at most 16 KiB"}
}

// SessionCounts are the numbers of the parts of a session.
type SessionCounts struct {
	Candidates  int `json:"candidates"`
	Pending     int `json:"pending" jsonschema:"Candidates that wait for a review"`
	Checkpoints int `json:"checkpoints"`
	Units       int `json:"units"`
	Events      int `json:"events"`
}

// A Session is the durable record of an agent's task.
type Session struct {
	ID          ID            `json:"id" jsonschema:"UUIDv7" write:"show"`
	WorkspaceID ID            `json:"workspaceId" id:"workspace" show:"-"`
	AtlasID     ID            `json:"atlasId" write:"name"`
	Title       string        `json:"title" jsonschema:"The first prompt of an automatic session, else the task" show:"-"`
	Task        string        `json:"task" write:"show"`
	Kind        SessionKind   `json:"kind" show:"unless=manual"`
	Adapter     Adapter       `json:"adapter,omitzero"`
	ExternalID  string        `json:"externalId,omitzero" jsonschema:"The id that its client gave it" show:"-"`
	SourceName  string        `json:"sourceName,omitzero" show:"-"`
	Status      SessionStatus `json:"status" write:"show"`
	Archived    bool          `json:"archived" show:"unless=false" write:"show"`
	UserID      ID            `json:"userId"`
	AgentID     ID            `json:"agentId,omitzero" id:"agent"`
	Summary     string        `json:"summary,omitzero" jsonschema:"Markdown"`
	Snapshot    string        `json:"snapshot,omitzero" jsonschema:"What finalize wrote, as Markdown; lists omit it" show:"text"`
	MemoryID    ID            `json:"memoryId,omitzero" jsonschema:"The memory of the unit finalized last" write:"show"`
	StartedAt   Time          `json:"startedAt"`
	EndedAt     Time          `json:"endedAt,omitzero"`
	CreatedAt   Time          `json:"createdAt" show:"-"`
	UpdatedAt   Time          `json:"updatedAt"`
	Counts      SessionCounts `json:"counts" write:"show"`
}

// A Checkpoint is a note on the progress of a session.
type Checkpoint struct {
	Number    int    `json:"number" jsonschema:"Counts from 1 within the session" write:"show"`
	Summary   string `json:"summary" jsonschema:"Markdown"`
	CreatedAt Time   `json:"createdAt"`
	UpdatedAt Time   `json:"updatedAt" show:"-"`
}

// A SessionAction is what happened in a step of a session's history.
type SessionAction string

// The actions of a history.
const (
	ActionStarted    SessionAction = "started"
	ActionCaptured   SessionAction = "captured"
	ActionDrawn      SessionAction = "drawn"
	ActionCheckpoint SessionAction = "checkpoint"
	ActionOpened     SessionAction = "opened"
	ActionCompiled   SessionAction = "compiled"
	ActionSkipped    SessionAction = "skipped"
	ActionDismissed  SessionAction = "dismissed"
	ActionReverted   SessionAction = "reverted"
	ActionUpdated    SessionAction = "updated"
	ActionSuperseded SessionAction = "superseded"
	ActionCompleted  SessionAction = "completed"
	ActionFinalized  SessionAction = "finalized"
	ActionReopened   SessionAction = "reopened"
	ActionArchived   SessionAction = "archived"
	ActionRestored   SessionAction = "restored"
)

// Rule lists the actions.
func (SessionAction) Rule() Rule {
	return Rule{Enum: enumValues(ActionStarted, ActionCaptured, ActionDrawn, ActionCheckpoint,
		ActionOpened, ActionCompiled, ActionSkipped, ActionDismissed, ActionReverted, ActionUpdated, ActionSuperseded,
		ActionCompleted, ActionFinalized, ActionReopened, ActionArchived, ActionRestored)}
}

// A HistoryStep is one step of a session's history.
type HistoryStep struct {
	At          Time          `json:"at"`
	Action      SessionAction `json:"action"`
	UserID      ID            `json:"userId,omitzero"`
	AgentID     ID            `json:"agentId,omitzero" id:"agent"`
	CandidateID ID            `json:"candidateId,omitzero"`
	UnitID      ID            `json:"unitId,omitzero"`
	MemoryID    ID            `json:"memoryId,omitzero"`
	EventID     string        `json:"eventId,omitzero" jsonschema:"The event that caused it, as its client named it"`
}

// StartSession is the input of session.start.
type StartSession struct {
	Task        TaskText    `json:"task" jsonschema:"What the agent is to do"`
	Adapter     Adapter     `json:"adapter,omitzero" jsonschema:"Required if automatic"`
	AtlasID     ID          `json:"atlasId,omitzero" id:"atlas" jsonschema:"Default: as for a memory"`
	WorkspaceID ID          `json:"workspaceId,omitzero" id:"workspace" jsonschema:"Default: personal"`
	Kind        SessionKind `json:"kind,omitzero" jsonschema:"Default: manual"`
	ExternalID  ExternalID  `json:"externalId,omitzero" jsonschema:"Your id of it: a known one resumes"`
	SourceName  SourceText  `json:"sourceName,omitzero" jsonschema:"Your name, as a label"`
	MaxTokens   TokenBudget `json:"maxTokens,omitzero"`
}

// StartedSession is the output of session.start.
type StartedSession struct {
	Session Session       `json:"session"`
	Context MemoryContext `json:"context" jsonschema:"What is known in its atlas"`
	Creation
}

// OneSession is an output that holds a session.
type OneSession struct {
	Session Session `json:"session"`
}

// GetSession is the input of session.get.
type GetSession struct {
	SessionID ID          `json:"sessionId" id:"session"`
	MaxTokens TokenBudget `json:"max_tokens,omitzero"`
}

// SessionDetail is the output of session.get, with the newest of each part.
type SessionDetail struct {
	Session     Session          `json:"session"`
	Candidates  []Candidate      `json:"candidates" jsonschema:"The newest, newest first" show:"columns=id title:28 type status"`
	Checkpoints []Checkpoint     `json:"checkpoints" jsonschema:"The newest, newest first" show:"columns=number summary:40 createdAt"`
	Units       []Unit           `json:"units" jsonschema:"The newest, newest first" show:"columns=id key:16 title:28 status memoryId"`
	Context     MemoryContext    `json:"context" jsonschema:"What is known in its atlas now"`
	History     []HistoryStep    `json:"history" jsonschema:"The newest, newest first" show:"columns=at action user:12 candidateId unitId eventId:16"`
	Redactions  []RedactionCount `json:"redactions" jsonschema:"Credentials that its audits report, or the server found in events" show:"columns=rule count"`

	tag string
}

// WithEntityTag returns the detail with its entity tag.
func (d SessionDetail) WithEntityTag(values ...string) SessionDetail {
	d.tag = entityTag(d.Session.ID, values...)
	return d
}

// ETag identifies this representation of the session.
func (d SessionDetail) ETag() string { return d.tag }

// A SessionScope selects whose sessions a list shows.
type SessionScope string

// The scopes. Managers may list the sessions of all members.
const (
	ScopeOwn     SessionScope = "own"
	ScopeManaged SessionScope = "managed"
)

// Rule lists the scopes.
func (SessionScope) Rule() Rule {
	return Rule{Enum: enumValues(ScopeOwn, ScopeManaged), Description: "managed: of all members, as admin or owner"}
}

// ListSessions is the input of session.list.
type ListSessions struct {
	WorkspaceID ID                    `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Only this one"`
	AtlasID     ID                    `json:"atlas_id,omitzero" id:"atlas" jsonschema:"Only this one"`
	Status      []SessionStatus       `json:"status,omitzero" jsonschema:"Only these"`
	Scope       SessionScope          `json:"scope,omitzero"`
	Include     []IncludeArchivedOnly `json:"include,omitzero" jsonschema:"These too"`
	Paging
}

// Sessions is a page of sessions, newest first.
type Sessions struct {
	Sessions []Session `json:"sessions" show:"columns=id user:12 task:28 kind=manual adapter status archived=false startedAt"`
	Page
}

// AddCheckpoint is the input of session.checkpoint.
type AddCheckpoint struct {
	SessionID ID      `json:"sessionId" id:"session"`
	Summary   Summary `json:"summary" jsonschema:"What is done, what is next"`
}

// AddedCheckpoint is the output of session.checkpoint.
type AddedCheckpoint struct {
	Checkpoint Checkpoint `json:"checkpoint"`
}

// FinalizeSession is the input of session.finalize.
type FinalizeSession struct {
	SessionID ID      `json:"sessionId" id:"session"`
	Summary   Summary `json:"summary,omitzero" jsonschema:"The result"`
}

// A CompiledCandidate names a candidate and the memory that it became.
type CompiledCandidate struct {
	CandidateID ID `json:"candidateId"`
	MemoryID    ID `json:"memoryId"`
}

// A SkippedCandidate names a candidate that became no memory, and the reason.
type SkippedCandidate struct {
	CandidateID ID     `json:"candidateId"`
	Reason      string `json:"reason"`
	MemoryID    ID     `json:"memoryId,omitzero" jsonschema:"The memory with its content"`
}

// FinalizedSession is the output of session.finalize.
type FinalizedSession struct {
	Session  Session             `json:"session"`
	Compiled []CompiledCandidate `json:"compiled" show:"columns=candidateId memoryId"`
	Skipped  []SkippedCandidate  `json:"skipped" show:"columns=candidateId reason:28 memoryId"`
}

// CompleteSession is the input of session.complete.
type CompleteSession struct {
	SessionID ID `json:"sessionId" id:"session"`
}

// ReopenSession is the input of session.reopen.
type ReopenSession struct {
	SessionID ID `json:"sessionId" id:"session"`
}

// RevertSession is the input of session.revert.
type RevertSession struct {
	SessionID ID `json:"sessionId" id:"session"`
}

// ArchiveSession is the input of session.archive.
type ArchiveSession struct {
	SessionID ID    `json:"sessionId" id:"session"`
	Archived  *bool `json:"archived,omitzero" jsonschema:"Default: true; false restores it"`
}

// A BulkAction is what session.bulk does to each session.
type BulkAction string

// The actions.
const (
	BulkArchive BulkAction = "archive"
	BulkRestore BulkAction = "restore"
	BulkDelete  BulkAction = "delete"
)

// Rule lists the actions.
func (BulkAction) Rule() Rule { return Rule{Enum: enumValues(BulkArchive, BulkRestore, BulkDelete)} }

// BulkIDs are the records that a call changes, each for itself.
type BulkIDs []ID

// Rule requires 1 to 100 ids.
func (BulkIDs) Rule() Rule { return Rule{MinItems: 1, MaxItems: 100} }

// BulkSessions is the input of session.bulk.
type BulkSessions struct {
	Action     BulkAction `json:"action" jsonschema:"What to do to each of them"`
	SessionIDs BulkIDs    `json:"sessionIds" id:"session" jsonschema:"At most 100"`
}

// A BulkResult is the result of a bulk action for one record.
type BulkResult struct {
	ID   ID   `json:"id"`
	OK   bool `json:"ok"`
	Code Code `json:"code,omitzero" jsonschema:"Why it was not done"`
}

// BulkResults is the output of session.bulk and attachment.delete, in the order of the request.
type BulkResults struct {
	Results []BulkResult `json:"results" show:"columns=id ok code"`
}

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
	MemoryID      ID                 `json:"memoryId,omitzero" id:"memory" jsonschema:"Required if created or updated, and else refused"`
	InputEventIDs EventIDs           `json:"inputEventIds,omitzero" jsonschema:"The events it was made of"`
}

// RecordedCompilation is the output of session.compile.
type RecordedCompilation struct {
	Compilation Compilation `json:"compilation"`
}
