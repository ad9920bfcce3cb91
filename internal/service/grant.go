package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
)

// ListGrants lists the OAuth clients that use workspaces of the actor, newest first.
func (s *Service) ListGrants(ctx context.Context, actor *identity.Actor,
	in loci.ListGrants) (out loci.Grants, err error) {
	out.Grants, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Grant], error) { return tx.Grants(p) },
		func(g loci.Grant) page.Key { return page.Key{At: g.CreatedAt, ID: g.ID} })
	return out, err
}

// RevokeGrant ends a grant of the actor with its tokens.
func (s *Service) RevokeGrant(ctx context.Context, actor *identity.Actor, in loci.RevokeGrant) (loci.Empty, error) {
	return inAccount(ctx, s, actor, func(a *store.Account) (loci.Empty, error) {
		return loci.Empty{}, a.RevokeGrant(in.GrantID)
	})
}
