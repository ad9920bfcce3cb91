package service

import (
	"context"

	"github.com/loci-memory/loci"
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

// UserKey returns the API key with an id, or with the only id that begins with the text, for the operator.
func (s *Service) UserKey(ctx context.Context, id string) (accountdb.UserKey, error) {
	return store.SystemRead(ctx, s.Store, "show an API key to the operator",
		func(t *store.SystemTx) (accountdb.UserKey, error) { return t.UserKey(id) })
}

// RevokeUserKey revokes the API key with an id as the operator.
func (s *Service) RevokeUserKey(ctx context.Context, id loci.ID) (accountdb.UserKey, error) {
	return store.System(ctx, s.Store, "revoke an API key as the operator",
		func(t *store.SystemTx) (accountdb.UserKey, error) {
			k, err := t.UserKey(string(id))
			if err == nil {
				err = t.RevokeKey(k.UserID, k.ID)
			}
			if err != nil {
				return k, err
			}
			return t.UserKey(string(id))
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

// ShowWorkspace returns the workspace with an id, or with the only id that begins with the text, for the operator.
func (s *Service) ShowWorkspace(ctx context.Context, id string) (accountdb.WorkspaceDetail, error) {
	return store.SystemRead(ctx, s.Store, "show a workspace to the operator",
		func(t *store.SystemTx) (accountdb.WorkspaceDetail, error) { return t.WorkspaceDetail(id) })
}
