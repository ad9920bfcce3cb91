package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// UserKeys is a list of API keys for the operator.
type UserKeys struct {
	Keys []accountdb.UserKey `json:"keys" show:"columns=id! email:20 name:12 prefix createdAt lastUsedAt revokedAt"`
}

// ListUserKeys lists the API keys of the user with an address, or of all users, for the operator, oldest first.
func (s *Service) ListUserKeys(ctx context.Context, e loci.Email) (out UserKeys, err error) {
	if err := s.requireUser(ctx, e); err != nil {
		return out, err
	}
	out.Keys, err = readBatches(func(last accountdb.UserKey) ([]accountdb.UserKey, error) {
		return store.SystemRead(ctx, s.Store, "list API keys for the operator",
			func(t *store.SystemTx) ([]accountdb.UserKey, error) { return t.UserKeys(e, last) })
	})
	return out, err
}

// requireUser returns NotFound if no user has the address. An empty address means all users.
func (s *Service) requireUser(ctx context.Context, e loci.Email) error {
	if e == "" {
		return nil
	}
	_, err := store.SystemRead(ctx, s.Store, "look up a user for the operator",
		func(t *store.SystemTx) (accountdb.UserPassword, error) { return t.UserByEmail(e) })
	return err
}

// UserKey returns the API key with an id for the operator.
func (s *Service) UserKey(ctx context.Context, id loci.ID) (accountdb.UserKey, error) {
	return store.SystemRead(ctx, s.Store, "show an API key to the operator",
		func(t *store.SystemTx) (accountdb.UserKey, error) { return t.UserKey(id) })
}

// RevokeUserKey revokes the API key with an id as the operator.
func (s *Service) RevokeUserKey(ctx context.Context, id loci.ID) (accountdb.UserKey, error) {
	return store.System(ctx, s.Store, "revoke an API key as the operator",
		func(t *store.SystemTx) (accountdb.UserKey, error) {
			k, err := t.UserKey(id)
			if err == nil {
				err = t.RevokeKey(k.UserID, k.ID)
			}
			if err != nil {
				return k, err
			}
			return t.UserKey(id)
		})
}

// AllWorkspaces is a list of workspaces for the operator.
type AllWorkspaces struct {
	Workspaces []accountdb.WorkspaceSummary `json:"workspaces" show:"columns=id! name:16 ownerEmail:16 kind status=active memberCount atlasCount memoryCount usedBytes createdAt"`
}

// ListAllWorkspaces lists the workspaces of the user with an address, or of all users, for the operator, oldest first.
func (s *Service) ListAllWorkspaces(ctx context.Context, e loci.Email) (out AllWorkspaces, err error) {
	if err := s.requireUser(ctx, e); err != nil {
		return out, err
	}
	out.Workspaces, err = readBatches(func(last accountdb.WorkspaceSummary) ([]accountdb.WorkspaceSummary, error) {
		return store.SystemRead(ctx, s.Store, "list workspaces for the operator",
			func(t *store.SystemTx) ([]accountdb.WorkspaceSummary, error) { return t.WorkspaceSummaries(e, last) })
	})
	return out, err
}

// ShowWorkspace returns the workspace with an id for the operator.
func (s *Service) ShowWorkspace(ctx context.Context, id loci.ID) (accountdb.WorkspaceDetail, error) {
	return store.SystemRead(ctx, s.Store, "show a workspace to the operator",
		func(t *store.SystemTx) (accountdb.WorkspaceDetail, error) { return t.WorkspaceDetail(id) })
}

// SetDisabled disables a user as the operator, or enables it again. Nothing of the user is deleted.
func (s *Service) SetDisabled(ctx context.Context, e loci.Email, disabled bool) (loci.User, error) {
	return store.System(ctx, s.Store, "disable or enable a user as the operator",
		func(t *store.SystemTx) (loci.User, error) { return t.SetDisabled(e, disabled) })
}

// Users is a list of all users for the operator.
type Users struct {
	Users []accountdb.Summary `json:"users" show:"columns=id email:20 name:12 emailVerified=true disabled=false plan teams=0 keys signIns lastUsedAt createdAt"`
}

// ListUsers lists all users for the operator, oldest first.
func (s *Service) ListUsers(ctx context.Context) (out Users, err error) {
	out.Users, err = readBatches(func(last accountdb.Summary) ([]accountdb.Summary, error) {
		return store.SystemRead(ctx, s.Store, "list users for the operator",
			func(t *store.SystemTx) ([]accountdb.Summary, error) { return t.Summaries(last) })
	})
	return out, err
}

// readBatches reads all records of a list for the operator, in batches of accountdb.SummaryBatch.
func readBatches[T any](read func(last T) ([]T, error)) ([]T, error) {
	all := []T{}
	var last T
	for {
		list, err := read(last)
		all = append(all, list...)
		if err != nil || len(list) < accountdb.SummaryBatch {
			return all, err
		}
		last = list[len(list)-1]
	}
}

// A UserDetail is a user with usage and workspaces, for the operator.
type UserDetail struct {
	User struct {
		accountdb.Summary
		Invitations int64 `json:"invitations"` // pending
	} `json:"user"`
	Usage      loci.Usage           `json:"usage"`
	Quotas     loci.WorkspaceQuotas `json:"quotas"`
	Workspaces []loci.Workspace     `json:"workspaces" show:"columns=id name:20 kind role status=active memberCount atlasCount createdAt"`
}

// ShowUser returns the user with an address for the operator.
func (s *Service) ShowUser(ctx context.Context, e loci.Email) (UserDetail, error) {
	return store.SystemRead(ctx, s.Store, "show a user to the operator",
		func(t *store.SystemTx) (out UserDetail, err error) {
			if out.User.Summary, err = t.Summary(e); err != nil {
				return out, err
			}
			if out.User.Invitations, err = t.PendingInvitations(e); err != nil {
				return out, err
			}
			now := s.Clock()
			used, err := t.UsedOperations(out.User.ID, identity.Month(now))
			if err != nil {
				return out, err
			}
			status, list, err := t.UsageOf(out.User.ID)
			setLimits(&status, t.Plan(out.User.Plan), used, identity.MonthEnd(now))
			out.Usage, out.Quotas, out.Workspaces = status.Usage, status.Workspaces, list
			return out, err
		})
}
