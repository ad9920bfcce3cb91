package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
)

// UpdateMember gives a member another role.
func (s *Service) UpdateMember(ctx context.Context, actor *identity.Actor,
	in loci.UpdateMember) (loci.OneMember, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner, store.ToChange,
		func(w *store.Workspace) (loci.OneMember, error) {
			m, err := w.SetRole(in.UserID, loci.Role(in.Role))
			return loci.OneMember{Member: m}, err
		})
}

// RemoveMember ends a membership.
func (s *Service) RemoveMember(ctx context.Context, actor *identity.Actor, in loci.RemoveMember) (loci.Empty, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleAdmin, store.InAnyState,
		func(w *store.Workspace) (loci.Empty, error) { return loci.Empty{}, w.RemoveMember(in.UserID) })
}

// ListMembers lists members, newest first.
func (s *Service) ListMembers(ctx context.Context, actor *identity.Actor,
	in loci.ListMembers) (out loci.Members, err error) {
	out.Members, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Member], error) {
			return tx.Members(in.WorkspaceID, p)
		},
		func(m loci.Member) page.Key { return page.Key{At: m.JoinedAt, ID: m.UserID} })
	return out, err
}
