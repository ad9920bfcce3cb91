package loci

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
