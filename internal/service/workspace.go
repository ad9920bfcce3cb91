package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// CreateWorkspace makes a team workspace.
func (s *Service) CreateWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.CreateWorkspace) (loci.CreatedWorkspace, error) {
	return inAccount(ctx, s, actor, func(a *store.Account) (out loci.CreatedWorkspace, err error) {
		out.Workspace, err = a.AddWorkspace(string(in.Name))
		return out, err
	})
}

// GetWorkspace reads a workspace with its activity.
func (s *Service) GetWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.GetWorkspace) (loci.WorkspaceActivity, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (out loci.WorkspaceActivity, err error) {
		if out.Workspace, err = tx.WorkspaceRecord(in.WorkspaceID); err == nil {
			out.Activity, err = memorydb.Activity(tx, in.WorkspaceID)
		}
		return out, err
	})
}

// DeleteWorkspace deletes a team workspace without atlases.
func (s *Service) DeleteWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.DeleteWorkspace) (loci.Deleted, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner, store.InAnyState,
		func(w *store.Workspace) (loci.Deleted, error) { return w.Delete(in.DryRun) })
}

// ListWorkspaces lists workspaces, newest first.
func (s *Service) ListWorkspaces(ctx context.Context, actor *identity.Actor,
	in loci.ListWorkspaces) (out loci.Workspaces, err error) {
	out.Workspaces, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Workspace], error) {
			return tx.Workspaces(len(in.Include) > 0, p)
		},
		func(w loci.Workspace) page.Key { return page.Key{At: w.CreatedAt, ID: w.ID} })
	return out, err
}

// inWorkspace runs f on a workspace in which the actor has at least a role.
func inWorkspace[Out any](ctx context.Context, s *Service, actor *identity.Actor, id loci.ID, minimum loci.Role,
	p store.Purpose, f func(w *store.Workspace) (Out, error)) (Out, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out Out, err error) {
		w, err := tx.Workspace(id, minimum, p)
		if err != nil {
			return out, err
		}
		return f(w)
	})
}

// UpdateWorkspace changes the given fields of a workspace.
func (s *Service) UpdateWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.UpdateWorkspace) (loci.OneWorkspace, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleAdmin, store.ToChange,
		func(w *store.Workspace) (out loci.OneWorkspace, err error) {
			out.Workspace, err = w.Update(func(r *loci.Workspace) {
				if in.Name != nil {
					r.Name = string(*in.Name)
				}
				if in.Settings != nil && in.Settings.Secrets != nil {
					r.Settings.Secrets = *in.Settings.Secrets
				}
			})
			return out, err
		})
}

// ArchiveWorkspace archives or restores a workspace.
func (s *Service) ArchiveWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.ArchiveWorkspace) (loci.OneWorkspace, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner, store.ToMove,
		func(w *store.Workspace) (out loci.OneWorkspace, err error) {
			if err = w.SetArchived(in.Archived == nil || *in.Archived); err == nil {
				out.Workspace, err = w.Record()
			}
			return out, err
		})
}

// TransferWorkspace makes another member the owner.
func (s *Service) TransferWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.TransferWorkspace) (loci.OneWorkspace, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner, store.ToChange,
		func(w *store.Workspace) (out loci.OneWorkspace, err error) {
			if err = w.Transfer(in.UserID); err == nil {
				out.Workspace, err = w.Record()
			}
			return out, err
		})
}

// LeaveWorkspace ends the actor's membership.
func (s *Service) LeaveWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.LeaveWorkspace) (loci.Empty, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleMember, store.InAnyState,
		func(w *store.Workspace) (loci.Empty, error) { return loci.Empty{}, w.Leave() })
}
