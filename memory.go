package loci

import (
	"strconv"
	"unicode"
)

// A MemoryType is the type of knowledge in a memory.
type MemoryType string

// The types, in the order of the specification.
const (
	TypeFact         MemoryType = "fact"
	TypeDecision     MemoryType = "decision"
	TypePreference   MemoryType = "preference"
	TypeTask         MemoryType = "task"
	TypeArchitecture MemoryType = "architecture"
	TypeNote         MemoryType = "note"
)

// MemoryTypes lists every type. A type is stored by its index here: append only.
var MemoryTypes = []MemoryType{TypeFact, TypeDecision, TypePreference, TypeTask, TypeArchitecture, TypeNote}

// MemoryTypeAt returns the type with that index in MemoryTypes. A stored index
// may be unknown to this version: it reads as a note.
func MemoryTypeAt(place int) MemoryType {
	if place < 0 || place >= len(MemoryTypes) {
		return TypeNote
	}
	return MemoryTypes[place]
}

// Rule lists the types.
func (MemoryType) Rule() Rule { return Rule{Enum: enumValues(MemoryTypes...)} }

// A MemoryStatus is the state of a memory.
type MemoryStatus string

// The states of a memory.
const (
	MemoryActive     MemoryStatus = "active"
	MemoryArchived   MemoryStatus = "archived"
	MemorySuperseded MemoryStatus = "superseded"
)

// MemoryStatuses lists every status. A status is stored by its index here: append only.
var MemoryStatuses = []MemoryStatus{MemoryActive, MemoryArchived, MemorySuperseded}

// MemoryStatusAt returns the status with that index in MemoryStatuses. A stored index may be unknown to this version:
// it reads as archived, which searches and lists leave out.
func MemoryStatusAt(place int) MemoryStatus {
	if place < 0 || place >= len(MemoryStatuses) {
		return MemoryArchived
	}
	return MemoryStatuses[place]
}

// Rule lists the states.
func (MemoryStatus) Rule() Rule { return Rule{Enum: enumValues(MemoryStatuses...)} }

// MemoryStates is the table of the states of a memory.
var MemoryStates = Machine[MemoryStatus]{"memory", []Move[MemoryStatus]{
	{"changed", []MemoryStatus{MemoryActive}, ""},
	{"a replacement", []MemoryStatus{MemoryActive}, ""},
	{"archived", []MemoryStatus{MemoryActive}, MemoryArchived},
	{"superseded", []MemoryStatus{MemoryActive}, MemorySuperseded},
	{"restored", []MemoryStatus{MemoryArchived, MemorySuperseded}, MemoryActive},
}, map[MemoryStatus]string{MemorySuperseded: "Change its replacement instead, or restore it."}}

// Content is the text of a memory: Markdown.
type Content string

// MaxContent is the most bytes of a memory's content.
const MaxContent = 256 << 10

// Rule requires a visible character, and at most 256 KiB.
func (Content) Rule() Rule {
	return Rule{MinLength: 1, MaxBytes: MaxContent, Visible: true, Description: "Markdown, at most 256 KiB"}
}

// IsVisible reports whether a reader can see a character. White space, fillers, and control and format characters such
// as a zero-width space are invisible.
func IsVisible(r rune) bool {
	return !unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point) && r != '\u2800' // the empty pattern of Braille
}

// A Title is the title of a memory.
type Title string

// MaxTitle is the most characters of a title.
const MaxTitle = 300

// Rule allows at most 300 characters.
func (Title) Rule() Rule { return Rule{MaxLength: MaxTitle} }

// A Tag marks a memory.
type Tag string

// Rule requires 1 to 64 characters, trimmed, one of them visible.
func (Tag) Rule() Rule { return Rule{MinLength: 1, MaxLength: 64, Trim: true, Visible: true} }

// Tags are the tags of a memory.
type Tags []Tag

// Rule allows at most 32 tags.
func (Tags) Rule() Rule { return Rule{MaxItems: 32} }

// Unique returns the tags without repetition, in order; letter case counts.
func (t Tags) Unique() []string { return unique(t) }

