package loci

// A CandidateStatus is the state of a candidate.
type CandidateStatus string

// The states of a candidate.
const (
	CandidatePending   CandidateStatus = "pending"
	CandidateCompiled  CandidateStatus = "compiled"
	CandidateDismissed CandidateStatus = "dismissed"
	CandidateReverted  CandidateStatus = "reverted"
)

// Rule lists the states.
func (CandidateStatus) Rule() Rule {
	return Rule{Enum: enumValues(CandidatePending, CandidateCompiled, CandidateDismissed, CandidateReverted)}
}

// CandidateStates is the table of the states of a candidate. A dismissed candidate that is reverted waits again, and a
// reverted one can be compiled again.
var CandidateStates = Machine[CandidateStatus]{"candidate", []Move[CandidateStatus]{
	{"changed", []CandidateStatus{CandidatePending}, ""},
	{"compiled", []CandidateStatus{CandidatePending, CandidateReverted}, CandidateCompiled},
	{"dismissed", []CandidateStatus{CandidatePending}, CandidateDismissed},
	{"reverted", []CandidateStatus{CandidateCompiled}, CandidateReverted},
	{"reverted", []CandidateStatus{CandidateDismissed}, CandidatePending},
}, nil}

// CandidateContent is the text of a candidate: Markdown.
type CandidateContent string

// Rule requires a visible character, and at most 32 KiB.
func (CandidateContent) Rule() Rule {
	return Rule{MinLength: 1, MaxBytes: 32 << 10, Visible: true, Description: "Markdown, at most 32 KiB"}
}

// A Candidate is a piece of knowledge of a session that may become a memory.
type Candidate struct {
	ID            ID                `json:"id" jsonschema:"UUIDv7" write:"show"`
	SessionID     ID                `json:"sessionId" write:"show"`
	UnitID        ID                `json:"unitId,omitzero" show:"-"`
	Content       string            `json:"content" jsonschema:"Markdown" show:"text"`
	Title         string            `json:"title" write:"show"`
	Type          MemoryType        `json:"type" show:"unless=note"`
	Tags          []string          `json:"tags" show:"unless=[]"`
	Confidence    *Confidence       `json:"confidence,omitzero"`
	Evidence      string            `json:"evidence,omitzero" jsonschema:"Its basis"`
	SourceEventID string            `json:"sourceEventId,omitzero" jsonschema:"The event that it was extracted from"`
	Status        CandidateStatus   `json:"status" write:"show"`
	MemoryID      ID                `json:"memoryId,omitzero" jsonschema:"The memory that it became, or that has its content" write:"show"`
	Replaces      ID                `json:"replaces,omitzero" jsonschema:"The memory that its memory replaces" write:"show"`
	Similar       []SimilarToMemory `json:"similar" jsonschema:"Active memories with nearly the same content, best first" show:"unless=[]" write:"show"`
	Turns         *Turns            `json:"turns,omitzero" jsonschema:"Where it comes from, where the policy says keepTurns" show:"-"`
	CreatedAt     Time              `json:"createdAt"`
	UpdatedAt     Time              `json:"updatedAt" show:"-"`

	// TitleDerived reports that nobody gave the title. Only the server knows it, for the memory of the candidate.
	TitleDerived bool `json:"-"`
}

// MaxTurn is the most characters of a turn that a candidate shows.
const MaxTurn = 4000

// Turns are the two turns that a candidate comes from, without credentials, each up to 4,000 characters. Of a prompt it
// is the answer before it.
type Turns struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
}

// SimilarToMemory names a memory that is similar to a candidate.
type SimilarToMemory struct {
	MemoryID ID      `json:"memoryId"`
	Score    float64 `json:"score" jsonschema:"0 to 1; 1 is the same text"`
}

// CaptureCandidate is the input of session.capture.
type CaptureCandidate struct {
	SessionID     ID               `json:"sessionId" id:"session"`
	Content       CandidateContent `json:"content"`
	Title         Title            `json:"title,omitzero" jsonschema:"Default: from the text"`
	Type          MemoryType       `json:"type,omitzero" jsonschema:"Default: note"`
	Tags          Tags             `json:"tags,omitzero" jsonschema:"Labels"`
	Confidence    *Confidence      `json:"confidence,omitzero"`
	Evidence      *Evidence        `json:"evidence,omitzero" jsonschema:"Basis"`
	SourceEventID ExternalID       `json:"sourceEventId,omitzero" jsonschema:"Your id of it: a known one returns it"`
}

// CapturedCandidate is the output of session.capture.
type CapturedCandidate struct {
	Candidate Candidate `json:"candidate"`
	Creation
}

// ListCandidates is the input of session.candidates.
type ListCandidates struct {
	WorkspaceID ID                    `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Only this one"`
	AtlasID     ID                    `json:"atlas_id,omitzero" id:"atlas" jsonschema:"Only this one"`
	SessionID   ID                    `json:"session_id,omitzero" id:"session" jsonschema:"Only this one"`
	Status      []CandidateStatus     `json:"status,omitzero" jsonschema:"Only these"`
	Scope       SessionScope          `json:"scope,omitzero"`
	Include     []IncludeArchivedOnly `json:"include,omitzero" jsonschema:"Of archived sessions too"`
	Paging
}

