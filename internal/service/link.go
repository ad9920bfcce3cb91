package service

import (
	"context"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/password"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// attemptLink counts the use of a link as failed until release undoes it.
func (s *Service) attemptLink(actor *identity.Actor) (release func(), err error) {
	return s.linkLimiter.Take([]limit.Key{limit.Network(actor.ClientAddress)})
}

// VerifyAddress verifies the address of the user whose mail holds the link.
func (s *Service) VerifyAddress(ctx context.Context, actor *identity.Actor, in loci.VerifyAddress) (loci.Empty, error) {
	release, err := s.attemptLink(actor)
	if err != nil {
		return loci.Empty{}, err
	}
	_, err = store.System(ctx, s.Store, "verify an address by a link",
		func(t *store.SystemTx) (none loci.Empty, err error) {
			id, err := t.UseToken(accountdb.VerifyToken, identity.SecretHash(string(in.Token)))
			if err == nil {
				err = t.MarkVerified(id)
			}
			return none, err
		})
	if !loci.Is(err, loci.CodeNotFound) {
		release()
	}
	return loci.Empty{}, err
}

// CheckVerifyLink returns the address that the link of a mail verifies, or NotFound for one that does not (any more).
func (s *Service) CheckVerifyLink(ctx context.Context, token string) (loci.Email, error) {
	return s.linkEmail(ctx, accountdb.VerifyToken, token)
}

// CheckResetLink returns the address of the user whose password a link resets, or NotFound.
func (s *Service) CheckResetLink(ctx context.Context, token string) (loci.Email, error) {
	return s.linkEmail(ctx, accountdb.ResetToken, token)
}

// linkEmail returns the address to which the mail of a link went. It is NotFound for a link that cannot be used.
func (s *Service) linkEmail(ctx context.Context, kind accountdb.TokenKind, token string) (loci.Email, error) {
	return store.SystemRead(ctx, s.Store, "look up a link", func(t *store.SystemTx) (loci.Email, error) {
		return t.TokenEmail(kind, identity.SecretHash(token))
	})
}

// ResetPassword replaces the password of the user whose mail holds the link. All sign-ins end; keys of a verified
// user stay.
func (s *Service) ResetPassword(ctx context.Context, actor *identity.Actor, in loci.ResetPassword) (loci.Empty, error) {
	release, err := s.attemptLink(actor)
	if err != nil {
		return loci.Empty{}, err
	}
	// First, so that a wrong token costs no password hash.
	email, err := s.linkEmail(ctx, accountdb.ResetToken, string(in.Token))
	var hash string
	if err == nil {
		hash, err = s.passwords.Hash(ctx, actor.ClientAddress,
			password.New{Field: "password", Password: in.Password, Email: email})
	}
	var u loci.User
	if err == nil {
		u, err = store.System(ctx, s.Store, "reset a password by a link", func(t *store.SystemTx) (loci.User, error) {
			id, err := t.UseToken(accountdb.ResetToken, identity.SecretHash(string(in.Token)))
			if err != nil {
				return loci.User{}, err
			}
			return t.ResetPassword(id, hash)
		})
	}
	if !loci.Is(err, loci.CodeNotFound) {
		release()
	}
	if err == nil { // so that strangers with wrong passwords do not lock the user out
		s.signInLimiter.RecordSuccess(accountOf(loci.Email(u.Email)), limit.Network(actor.ClientAddress))
	}
	return loci.Empty{}, err
}

// attemptMail counts a mail that an address is sent on request.
func (s *Service) attemptMail(actor *identity.Actor, to loci.Email) (release func(), err error) {
	return s.mailLimiter.Take([]limit.Key{accountOf(to), limit.Network(actor.ClientAddress)})
}

// ForgotPassword sends a link that chooses another password. The answer and the work are the same for an address
// without an account: its job finds no user.
func (s *Service) ForgotPassword(ctx context.Context, actor *identity.Actor,
	in loci.ForgotPassword) (loci.Empty, error) {
	if !in.Email.Valid() {
		return loci.Empty{}, loci.Errorf(loci.CodeInvalidQuery, "email must be an e-mail address")
	}
	if err := s.requireMail(); err != nil {
		return loci.Empty{}, err
	}
	release, err := s.resetLimiter.Take(accountOf(in.Email), limit.Network(actor.ClientAddress))
	if err != nil {
		return loci.Empty{}, err
	}
	_, err = store.System(ctx, s.Store, "send a link to reset a password",
		func(t *store.SystemTx) (none loci.Empty, err error) {
			l, err := t.UserByEmail(in.Email)
			if loci.Is(err, loci.CodeNotFound) {
				l.User.ID, err = loci.NewID(s.Clock()), nil
			}
			if err == nil {
				err = t.AddJob(mailReset, l.User.ID)
			}
			return none, err
		})
	if err != nil {
		release()
	}
	return loci.Empty{}, err
}

// SendVerification sends the link that verifies the actor's address again.
func (s *Service) SendVerification(ctx context.Context, actor *identity.Actor, _ loci.Empty) (loci.Empty, error) {
	if err := s.requireMail(); err != nil {
		return loci.Empty{}, err
	}
	release, err := s.attemptMail(actor, loci.Email(actor.Email))
	if err != nil {
		return loci.Empty{}, err
	}
	_, err = store.Write(ctx, s.Store, actor, func(tx *store.Tx) (none loci.Empty, err error) {
		if _, err := tx.Account(); err != nil {
			return none, err
		}
		u, err := tx.CurrentUser()
		if err == nil && u.EmailVerified {
			err = loci.Errorf(loci.CodeStateConflict, "The address is verified already.")
		}
		if err == nil {
			err = tx.AddJob(mailVerification, u.ID)
		}
		return none, err
	})
	if err != nil {
		release()
	}
	return loci.Empty{}, err
}

// A ResetLink is a link with which a user chooses another password.
type ResetLink struct {
	UserID    loci.ID
	URL       string
	ExpiresAt loci.Time
}

// MakeResetLink makes a link that resets a password, as the operator. All sign-ins end.
func (s *Service) MakeResetLink(ctx context.Context, e loci.Email) (ResetLink, error) {
	return store.System(ctx, s.Store, "make a link to reset a password as the operator",
		func(t *store.SystemTx) (r ResetLink, err error) {
			l, err := t.UserByEmail(e)
			if err != nil {
				return r, err
			}
			r.UserID = l.User.ID
			if r.URL, r.ExpiresAt, err = s.addLink(t, r.UserID, accountdb.ResetToken); err != nil {
				return r, err
			}
			return r, t.EndSignIns(r.UserID)
		})
}

// setupLink is the one-time link to make the first account.
type setupLink struct {
	mu      sync.Mutex // guards the fields below
	token   string
	expires time.Time
}

const setupTokenTTL = time.Hour

// NewSetupToken returns a new token for the setup link and invalidates the previous one.
func (s *Service) NewSetupToken() string {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	s.setup.token, s.setup.expires = identity.NewSecret(), s.Clock().Add(setupTokenTTL)
	return s.setup.token
}

func (l *setupLink) valid(token string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token != "" && now.Before(l.expires) && subtle.ConstantTimeCompare([]byte(l.token), []byte(token)) == 1
}

func (l *setupLink) revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = ""
}