// A Source is the origin of a memory.
type Source struct {
	Name     SourceText `json:"name,omitzero" jsonschema:"Author: a tool, a bridge, an import"`
	URI      SourceText `json:"uri,omitzero" jsonschema:"Address of the original"`
	Group    SourceText `json:"group,omitzero" jsonschema:"Conversation or document that contains it"`
	Position *int64     `json:"position,omitzero" jsonschema:"Position in the group"`
}

// SourceText is one line of a Source.
type SourceText string

// Rule requires 1 to 1,024 characters.
func (SourceText) Rule() Rule { return Rule{MinLength: 1, MaxLength: 1024} }

// A Memory is one durable piece of knowledge. The tags show state how commands and tools show it.
type Memory struct {
	ID          ID           `json:"id" jsonschema:"UUIDv7" write:"show"`
	WorkspaceID ID           `json:"workspaceId" id:"workspace" show:"-"`
	AtlasID     ID           `json:"atlasId" write:"name"`
	Title       string       `json:"title" show:"heading" write:"show"`
	Content     string       `json:"content" jsonschema:"Markdown" show:"text"`
	Type        MemoryType   `json:"type" show:"unless=note"`
	Tags        []string     `json:"tags" show:"unless=[]"`
	Status      MemoryStatus `json:"status" show:"unless=active" write:"show"`
	Version     int          `json:"version" jsonschema:"Increases by one with each change" show:"-" write:"show"`
	CreatedBy   ID           `json:"createdBy" jsonschema:"The user who created it" show:"-"`
	AgentID     ID           `json:"agentId,omitzero" id:"agent" jsonschema:"The agent that created it" show:"-"`
	SessionID   ID           `json:"sessionId,omitzero" jsonschema:"The session that it was made in" show:"-"`
	CreatedAt   Time         `json:"createdAt" show:"-"`
	UpdatedAt   Time         `json:"updatedAt"`
	Source      *Source      `json:"source,omitzero" show:"-"`

	VerifiedAt   Time        `json:"verifiedAt,omitzero" jsonschema:"Time of the last review"`
	VerifiedBy   ID          `json:"verifiedBy,omitzero" jsonschema:"The user who reviewed it" show:"-"`
	Evidence     string      `json:"evidence,omitzero" jsonschema:"Basis of the review" show:"-"`
	Confidence   *Confidence `json:"confidence,omitzero" show:"-"`
	ValidUntil   Time        `json:"validUntil,omitzero" show:"-"`
	Expired      bool        `json:"expired,omitzero" jsonschema:"validUntil is past"`
	SupersededBy ID          `json:"supersededBy,omitzero" jsonschema:"The memory that replaces it" write:"show"`
	Supersedes   []ID        `json:"supersedes,omitzero" jsonschema:"The memories that it replaces" show:"-"`
	ArchivedAt   Time        `json:"archivedAt,omitzero" show:"-"`
	TitleDerived bool        `json:"titleDerived,omitzero" jsonschema:"Nobody gave the title: it follows the content" show:"-"`
	Unchanged    bool        `json:"unchanged,omitzero" jsonschema:"In the answer of a write that found nothing to change" write:"show"`

	// AttachmentIDs are those of the active attachments. Only the server knows them, for the entity tag.
	AttachmentIDs []ID `json:"-"`
}

// Reviewed reports whether the content of the memory was reviewed: a change of the content ends a review.
func (m Memory) Reviewed() bool { return m.VerifiedAt != 0 }

// EntityTag returns the entity tag of the memory on the server. It changes with every shown field, including links from
// other memories, and with the attachments.
func (m Memory) EntityTag() string {
	values := []string{strconv.Itoa(m.Version), strconv.FormatBool(m.Expired), string(m.SupersededBy)}
	for _, id := range m.Supersedes {
		values = append(values, string(id))
	}
	if len(m.AttachmentIDs) > 0 {
		values = append(values, "attachments")
	}
	for _, id := range m.AttachmentIDs {
		values = append(values, string(id))
	}
	return entityTag(m.ID, values...)
}

// A MemoryDetail is a memory read by its id.
type MemoryDetail struct {
	Memory
	Attachments []Attachment `json:"attachments" show:"columns=id fileName:16 size mimeType:12 createdAt"`
}

// ETag identifies this representation of the memory.
func (m MemoryDetail) ETag() string { return m.EntityTag() }

// Routing is the reason why a memory was filed in its atlas.
type Routing struct {
	AtlasID ID       `json:"atlasId"`
	Matched []string `json:"matched" jsonschema:"Keywords that matched; may be empty"`
}

