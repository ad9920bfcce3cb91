package loci

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
)

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
	MinFields   int  // fields of an input beside those of its path
	Trim        bool // white space around a string is removed before it is measured
	Visible     bool // a string must have a visible character
	NoSecret    bool // a string with a credential is refused, whatever a workspace allows
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
func (Name) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 200, Trim: true, Visible: true, NoSecret: true}
}

// A Description explains an atlas.
type Description string

// Rule allows at most 2,000 characters.
func (Description) Rule() Rule { return Rule{MaxLength: 2000, NoSecret: true} }

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

// A Creation says in the output of an operation whether it created its record: REST answers 201 then.
type Creation struct{ existing bool }

// Existing is the Creation of an output whose record existed before.
var Existing = Creation{existing: true}

// Created reports whether the record was created.
func (c Creation) Created() bool { return !c.existing }

// SetCreated restores from a stored response whether the record was created.
func (c *Creation) SetCreated(created bool) { c.existing = !created }

// A Machine is the table of the states of a record.
type Machine[S ~string] struct {
	Noun  string
	Moves []Move[S]
	Hints map[S]string // advice in a state, in place of the moves that are possible there
}

// A Move leads from some states to another one.
type Move[S ~string] struct {
	Name string // past participle of the transition: archived, restored
	From []S
	To   S // empty: the state stays
}

// Apply returns the state after a move. It refuses a move that does not start from state
// with state_conflict, and names the moves that do.
func (m Machine[S]) Apply(state S, move string) (S, error) {
	var possible []string
	for _, x := range m.Moves {
		switch {
		case !slices.Contains(x.From, state):
		case x.Name == move:
			return cmp.Or(x.To, state), nil
		case x.To != "" && x.To != state:
			possible = append(possible, x.Name)
		}
	}
	hint := m.Hints[state]
	if hint == "" && len(possible) > 0 {
		hint = "It can be " + strings.Join(possible, " or ") + "."
	}
	hint = cmp.Or(hint, "Nothing is left to do.")
	return state, Errorf(CodeStateConflict, "The %s is %s: it cannot be %s. %s", m.Noun, state, move, hint)
}

// enumValues returns the texts of an enum.
func enumValues[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// unique returns the texts without repetition, in order, never nil.
func unique[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	seen := make(map[T]bool, len(values))
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			out = append(out, string(v))
		}
	}
	return out
}

// entityTag returns the entity tag of a record with fields that others may
// change too, such as counts. It is computed from the shown values.
func entityTag(id ID, values ...string) string {
	h := fnv.New64a()
	for _, v := range append([]string{string(id)}, values...) {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(v)))
		h.Write(n[:])
		h.Write([]byte(v))
	}
	var sum [8]byte
	tag := [13]byte{0: '"', 12: '"'}
	base64.RawURLEncoding.Encode(tag[1:12], h.Sum(sum[:0]))
	return string(tag[:])
}

// Metadata is a free JSON object. Its values are those of encoding/json; a server reads numbers as json.Number, which
// keeps their digits. Equal objects are written as equal bytes, because names are sorted.
type Metadata map[string]any

// The limits of Metadata.
const (
	MaxMetadataBytes  = 8 << 10 // of names, strings and numbers together, in UTF-8 without quotes and escapes
	MaxMetadataValues = 1000    // members and items at any depth
	MaxMetadataDepth  = 16      // objects and lists within one another; the outermost object is the first
)

// Rule describes the limits.
func (Metadata) Rule() Rule { return Rule{Description: "Free object of at most 8 KiB"} }
