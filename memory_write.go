package loci

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
	Content  *Content       `json:"content,omitzero" jsonschema:"New value"`
	Title    *OptionalTitle `json:"title,omitzero"`
	Type     MemoryType     `json:"type,omitzero" jsonschema:"New value"`
	Tags     *Tags          `json:"tags,omitzero" jsonschema:"Replaces all"`
	Secrets  OnSecret       `json:"secrets,omitzero" jsonschema:"redact: replace credentials"`
}

// AppendMemory is the input of memory.append.
type AppendMemory struct {
	MemoryID ID       `json:"memoryId" id:"memory"`
	Content  Content  `json:"content" jsonschema:"Added on a new line"`
	Secrets  OnSecret `json:"secrets,omitzero" jsonschema:"redact: replace credentials"`
}

// VerifyMemory is the input of memory.verify: at least one field beside the id.
type VerifyMemory struct {
	MemoryID   ID          `json:"memoryId" id:"memory"`
	Evidence   *Evidence   `json:"evidence,omitzero" jsonschema:"Basis of the review"`
	Confidence *Confidence `json:"confidence,omitzero"`
	ValidUntil *Time       `json:"validUntil,omitzero" date:"end" jsonschema:"When the review expires"`
}

// SupersedeMemory is the input of memory.supersede.
type SupersedeMemory struct {
	MemoryID            ID `json:"memoryId" id:"memory"`
	ReplacementMemoryID ID `json:"replacementMemoryId" id:"memory" jsonschema:"Its replacement"`
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