// A NewMemory is a memory in the response to its creation.
type NewMemory struct {
	Memory
	Routing     Routing      `json:"routing" write:"show"`
	DuplicateOf ID           `json:"duplicateOf,omitzero" jsonschema:"An active memory of that atlas with equal content; white space at the ends of lines, CRLF and Unicode form do not count" write:"show"`
	Similar     []Similarity `json:"similar" jsonschema:"Active memories of the workspace with nearly the same text, or the same meaning if the server finds it in time; best first" write:"show"`
}

// Similarity names a similar memory.
type Similarity struct {
	ID    ID      `json:"id"`
	Score float64 `json:"score" jsonschema:"0 to 1, by text or by meaning"`
	Title string  `json:"title"`
}

// OnDuplicate is the action for an active memory of the atlas with equal content.
type OnDuplicate string

// The actions. With OnDuplicateVersion, a memory of the atlas from the same source (name and uri) is the duplicate.
// Equal content returns it, other content becomes its new version.
const (
	OnDuplicateReturn  OnDuplicate = "return"
	OnDuplicateVersion OnDuplicate = "version"
)

// Rule lists the actions.
func (OnDuplicate) Rule() Rule { return Rule{Enum: enumValues(OnDuplicateReturn, OnDuplicateVersion)} }

// OnSecret is the action for credentials in a text.
type OnSecret string

// OnSecretRedact stores [REDACTED:rule] in their place. Without it, the workspace policy applies.
const OnSecretRedact OnSecret = "redact"

// Rule lists the actions: a caller cannot turn the scan off.
func (OnSecret) Rule() Rule { return Rule{Enum: enumValues(OnSecretRedact)} }

// CreateMemory is the input of memory.create.
type CreateMemory struct {
	Content     Content     `json:"content"`
	WorkspaceID ID          `json:"workspaceId,omitzero" id:"workspace" jsonschema:"Default: personal"`
	AtlasID     ID          `json:"atlasId,omitzero" id:"atlas" jsonschema:"Default: by keywords, else the Inbox"`
	Title       Title       `json:"title,omitzero" jsonschema:"Default: from the text"`
	Type        MemoryType  `json:"type,omitzero" jsonschema:"Default: note"`
	Tags        Tags        `json:"tags,omitzero" jsonschema:"Only labels"`
	Source      *Source     `json:"source,omitzero" jsonschema:"Only its origin"`
	OnDuplicate OnDuplicate `json:"onDuplicate,omitzero" jsonschema:"return: the equal memory; version: change that of source.uri"`
	Secrets     OnSecret    `json:"secrets,omitzero" jsonschema:"redact: replace credentials"`
}

// CreatedMemory is the output of memory.create.
type CreatedMemory struct {
	Memory NewMemory `json:"memory"`
	Creation
}

// GetMemory is the input of memory.get.
type GetMemory struct {
	MemoryID ID `json:"memoryId" id:"memory"`
}

// A MemoryFilter limits a list or a search of memories. An empty field does not limit it.
type MemoryFilter struct {
	AtlasID     ID           `json:"atlas_id,omitzero" id:"atlas" jsonschema:"Only these"`
	WorkspaceID ID           `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Only these"`
	Type        []MemoryType `json:"type,omitzero" jsonschema:"Only these"`
	Tags        Tags         `json:"tags,omitzero" jsonschema:"All of these"`
	Include     []Include    `json:"include,omitzero" jsonschema:"Only active ones without it"`
	Since       Moment       `json:"since,omitzero"`
	Until       Moment       `json:"until,omitzero"`
}

// At returns a filter whose times do not depend on the clock. Several transactions of one call use the same.
func (f MemoryFilter) At(now Time) (MemoryFilter, error) {
	since, until, err := f.Period(now)
	if since != 0 {
		f.Since = Moment(since.String())
	}
	if until != 0 {
		f.Until = Moment(until.String())
	}
	return f, err
}

// Period returns the times of creation that the filter admits, from since up to, but not including, until. Zero does
// not limit them.
func (f MemoryFilter) Period(now Time) (since, until Time, err error) {
	if since, err = f.Since.At(now, "since"); err == nil {
		until, err = f.Until.At(now, "until")
	}
	return since, until, err
}

