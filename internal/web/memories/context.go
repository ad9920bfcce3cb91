package memories

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/web"
)

// A snapshot is what an agent reads before it begins.
type snapshot struct {
	loci.MemoryContext
	Query      string
	Workspaces []web.Choice
	Count      int
}

func readContext(v *web.Visit) error {
	s := &snapshot{Query: v.Values["query"]}
	v.Data = s
	spaces, err := web.Read[loci.Workspaces](v, "workspace.list", "limit", "100")
	if err != nil {
		return err
	}
	for _, w := range spaces.Workspaces {
		s.Workspaces = append(s.Workspaces, web.NewChoice(string(w.ID), w.Name, v.Values["workspace_id"]))
	}
	s.MemoryContext, err = web.Read[loci.MemoryContext](v, "memory.context", "query", s.Query, "workspace_id",
		v.Values["workspace_id"], "max_tokens", "8000")
	for _, g := range s.Groups {
		s.Count += len(g.Memories)
	}
	return err
}
