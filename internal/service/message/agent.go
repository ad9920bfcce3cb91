package message

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
)

// ListAgents lists the agents of the members of a workspace, newest first.
func (s *Service) ListAgents(ctx context.Context, actor *identity.Actor,
	in loci.ListAgents) (out loci.Agents, err error) {
	out.Agents, out.Page, err = cursor.ListPage(ctx, s.store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Agent], error) { return tx.Agents(in.WorkspaceID, p) },
		func(a loci.Agent) page.Key { return page.Key{At: a.CreatedAt, ID: a.ID} })
	return out, err
}