// A MemoryOrder is the order of a list of memories.
type MemoryOrder string

// The orders. Both begin with the newest.
const (
	OrderCreated MemoryOrder = "created"
	OrderUpdated MemoryOrder = "updated"
)

// Rule lists the orders.
func (MemoryOrder) Rule() Rule {
	return Rule{Enum: enumValues(OrderCreated, OrderUpdated), Default: "created"}
}

// ListMemories is the input of memory.list.
type ListMemories struct {
	MemoryFilter
	Sort MemoryOrder `json:"sort,omitzero" jsonschema:"Default: created"`
	Paging
}

// Memories is a page of memories, newest first.
type Memories struct {
	Memories []Memory `json:"memories" show:"columns=id title:28 atlas:12 author:12 type status=active verifiedAt updatedAt"`
	Page
}

// An OptionalTitle is a title that can be reset.
type OptionalTitle string

// Rule allows at most 300 characters; null or an empty title means the title from the content.
func (OptionalTitle) Rule() Rule {
	return Rule{MaxLength: MaxTitle, Null: true, Description: "null: from the text"}
}

// Evidence is the basis of a review.
type Evidence string

// Rule requires 1 to 4,000 characters, one of them visible.
func (Evidence) Rule() Rule { return Rule{MinLength: 1, MaxLength: 4000, Visible: true} }

// Confidence is the certainty of a reviewer.
type Confidence float64

// Rule requires a number from 0 to 1.
func (Confidence) Rule() Rule { return Rule{Min: 0, Max: 1, Description: "0 to 1"} }

// OneMemory is an output that holds a memory.
type OneMemory struct {
	Memory Memory `json:"memory"`
}

// ETag identifies this representation of the memory.
func (o OneMemory) ETag() string { return o.Memory.EntityTag() }

// UpdateMemory is the input of memory.update; absent fields do not change.
type UpdateMemory struct {
	MemoryID ID             `json:"memoryId" id:"memory"`
	Content  *Content       `json:"content,omitzero" jsonschema:"Only if it changes"`
	Title    *OptionalTitle `json:"title,omitzero"`
	Type     MemoryType     `json:"type,omitzero" jsonschema:"Only if it changes"`
	Tags     *Tags          `json:"tags,omitzero" jsonschema:"Replaces all"`
	AtlasID  ID             `json:"atlasId,omitzero" id:"atlas" jsonschema:"Only to move it to this atlas of its workspace"`
	Secrets  OnSecret       `json:"secrets,omitzero" jsonschema:"redact: replace credentials"`
}

// AppendMemory is the input of memory.append.
type AppendMemory struct {
	MemoryID ID       `json:"memoryId" id:"memory"`
	Content  Content  `json:"content" jsonschema:"Only the text to add, on a new line"`
	Secrets  OnSecret `json:"secrets,omitzero" jsonschema:"redact: replace credentials"`
}

// VerifyMemory is the input of memory.verify: at least one field beside the id.
type VerifyMemory struct {
	MemoryID   ID          `json:"memoryId" id:"memory"`
	Evidence   *Evidence   `json:"evidence,omitzero" jsonschema:"Basis"`
	Confidence *Confidence `json:"confidence,omitzero"`
	ValidUntil *Time       `json:"validUntil,omitzero" date:"end" jsonschema:"Date or time"`
}

// Rule requires a field.
func (VerifyMemory) Rule() Rule { return Rule{MinFields: 1, Description: "At least one field"} }

// SupersedeMemory is the input of memory.supersede.
type SupersedeMemory struct {
	MemoryID            ID `json:"memoryId" id:"memory"`
	ReplacementMemoryID ID `json:"replacementMemoryId" id:"memory" jsonschema:"Only an active one of the same workspace"`
}

// ArchiveMemory is the input of memory.archive.
type ArchiveMemory struct {
	MemoryID ID `json:"memoryId" id:"memory"`
}

// RestoreMemory is the input of memory.restore.
type RestoreMemory struct {
	MemoryID ID `json:"memoryId" id:"memory"`
}

// DeleteMemory is the input of memory.delete.
type DeleteMemory struct {
	MemoryID ID `json:"memoryId" id:"memory"`
}