// Candidates is a page of candidates, newest first.
type Candidates struct {
	Candidates []Candidate `json:"candidates" show:"columns=id sessionId title:28 type status createdAt"`
	Page
}

// EditCandidate is the input of session.edit; absent fields do not change.
type EditCandidate struct {
	SessionID   ID                `json:"sessionId" id:"session"`
	CandidateID ID                `json:"candidateId" id:"candidate"`
	Content     *CandidateContent `json:"content,omitzero" jsonschema:"New value"`
	Title       *OptionalTitle    `json:"title,omitzero"`
	Type        MemoryType        `json:"type,omitzero" jsonschema:"New value"`
	Tags        *Tags             `json:"tags,omitzero" jsonschema:"Replaces all"`
}

// OneCandidate is the output of session.edit.
type OneCandidate struct {
	Candidate Candidate `json:"candidate"`
}

// A ModerationAction is a decision on a candidate.
type ModerationAction string

// The actions.
const (
	ModerationCompile ModerationAction = "compile"
	ModerationDismiss ModerationAction = "dismiss"
	ModerationRevert  ModerationAction = "revert"
)

// Rule lists the actions.
func (ModerationAction) Rule() Rule {
	return Rule{Enum: enumValues(ModerationCompile, ModerationDismiss, ModerationRevert)}
}

// ModerateCandidate is the input of session.moderate.
type ModerateCandidate struct {
	SessionID   ID               `json:"sessionId" id:"session"`
	CandidateID ID               `json:"candidateId" id:"candidate"`
	Action      ModerationAction `json:"action" jsonschema:"compile makes a memory of it, revert undoes the last action"`
	Supersede   *OptionalID      `json:"supersede,omitzero" id:"memory" jsonschema:"The memory that it replaces, of compile alone; null: none"`
}

// ModeratedCandidate is the output of session.moderate.
type ModeratedCandidate struct {
	Candidate Candidate `json:"candidate"`
	Memory    *Memory   `json:"memory,omitzero" jsonschema:"The memory that was made or archived"`
}

// ModerateCandidates is the input of session.review.
type ModerateCandidates struct {
	Action       ModerationAction `json:"action" jsonschema:"compile makes memories of them, revert undoes the last action"`
	CandidateIDs BulkIDs          `json:"candidateIds" id:"candidate" jsonschema:"At most 100"`
}

// A ModerationResult is the result of a moderation for one candidate.
type ModerationResult struct {
	BulkResult
	MemoryID ID `json:"memoryId,omitzero" jsonschema:"The memory that was made or archived"`
}

// ModerationResults is the output of session.review, in the order of the request.
type ModerationResults struct {
	Results []ModerationResult `json:"results" show:"columns=id ok code memoryId"`
}

// A UnitStatus is the state of a unit.
type UnitStatus string

// The states of a unit.
const (
	UnitOpen      UnitStatus = "open"
	UnitFinalized UnitStatus = "finalized"
)

// Rule lists the states.
func (UnitStatus) Rule() Rule { return Rule{Enum: enumValues(UnitOpen, UnitFinalized)} }

// UnitStates is the table of the states of a unit. A unit finalized again updates its memory.
var UnitStates = Machine[UnitStatus]{"unit", []Move[UnitStatus]{
	{"finalized", []UnitStatus{UnitOpen, UnitFinalized}, UnitFinalized},
	{"reopened", []UnitStatus{UnitOpen, UnitFinalized}, UnitOpen},
}, nil}

// A Unit is one task within an automatic session. It has one memory.
type Unit struct {
	ID        ID         `json:"id" jsonschema:"UUIDv7"`
	SessionID ID         `json:"sessionId"`
	Key       string     `json:"key"`
	Title     string     `json:"title"`
	Status    UnitStatus `json:"status"`
	MemoryID  ID         `json:"memoryId,omitzero"`
	CreatedAt Time       `json:"createdAt"`
	UpdatedAt Time       `json:"updatedAt"`
}

// OpenUnit is the input of unit.open.
type OpenUnit struct {
	SessionID ID         `json:"sessionId" id:"session"`
	Key       ExternalID `json:"key" jsonschema:"Your id of it: a known one resumes"`
	Title     Title      `json:"title,omitzero" jsonschema:"Default: the key"`
	FollowUp  bool       `json:"followUp,omitzero" jsonschema:"Open a finalized one again: it updates the same memory"`
}

// OpenedUnit is the output of unit.open.
type OpenedUnit struct {
	Unit Unit `json:"unit"`
	Creation
}

// FinalizeUnit is the input of unit.finalize.
type FinalizeUnit struct {
	SessionID ID         `json:"sessionId" id:"session"`
	UnitID    ID         `json:"unitId" id:"unit"`
	Content   Content    `json:"content" jsonschema:"The result: the content of its memory"`
	Title     Title      `json:"title,omitzero" jsonschema:"Default: from the text"`
	Type      MemoryType `json:"type,omitzero" jsonschema:"Default: note"`
	Tags      Tags       `json:"tags,omitzero" jsonschema:"Labels"`
}

// OneUnit is an output that holds a unit.
type OneUnit struct {
	Unit Unit `json:"unit"`
}
