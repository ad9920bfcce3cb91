package loci

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

	existing bool
}

// ResumedUnit returns the output of an open that found its unit.
func ResumedUnit(u Unit) OpenedUnit { return OpenedUnit{u, true} }

// SetCreated restores from a stored response whether a unit was created.
func (u *OpenedUnit) SetCreated(created bool) { u.existing = !created }

// Created reports whether a unit was created.
func (u OpenedUnit) Created() bool { return !u.existing }

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
