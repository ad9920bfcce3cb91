package web

import (
	"cmp"

	"github.com/loci-memory/loci"
)

// Names are the names of people by their ids.
type Names map[loci.ID]string

// Of returns the name of a person, or "" where the page did not read it.
func (n Names) Of(id loci.ID) string { return n[id] }

// ReadNames returns the names of the user and, with an id, of the members of a workspace. Without those a page is shown
// too.
func ReadNames(v *Visit, workspaceID loci.ID) Names {
	n := Names{v.User.ID: cmp.Or(v.User.Name, v.User.Email)}
	if workspaceID == "" {
		return n
	}
	list, err := Read[loci.Members](v, "member.list", "workspaceId", string(workspaceID), "limit", "100")
	if err != nil {
		return n
	}
	for _, m := range list.Members {
		n[m.UserID] = cmp.Or(m.Name, m.Email)
	}
	return n
}

// TypeWords are the types of memories as pages say them.
var TypeWords = map[loci.MemoryType]string{loci.TypeFact: "Fact", loci.TypeDecision: "Decision",
	loci.TypePreference: "Preference", loci.TypeTask: "Task", loci.TypeArchitecture: "Architecture",
	loci.TypeNote: "Note"}

// A Choice is an option of a select.
type Choice struct {
	Value, Label string
	Chosen       bool
}

// NewChoice returns an option, which is chosen if its value is.
func NewChoice(value, label, chosen string) Choice { return Choice{value, label, value == chosen} }

// TypeChoices are the types of memories, of which one is chosen.
func TypeChoices(chosen string) (list []Choice) {
	for _, t := range loci.ContextGroupOrder {
		list = append(list, NewChoice(string(t), TypeWords[t], chosen))
	}
	return list
}
