package loci

import (
	"cmp"
	"slices"
	"strings"
)

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
		case x.To != "":
			possible = append(possible, x.Name)
		}
	}
	hint := cmp.Or(m.Hints[state], "It can be "+strings.Join(possible, " or ")+".")
	return state, Errorf(CodeStateConflict, "The %s is %s: it cannot be %s. %s", m.Noun, state, move, hint)
}
