package service

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// maxUserAgent is the most bytes of a browser's name for itself.
const maxUserAgent = 256

// newBrowser returns the sign-in of the browser of a call.
func newBrowser(actor *identity.Actor, secret string) accountdb.NewSignIn {
	agent := strings.ToValidUTF8(actor.UserAgent[:min(len(actor.UserAgent), maxUserAgent)], "")
	agent = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, agent)
	return accountdb.NewSignIn{Hash: identity.SecretHash(secret), UserAgent: agent, Address: actor.ClientAddress}
}

// UpdateAccount renames the actor.
func (s *Service) UpdateAccount(ctx context.Context, actor *identity.Actor, in loci.UpdateAccount) (loci.OneUser,
	error) {
	return write(ctx, s, actor, func(tx *store.Tx) (out loci.OneUser, err error) {
		account, err := tx.Account()
		if err == nil {
			out.User, err = account.SetName(string(in.Name))
		}
		return out, err
	})
}

// ChangePassword replaces the actor's password, and ends the sign-ins of other browsers.
func (s *Service) ChangePassword(ctx context.Context, actor *identity.Actor, in loci.ChangePassword) (loci.Empty,
	error) {
	was, err := s.checkPassword(ctx, actor, in.CurrentPassword)
	if err != nil {
		return loci.Empty{}, err
	}
	hash, err := s.passwordHasher.hash(ctx, networkOf(actor.ClientAddress), string(in.NewPassword))
	if err != nil {
		return loci.Empty{}, err
	}
	return write(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
		account, err := tx.Account()
		if err == nil {
			err = account.SetPassword(was, hash)
		}
		return loci.Empty{}, err
	})
}

// checkPassword returns the hash of the actor's password, or forbidden for a wrong one. Failures count as failed
// sign-ins.
func (s *Service) checkPassword(ctx context.Context, actor *identity.Actor, p loci.PasswordAttempt) (string, error) {
	release, err := s.signInLimiter.attempt(accountOf(loci.Email(actor.Email)), actor.ClientAddress)
	if err != nil {
		return "", err
	}
	hash, err := store.SystemRead(ctx, s.Store, "read a password", func(t *store.SystemTx) (string, error) {
		return t.PasswordOf(actor.UserID)
	})
	ok := false
	if err == nil {
		ok, err = s.passwordHasher.check(ctx, networkOf(actor.ClientAddress), hash, string(p))
	}
	if err != nil || ok {
		release()
	}
	if err == nil && !ok {
		err = loci.Errorf(loci.CodeForbidden, "The current password is wrong.")
	}
	return hash, err
}

// ListSignIns lists the browsers that are signed in.
func (s *Service) ListSignIns(ctx context.Context, actor *identity.Actor, in loci.ListSignIns) (out loci.SignIns,
	err error) {
	out.SignIns, out.Page, err = listPage(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p store.Page) (store.List[loci.BrowserSignIn], error) { return tx.SignIns(p) },
		func(x loci.BrowserSignIn) store.PageKey { return store.PageKey{At: x.CreatedAt, ID: x.ID} })
	return out, err
}

// RevokeSignIn signs a browser out.
func (s *Service) RevokeSignIn(ctx context.Context, actor *identity.Actor, in loci.RevokeSignIn) (loci.Empty, error) {
	return write(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
		account, err := tx.Account()
		if err == nil {
			err = account.EndSignIn(in.SignInID)
		}
		return loci.Empty{}, err
	})
}
