package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// CreateWorkspace makes a team workspace.
func (s *Service) CreateWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.CreateWorkspace) (loci.CreatedWorkspace, error) {
	return write(ctx, s, actor, func(tx *store.Tx) (out loci.CreatedWorkspace, err error) {
		account, err := tx.Account()
		if err != nil {
			return out, err
		}
		out.Workspace, err = account.AddWorkspace(string(in.Name))
		return out, err
	})
}

// GetWorkspace reads a workspace.
func (s *Service) GetWorkspace(ctx context.Context, actor *identity.Actor, in loci.GetWorkspace) (loci.OneWorkspace,
	error) {
	return read(ctx, s, actor, func(tx *store.Tx) (loci.OneWorkspace, error) {
		w, err := tx.WorkspaceRecord(in.WorkspaceID)
		return loci.OneWorkspace{Workspace: w}, err
	})
}

// DeleteWorkspace deletes a team workspace without atlases.
func (s *Service) DeleteWorkspace(ctx context.Context, actor *identity.Actor, in loci.DeleteWorkspace) (loci.Deleted,
	error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner, func(w *store.Workspace) (loci.Deleted, error) {
		return w.Delete(in.DryRun)
	})
}

// ListWorkspaces lists workspaces, newest first.
func (s *Service) ListWorkspaces(ctx context.Context, actor *identity.Actor,
	in loci.ListWorkspaces) (out loci.Workspaces, err error) {
	out.Workspaces, out.Page, err = listPage(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p store.Page) (store.List[loci.Workspace], error) {
			return tx.Workspaces(len(in.Include) > 0, p)
		},
		func(w loci.Workspace) store.PageKey { return store.PageKey{At: w.CreatedAt, ID: w.ID} })
	return out, err
}

// ListMembers lists members, newest first.
func (s *Service) ListMembers(ctx context.Context, actor *identity.Actor, in loci.ListMembers) (out loci.Members,
	err error) {
	out.Members, out.Page, err = listPage(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p store.Page) (store.List[loci.Member], error) {
			return tx.Members(in.WorkspaceID, p)
		},
		func(m loci.Member) store.PageKey { return store.PageKey{At: m.JoinedAt, ID: m.UserID} })
	return out, err
}
