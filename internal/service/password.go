package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/password"
	"github.com/loci-memory/loci/internal/store"
)

// ChangePassword replaces the actor's password, and ends the sign-ins of other browsers.
func (s *Service) ChangePassword(ctx context.Context, actor *identity.Actor,
	in loci.ChangePassword) (loci.Empty, error) {
	was, err := s.checkPassword(ctx, actor, in.CurrentPassword)
	if err != nil {
		return loci.Empty{}, err
	}
	hash, err := s.passwords.Hash(ctx, actor.ClientAddress,
		password.New{Field: "newPassword", Password: in.NewPassword, Email: loci.Email(actor.Email)})
	if err != nil {
		return loci.Empty{}, err
	}
	return inAccount(ctx, s, actor, func(a *store.Account) (loci.Empty, error) {
		return loci.Empty{}, a.SetPassword(was, hash)
	})
}

// checkPassword returns the hash of the actor's password, or forbidden for a wrong one. Failures count as failed
// sign-ins.
func (s *Service) checkPassword(ctx context.Context, actor *identity.Actor, p loci.PasswordAttempt) (string, error) {
	network := limit.Network(actor.ClientAddress)
	release, err := s.signInLimiter.Take(accountOf(loci.Email(actor.Email)), network)
	if err != nil {
		return "", err
	}
	hash, err := store.SystemRead(ctx, s.Store, "read a password", func(t *store.SystemTx) (string, error) {
		return t.PasswordOf(actor.UserID)
	})
	ok := false
	if err == nil {
		ok, err = s.passwords.Check(ctx, actor.ClientAddress, hash, string(p))
	}
	if err != nil || ok {
		release()
	}
	if err == nil && !ok {
		err = loci.Errorf(loci.CodeForbidden, "The current password is wrong.")
	}
	return hash, err
}
