package loci

// A Rule bounds a value on the wire where its Go type alone does not. A type
// states its Rule once, by a method; every door, schema and message follows it.
// Zero fields bound nothing.
type Rule struct {
	Enum        []string // the values that a string may have
	Min, Max    int64    // bounds of an integer, inclusive, where Max > 0
	MinLength   int      // characters of a string
	MaxLength   int
	MaxBytes    int // bytes of a string
	MinItems    int // items of a list
	MaxItems    int
	Trim        bool // white space around a string is dropped before it is measured
	True        bool // the boolean must be true
	Null        bool // null stands for the empty string
	Default     any  // what stands for an absent value
	ToolDefault int  // what an agent's tool sends in place of an absent integer, where not 0
	Format      string
	Description string
}

// Confirmed is the word true, which an act that cannot be taken back asks for.
type Confirmed bool

// Rule says that only true confirms.
func (Confirmed) Rule() Rule { return Rule{True: true, Description: "Must be true"} }

// A Name names an atlas, a workspace, a user or a key.
type Name string

// Rule says that a name has 1 to 200 characters, trimmed.
func (Name) Rule() Rule { return Rule{MinLength: 1, MaxLength: 200, Trim: true} }

// A Description explains an atlas.
type Description string

// Rule says that a description has at most 2,000 characters.
func (Description) Rule() Rule { return Rule{MaxLength: 2000} }

// An Include names what a list or a search shows besides what is active.
type Include string

// What may be included.
const (
	IncludeArchived   Include = "archived"
	IncludeSuperseded Include = "superseded"
)

// Rule lists what may be included.
func (Include) Rule() Rule {
	return Rule{Enum: []string{string(IncludeArchived), string(IncludeSuperseded)}}
}

// IncludeArchivedOnly is an Include of lists whose items are never superseded.
type IncludeArchivedOnly string

// Rule lists what may be included.
func (IncludeArchivedOnly) Rule() Rule { return Rule{Enum: []string{string(IncludeArchived)}} }

// Empty is the input of an operation that takes none, and the output of one
// that has nothing to tell but that it was done.
type Empty struct{}
