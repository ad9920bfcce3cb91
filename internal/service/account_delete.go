package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// DeleteAccount deletes the actor's account and signs out. Memories in the teams of others stay.
func (s *Service) DeleteAccount(ctx context.Context, actor *identity.Actor, in loci.DeleteAccount) (loci.SignedOut,
	error) {
	was, err := s.checkPassword(ctx, actor, in.Password)
	if err != nil {
		return loci.SignedOut{}, err
	}
	return write(ctx, s, actor, func(tx *store.Tx) (loci.SignedOut, error) {
		account, err := tx.Account()
		if err == nil {
			err = account.Delete(was)
		}
		return loci.SignedOut{}, err
	})
}

// DeleteUser deletes an account as the operator, with the refusals of DeleteAccount. A dry run only refuses.
func (s *Service) DeleteUser(ctx context.Context, e loci.Email, dryRun bool) (loci.User, error) {
	return store.System(ctx, s.Store, "delete a user as the operator", func(t *store.SystemTx) (loci.User, error) {
		return t.DeleteUser(e, dryRun)
	})
}