// SimilarMemories is the input of memory.similar.
type SimilarMemories struct {
	MemoryID ID    `json:"memoryId" id:"memory"`
	Limit    Limit `json:"limit,omitzero" jsonschema:"Most memories"`
}

// Similar is the output of memory.similar, best first.
type Similar struct {
	Similar []Similarity `json:"similar" show:"columns=id score title:28"`
}

// A TokenBudget bounds a text for an agent.
type TokenBudget int

// Rule requires at least one token of about four characters. An agent's tool has room for 8,000.
func (TokenBudget) Rule() Rule {
	return Rule{Min: 1, Max: 1_000_000, ToolDefault: 8000, Description: "Omits the rest"}
}

// ReadContext is the input of memory.context.
type ReadContext struct {
	AtlasID     ID          `json:"atlas_id,omitzero" id:"atlas" jsonschema:"Only this one"`
	WorkspaceID ID          `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Only this one"`
	Limit       Limit       `json:"limit,omitzero" jsonschema:"Only so many memories"`
	Query       Query       `json:"query,omitzero" jsonschema:"Your task"`
	MaxTokens   TokenBudget `json:"max_tokens,omitzero"`
	Since       Moment      `json:"since,omitzero"`
	Until       Moment      `json:"until,omitzero"`
}

// Cost returns how many calls of the rate a snapshot counts as.
func (in ReadContext) Cost() int { return in.Query.cost() }

// ContextGroup holds memories of one type, verified and recent ones first.
type ContextGroup struct {
	Type     MemoryType `json:"type"`
	Memories []Memory   `json:"memories" show:"without=atlasId title content type tags updatedAt"`
}

// MemoryContext is the output of memory.context: the memories that an agent
// needs before it begins. Equal input gives equal bytes except for GeneratedAt.
type MemoryContext struct {
	Atlas       *Atlas         `json:"atlas,omitzero" jsonschema:"Present if the request names one"`
	Groups      []ContextGroup `json:"groups"`
	Markdown    string         `json:"markdown" jsonschema:"The groups as one text; each memory is fenced as data" show:"whole"`
	Omitted     int            `json:"omitted" jsonschema:"How many other memories are left out, at most 100,000"`
	Tokens      int            `json:"tokens" jsonschema:"Tokens of the text, about four characters each"`
	GeneratedAt Time           `json:"generatedAt"`
}

// ContextGroupOrder is the order of the groups.
var ContextGroupOrder = []MemoryType{TypePreference, TypeDecision, TypeArchitecture, TypeFact, TypeTask, TypeNote}

// A MemoryVersion is the state of a memory between two changes.
type MemoryVersion struct {
	Version    int          `json:"version"`
	Title      string       `json:"title"`
	Content    string       `json:"content" jsonschema:"Markdown"`
	Type       MemoryType   `json:"type"`
	Tags       []string     `json:"tags"`
	Status     MemoryStatus `json:"status"`
	VerifiedAt Time         `json:"verifiedAt,omitzero"`
	VerifiedBy ID           `json:"verifiedBy,omitzero"`
	Evidence   string       `json:"evidence,omitzero"`
	Confidence *Confidence  `json:"confidence,omitzero"`
	ValidUntil Time         `json:"validUntil,omitzero"`
	CreatedBy  ID           `json:"createdBy" jsonschema:"The user who created this version"`
	CreatedAt  Time         `json:"createdAt"`

	TitleDerived bool `json:"titleDerived,omitzero" jsonschema:"Nobody gave the title: it follows the content" show:"-"`
}

// ListVersions is the input of memory.versions.
type ListVersions struct {
	MemoryID ID `json:"memoryId" id:"memory"`
	Paging
}

// MemoryVersions is a page of versions, newest first; the first is the current one.
type MemoryVersions struct {
	Versions []MemoryVersion `json:"versions" show:"columns=version title:28 author:12 type status=active verifiedAt createdAt"`
	Page
}

// A VersionNumber numbers the versions of a memory.
type VersionNumber int

// Rule requires numbers from 1.
func (VersionNumber) Rule() Rule { return Rule{Min: 1, Max: 1<<31 - 1} }

// RevertMemory is the input of memory.revert.
type RevertMemory struct {
	MemoryID ID            `json:"memoryId" id:"memory"`
	Version  VersionNumber `json:"version" jsonschema:"The version whose content, title, type and tags are restored"`
}
