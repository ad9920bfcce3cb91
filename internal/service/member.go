package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// inWorkspace runs f on a workspace in which the actor has at least a role.
func inWorkspace[Out any](ctx context.Context, s *Service, actor *identity.Actor, id loci.ID, minimum loci.Role,
	f func(w *store.Workspace) (Out, error)) (Out, error) {
	return write(ctx, s, actor, func(tx *store.Tx) (out Out, err error) {
		w, err := tx.Workspace(id, minimum)
		if err != nil {
			return out, err
		}
		return f(w)
	})
}

// UpdateMember gives a member another role.
func (s *Service) UpdateMember(ctx context.Context, actor *identity.Actor, in loci.UpdateMember) (loci.OneMember,
	error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner,
		func(w *store.Workspace) (loci.OneMember, error) {
			m, err := w.SetRole(in.UserID, loci.Role(in.Role))
			return loci.OneMember{Member: m}, err
		})
}

// RemoveMember ends a membership.
func (s *Service) RemoveMember(ctx context.Context, actor *identity.Actor, in loci.RemoveMember) (loci.Empty, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleAdmin, func(w *store.Workspace) (loci.Empty, error) {
		return loci.Empty{}, w.RemoveMember(in.UserID)
	})
}

// LeaveWorkspace ends the actor's membership.
func (s *Service) LeaveWorkspace(ctx context.Context, actor *identity.Actor, in loci.LeaveWorkspace) (loci.Empty,
	error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleMember, func(w *store.Workspace) (loci.Empty, error) {
		return loci.Empty{}, w.Leave()
	})
}

// TransferWorkspace makes another member the owner.
func (s *Service) TransferWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.TransferWorkspace) (loci.OneWorkspace, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner,
		func(w *store.Workspace) (out loci.OneWorkspace, err error) {
			if err = w.Transfer(in.UserID); err == nil {
				out.Workspace, err = w.Record()
			}
			return out, err
		})
}

// UpdateWorkspace changes the given fields of a workspace.
func (s *Service) UpdateWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.UpdateWorkspace) (loci.OneWorkspace, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleAdmin,
		func(w *store.Workspace) (out loci.OneWorkspace, err error) {
			if out.Workspace, err = w.Record(); err != nil {
				return out, err
			}
			if err = checkIfMatch(actor, out.Workspace.EntityTag()); err != nil {
				return out, err
			}
			if in.Name != nil {
				out.Workspace.Name = string(*in.Name)
			}
			if in.Settings != nil && in.Settings.Secrets != nil {
				out.Workspace.Settings.Secrets = *in.Settings.Secrets
			}
			if err = w.Update(out.Workspace); err == nil {
				out.Workspace, err = w.Record()
			}
			return out, err
		})
}

// ArchiveWorkspace archives or restores a workspace.
func (s *Service) ArchiveWorkspace(ctx context.Context, actor *identity.Actor,
	in loci.ArchiveWorkspace) (loci.OneWorkspace, error) {
	return inWorkspace(ctx, s, actor, in.WorkspaceID, loci.RoleOwner,
		func(w *store.Workspace) (out loci.OneWorkspace, err error) {
			if err = w.SetArchived(in.Archived == nil || *in.Archived); err == nil {
				out.Workspace, err = w.Record()
			}
			return out, err
		})
}

// RevokeInvitation ends a pending invitation.
func (s *Service) RevokeInvitation(ctx context.Context, actor *identity.Actor,
	in loci.RevokeInvitation) (loci.Empty, error) {
	return write(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
		return loci.Empty{}, tx.RevokeInvitation(in.InvitationID)
	})
}
