package loci

// A Rule bounds a value on the wire where its Go type alone does not. A type states its Rule once, by a method; every
// transport, schema and message follows it. Zero fields bound nothing.
type Rule struct {
	Enum        []string // the allowed values of a string
	Min, Max    int64    // bounds of an integer, inclusive, where Max > 0
	MinLength   int      // characters of a string
	MaxLength   int
	MaxBytes    int // bytes of a string
	MinItems    int // items of a list
	MaxItems    int
	Trim        bool // white space around a string is removed before it is measured
	Visible     bool // a string must have a visible character
	True        bool // the boolean must be true
	Clamp       bool // an agent's tool brings a number inside Min and Max
	Null        bool // null means the empty string, which says more than an absent value
	Default     any  // the value of an absent field
	ToolDefault int  // the value that an agent's tool sends for an absent integer, if not 0
	Format      string
	Pattern     string // a regular expression of a whole string
	Characters  string // the characters that Pattern allows, for messages
	Description string
}

// Confirmed is the value true, which an irreversible operation requires.
type Confirmed bool

// Rule accepts only true.
func (Confirmed) Rule() Rule { return Rule{True: true, Description: "Must be true"} }

// A Name names an atlas, a workspace, a user or a key.
type Name string

// Rule requires 1 to 200 characters, trimmed, one of them visible.
func (Name) Rule() Rule { return Rule{MinLength: 1, MaxLength: 200, Trim: true, Visible: true} }

// A Description explains an atlas.
type Description string

// Rule allows at most 2,000 characters.
func (Description) Rule() Rule { return Rule{MaxLength: 2000} }

// An Include adds inactive records to a list or a search.
type Include string

// The kinds of included records.
const (
	IncludeArchived   Include = "archived"
	IncludeSuperseded Include = "superseded"
)

// Rule lists what may be included.
func (Include) Rule() Rule { return Rule{Enum: enumValues(IncludeArchived, IncludeSuperseded)} }

// IncludeArchivedOnly is an Include of lists whose items are never superseded.
type IncludeArchivedOnly string

// Rule lists the kinds.
func (IncludeArchivedOnly) Rule() Rule { return Rule{Enum: enumValues(IncludeArchived)} }

// Empty is the input of an operation without fields, and the output of one that only succeeds.
type Empty struct{}
