package replica

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// A Report is the result of a run. A dry run counts and lists what it would do.
type Report struct {
	OK        bool   `json:"ok"` // nothing was refused, and no conflict is left
	Direction string `json:"direction"`
	Server    string `json:"server"`
	Workspace string `json:"workspace"` // its name, on the server
	DryRun    bool   `json:"dryRun"`

	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Deleted   int `json:"deleted"`
	Unchanged int `json:"unchanged"`
	Atlases   int `json:"atlases"` // created
	// Waiting counts the memories that the other command would create or update.
	Waiting int `json:"waiting"`

	Changes   []Change   `json:"changes"`
	Conflicts []Conflict `json:"conflicts"`
	Deletions []Deletion `json:"deletions"`
	Refusals  []Refusal  `json:"refusals"`
}

// A Memory names a memory and its copy. An id is empty where there is none.
type Memory struct {
	LocalID  loci.ID `json:"localId,omitzero"`
	RemoteID loci.ID `json:"remoteId,omitzero"`
	Title    string  `json:"title"`
}

// The actions of a Change.
const (
	created = "created"
	updated = "updated"
	deleted = "deleted"
)

// A Change is a memory that was copied or deleted.
type Change struct {
	Memory
	Action string `json:"action"`
	Side   string `json:"side"` // that was written: local or server
}

// A Conflict is a memory that changed on both sides. It is left as it is.
type Conflict struct {
	Memory
	Here  string `json:"local"` // changed or deleted
	There string `json:"server"`
}

// A Deletion is a memory that was deleted on one side, and is left on the other.
type Deletion struct {
	Memory
	Side string `json:"side"` // that deleted it
}

// A Refusal is a memory that a side refused.
type Refusal struct {
	Memory
	Code    loci.Code `json:"code"`
	Message string    `json:"message"`
}

func newReport() Report {
	return Report{Changes: []Change{}, Conflicts: []Conflict{}, Deletions: []Deletion{}, Refusals: []Refusal{}}
}

// sideName is the name of a place in a report.
func sideName(p pairdb.Place) string {
	if p == pairdb.Here {
		return "local"
	}
	return "server"
}

// changed adds a change of the memory on side to.
func (r *Report) changed(action string, to pairdb.Place, m Memory) {
	r.Changes = append(r.Changes, Change{m, action, sideName(to)})
	switch action {
	case created:
		r.Created++
	case updated:
		r.Updated++
	case deleted:
		r.Deleted++
	}
}

// refused adds the refusal of a memory.
func (r *Report) refused(m Memory, err error) {
	e := loci.AsError(err)
	r.Refusals = append(r.Refusals, Refusal{m, e.Code, e.Message})
}
