package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/password"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// Registration is the policy for accounts that people make without the operator.
type Registration string

// The policies. Any other value is RegistrationInvited.
const (
	RegistrationInvited Registration = "invited" // with the token of an invitation to the address, or a referral code
	RegistrationOpen    Registration = "open"
	RegistrationClosed  Registration = "closed"
)

// checkAllowed returns nil if the policy may allow a registration: it is open, or the caller has been asked to come.
func (r Registration) checkAllowed(in loci.Register) error {
	switch {
	case r == RegistrationClosed:
		return loci.Errorf(loci.CodeForbidden, "Registration is closed here: ask the operator for an account.")
	case r != RegistrationOpen && in.Invitation == "" && in.Ref == "":
		return errUninvited()
	}
	return nil
}

// CheckRegistration returns nil if the policy of the server allows a registration with the code of a referral or the
// token of an invitation. It does not look either up.
func (s *Service) CheckRegistration(_ context.Context, ref loci.ReferralCode,
	invitation loci.InvitationToken) error {
	return s.Registration.checkAllowed(loci.Register{Ref: ref, Invitation: invitation})
}

// CheckReferral returns NotFound for a code that is no user's. Unknown ones are limited by address, apart from
// registrations, which a page of others could use up.
func (s *Service) CheckReferral(ctx context.Context, code loci.ReferralCode, address string) error {
	release, err := s.referralLookups.Take([]limit.Key{limit.Network(address)})
	if err != nil {
		return err
	}
	known, err := store.SystemRead(ctx, s.Store, "look up a referral code",
		func(t *store.SystemTx) (bool, error) { return t.HasReferralCode(code) })
	if err == nil && !known {
		return loci.Errorf(loci.CodeNotFound, "Nobody has the referral code of this link: open the whole link.")
	}
	release()
	return err
}

// HasUsers reports whether the server has an account.
func (s *Service) HasUsers(ctx context.Context) (bool, error) {
	return store.SystemRead(ctx, s.Store, "check for an account", (*store.SystemTx).HasUsers)
}

func errUninvited() error {
	return loci.Errorf(loci.CodeForbidden, "Registration needs an invitation here: send the token of its link as "+
		"invitation, or the code of a referral link as ref, or ask the operator for an account.")
}

// checkAsked returns an error unless the token or the code that the policy asks for is valid.
func (r Registration) checkAsked(t *store.SystemTx, in loci.Register) error {
	switch {
	case in.Invitation != "":
		return t.CheckInvitationToken(in.Email, tokenHash(in.Invitation))
	case r == RegistrationOpen:
		return nil
	}
	known, err := t.HasReferralCode(in.Ref)
	if err == nil && !known {
		err = errUninvited()
	}
	return err
}

// Register makes an account and signs in. The token of an invitation verifies
// the address; the invitation stays pending.
func (s *Service) Register(ctx context.Context, actor *identity.Actor, in loci.Register) (_ loci.SignedIn, err error) {
	if err := s.Registration.checkAllowed(in); err != nil {
		return loci.SignedIn{}, err
	}
	release, err := s.registrations.Take([]limit.Key{limit.Network(actor.ClientAddress)})
	if err != nil {
		return loci.SignedIn{}, err
	}
	defer func() { releaseUndecided(release, err) }()
	check := func(t *store.SystemTx) error { return s.Registration.checkAsked(t, in) }
	if in.Invitation != "" || s.Registration != RegistrationOpen {
		// First, so that a wrong token or code costs no password hash.
		_, err := store.SystemRead(ctx, s.Store, "look up an invitation",
			func(t *store.SystemTx) (loci.Empty, error) {
				return loci.Empty{}, check(t)
			})
		if err != nil {
			return loci.SignedIn{}, err
		}
	}
	if in.Invitation == "" { // strangers cannot use up the limit of an invited address
		releaseAccount, refused := s.registrations.Take([]limit.Key{accountOf(in.Email)})
		if refused != nil {
			return loci.SignedIn{}, refused
		}
		defer func() { releaseUndecided(releaseAccount, err) }()
	}
	n, err := s.newUser(ctx, actor.ClientAddress, in.Email, in.Name, in.Password)
	if err != nil {
		return loci.SignedIn{}, err
	}
	n.Ref, n.Verified = in.Ref, in.Invitation != ""
	return s.signUp(ctx, actor, n, "register an account", check, !n.Verified)
}

// releaseUndecided releases an attempt that ended before it could succeed or
// fail: a malformed one, or one that met a busy server.
func releaseUndecided(release func(), err error) {
	if err != nil && !loci.Is(err, loci.CodeNotFound) && !loci.Is(err, loci.CodeConflict) &&
		!loci.Is(err, loci.CodeForbidden) {
		release()
	}
}

// SetUp makes the first account, with the token of the setup link.
func (s *Service) SetUp(ctx context.Context, actor *identity.Actor, in loci.SetUp) (_ loci.SignedIn, err error) {
	if !s.setup.valid(in.Token, s.Clock()) {
		return loci.SignedIn{}, s.setupTokenError(ctx)
	}
	// After the token check, so that strangers cannot lock the operator out.
	release, err := s.registrations.Take([]limit.Key{limit.Network(actor.ClientAddress)})
	if err != nil {
		return loci.SignedIn{}, err
	}
	defer func() { releaseUndecided(release, err) }()
	n, err := s.newUser(ctx, actor.ClientAddress, in.Email, in.Name, in.Password)
	if err != nil {
		return loci.SignedIn{}, err
	}
	n.Verified = true // only the operator has the setup link
	return s.signUp(ctx, actor, n, "make the first account", func(t *store.SystemTx) error {
		exists, err := t.HasUsers()
		if exists {
			s.setup.revoke()
			err = loci.Errorf(loci.CodeNotFound, "There is an account already: sign in.")
		}
		return err
	}, true)
}

// CheckSetup returns nil if the token of a setup link makes the first account. It does not use the token up.
func (s *Service) CheckSetup(ctx context.Context, token string) error {
	if !s.setup.valid(token, s.Clock()) {
		return s.setupTokenError(ctx)
	}
	return s.requireNoUsers(ctx)
}

// setupTokenError returns the error for an unusable token.
func (s *Service) setupTokenError(ctx context.Context) error {
	if err := s.requireNoUsers(ctx); err != nil {
		return err
	}
	return loci.Errorf(loci.CodeNotFound, "The setup link is used or expired: restart the server for a new one.")
}

// requireNoUsers returns an error if an account exists.
func (s *Service) requireNoUsers(ctx context.Context) error {
	exists, err := s.HasUsers(ctx)
	if err == nil && exists {
		err = loci.Errorf(loci.CodeNotFound, "There is an account already: sign in.")
	}
	return err
}

// newUser checks an address and hashes a password, which comes from a client.
func (s *Service) newUser(
	ctx context.Context, clientAddress string, e loci.Email, name loci.Name, p loci.Password,
) (n accountdb.NewUser, err error) {
	if !e.Valid() {
		return n, loci.Errorf(loci.CodeInvalidQuery, "email must be an e-mail address")
	}
	n = accountdb.NewUser{Email: e, Name: string(name)}
	if n.Name == "" {
		n.Name, _, _ = strings.Cut(string(e), "@")
	}
	if p != "" {
		n.Password, err = s.passwords.Hash(ctx, clientAddress,
			password.New{Field: "password", Password: p, Email: e})
	}
	return n, err
}

// signUp makes an account and a browser's sign-in in one transaction. With sendLink the user gets a mail that verifies
// the address, if the server sends mail.
func (s *Service) signUp(
	ctx context.Context, actor *identity.Actor, n accountdb.NewUser, reason string, first func(*store.SystemTx) error,
	sendLink bool,
) (loci.SignedIn, error) {
	secret := identity.NewSecret()
	u, err := store.System(ctx, s.Store, reason, func(t *store.SystemTx) (loci.User, error) {
		if err := first(t); err != nil {
			return loci.User{}, err
		}
		u, err := t.AddUser(n)
		if err == nil && sendLink && s.SendMail != nil {
			err = t.AddJob(mailVerification, u.ID)
		}
		if err != nil {
			return u, err
		}
		return u, t.AddSignIn(u.ID, newBrowser(actor, secret))
	})
	if err == nil {
		s.signInLimiter.RecordSuccess(accountOf(n.Email), limit.Network(actor.ClientAddress))
	}
	return loci.NewSignedIn(u, newSignIn(secret), true), err
}

func newSignIn(secret string) loci.SignIn {
	return loci.SignIn{Secret: secret, MaxAge: accountdb.SignInMaxAge}
}

// Causes of refused sign-ins. Their users see no difference between the first three.
const (
	refusedAddress  = "address"  // no account has it
	refusedPassword = "password" // it is wrong, or the account has none
	refusedUser     = "disabled" // and the password is right
	refusedLimit    = "limit"    // of failed attempts, or of passwords that are compared at once
)

// SignInRefusals are the causes of refused sign-ins.
var SignInRefusals = []string{refusedAddress, refusedPassword, refusedUser, refusedLimit}

// signInRefusal returns why a sign-in is refused, or "".
func signInRefusal(knownAddress, rightPassword, disabled bool) string {
	switch {
	case !knownAddress:
		return refusedAddress
	case !rightPassword:
		return refusedPassword
	case disabled:
		return refusedUser
	}
	return ""
}

// refuse reports a refused sign-in.
func (s *Service) refuse(cause string) {
	if s.OnRefused != nil {
		s.OnRefused(cause)
	}
}

// SignIn signs a browser in. An unknown address, a wrong password and a disabled user get the same answer in the same
// time.
func (s *Service) SignIn(ctx context.Context, actor *identity.Actor, in loci.Login) (loci.SignedIn, error) {
	failed := loci.Errorf(loci.CodeInvalidKey, "The address or the password is wrong.")
	account, network := accountOf(in.Email), limit.Network(actor.ClientAddress)
	release, err := s.signInLimiter.Take(account, network)
	if err != nil {
		s.refuse(refusedLimit)
		return loci.SignedIn{}, err
	}
	l, err := store.SystemRead(ctx, s.Store, "look up a sign-in",
		func(t *store.SystemTx) (accountdb.UserPassword, error) {
			return t.UserByEmail(in.Email)
		})
	known := err == nil
	if err != nil && !loci.Is(err, loci.CodeNotFound) {
		release()
		return loci.SignedIn{}, err
	}
	ok, err := s.passwords.Check(ctx, actor.ClientAddress, l.Hash, string(in.Password))
	if err != nil {
		release() // the password was not compared
		if _, limited := errors.AsType[limit.Exceeded](err); limited {
			s.refuse(refusedLimit)
		}
		return loci.SignedIn{}, err
	}
	if cause := signInRefusal(known, ok, l.Disabled); cause != "" {
		s.refuse(cause)
		return loci.SignedIn{}, failed
	}
	release()
	s.signInLimiter.RecordSuccess(account, network)
	secret := identity.NewSecret()
	browser := newBrowser(actor, secret)
	browser.Password = l.Hash
	_, err = store.System(ctx, s.Store, "sign in", func(t *store.SystemTx) (loci.Empty, error) {
		if err := t.LockEnabledUser(l.User.ID); err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, t.AddSignIn(l.User.ID, browser)
	})
	if loci.Is(err, loci.CodeNotFound) {
		s.refuse(refusedUser)
		err = failed // the user was deleted or disabled, or the password was changed meanwhile
	}
	return loci.NewSignedIn(l.User, newSignIn(secret), false), err
}

// inAccount runs f on the account of the actor.
func inAccount[Out any](ctx context.Context, s *Service, actor *identity.Actor,
	f func(a *store.Account) (Out, error)) (Out, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out Out, err error) {
		a, err := tx.Account()
		if err != nil {
			return out, err
		}
		return f(a)
	})
}

// SignOut ends the sign-in of the call.
func (s *Service) SignOut(ctx context.Context, actor *identity.Actor, _ loci.Empty) (loci.SignedOut, error) {
	return inAccount(ctx, s, actor, func(a *store.Account) (out loci.SignedOut, err error) {
		if actor.CredentialKind == identity.CredentialCookie {
			err = a.EndSignIn(actor.CredentialID)
		}
		if loci.Is(err, loci.CodeNotFound) {
			err = nil // by another call
		}
		return out, err
	})
}

// Me returns the actor's user.
func (s *Service) Me(ctx context.Context, actor *identity.Actor, _ loci.Empty) (loci.OneUser, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.OneUser, error) {
		u, err := tx.CurrentUser()
		return loci.OneUser{User: u}, err
	})
}

// Status returns the actor's usage and plan.
func (s *Service) Status(ctx context.Context, actor *identity.Actor, _ loci.Empty) (loci.AccountStatus, error) {
	used, ends, err := s.UsedOperations(ctx, actor)
	if err != nil {
		return loci.AccountStatus{}, err
	}
	state := loci.ServiceState{Ready: true, Problems: []string{}}
	if s.State != nil {
		state = s.State()
	}
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.AccountStatus, error) {
		out, err := tx.Usage()
		out.Plan, out.BasePlan, out.Service = actor.Plan.Name, actor.BasePlan, state
		setLimits(&out, actor.Plan, used, ends)
		return out, err
	})
}

// setLimits writes the used operations of the month and the limits of a plan.
func setLimits(out *loci.AccountStatus, p identity.Plan, used int64, monthEnds time.Time) {
	out.Usage.Operations = loci.OperationQuota{Used: used, Limit: p.Operations,
		ResetsAt: loci.TimeOf(monthEnds.Truncate(time.Millisecond))}
	out.Usage.Storage.LimitBytes = p.Storage
	out.Workspaces.Personal.Limit, out.Workspaces.Team.Limit, out.Workspaces.Atlases.Limit = 1, p.Teams, p.Atlases
}

// AddUser makes an account as the operator. Its input has not been checked by a transport.
func (s *Service) AddUser(ctx context.Context, e loci.Email, name loci.Name, p loci.Password) (loci.User, error) {
	name, err := parseName(name)
	if err == nil && p != "" {
		p, err = op.Parse[loci.Password]("password", string(p))
	}
	if err != nil {
		return loci.User{}, err
	}
	n, err := s.newUser(ctx, "", e, name, p)
	if err != nil {
		return loci.User{}, err
	}
	n.Verified = true // the operator verifies the address
	return store.System(ctx, s.Store, "make an account as the operator", func(t *store.SystemTx) (loci.User, error) {
		return t.AddUser(n)
	})
}

// parseName returns a name that no transport has decoded. An empty name stays empty.
func parseName(name loci.Name) (loci.Name, error) {
	if name == "" {
		return "", nil
	}
	return op.Parse[loci.Name]("name", string(name))
}

// VerifyUser marks an address as verified, as the operator.
func (s *Service) VerifyUser(ctx context.Context, e loci.Email) (loci.User, error) {
	return store.System(ctx, s.Store, "verify an address as the operator", func(t *store.SystemTx) (loci.User, error) {
		return t.VerifyUser(e)
	})
}

// SetPlan gives a user a plan of its own, as the operator. An empty name gives the default plan of the server back.
func (s *Service) SetPlan(ctx context.Context, e loci.Email, plan loci.PlanName) (loci.User, error) {
	return store.System(ctx, s.Store, "set a plan as the operator", func(t *store.SystemTx) (loci.User, error) {
		return t.SetPlan(e, plan)
	})
}

// EnsureUser returns the user with an address and makes it where it is missing. Several processes may call it at once.
func (s *Service) EnsureUser(ctx context.Context, e loci.Email) (loci.User, error) {
	find := func() (accountdb.UserPassword, error) {
		return store.SystemRead(ctx, s.Store, "look up the owner",
			func(t *store.SystemTx) (accountdb.UserPassword, error) {
				return t.UserByEmail(e)
			})
	}
	l, err := find()
	if !loci.Is(err, loci.CodeNotFound) {
		return l.User, err
	}
	u, err := s.AddUser(ctx, e, "", "")
	if loci.Is(err, loci.CodeConflict) {
		l, err = find()
		return l.User, err
	}
	return u, err
}

// UpdateAccount renames the actor.
func (s *Service) UpdateAccount(ctx context.Context, actor *identity.Actor,
	in loci.UpdateAccount) (loci.OneUser, error) {
	return inAccount(ctx, s, actor, func(a *store.Account) (loci.OneUser, error) {
		u, err := a.SetName(string(in.Name))
		return loci.OneUser{User: u}, err
	})
}

// accountOf returns the key under which the attempts on an account count. Invalid addresses share one key.
func accountOf(e loci.Email) limit.Key {
	if !e.Valid() {
		e = ""
	}
	return limit.User(accountdb.FoldEmail(e))
}

// DeleteAccount deletes the actor's account and signs out. Memories in the teams of others stay.
func (s *Service) DeleteAccount(ctx context.Context, actor *identity.Actor,
	in loci.DeleteAccount) (loci.SignedOut, error) {
	was, err := s.checkPassword(ctx, actor, in.Password)
	if err != nil {
		return loci.SignedOut{}, err
	}
	return inAccount(ctx, s, actor, func(a *store.Account) (loci.SignedOut, error) {
		return loci.SignedOut{}, a.Delete(was)
	})
}

// DeleteUser deletes an account as the operator, with the refusals of DeleteAccount. A dry run only refuses.
func (s *Service) DeleteUser(ctx context.Context, e loci.Email, dryRun bool) (loci.User, error) {
	return store.System(ctx, s.Store, "delete a user as the operator", func(t *store.SystemTx) (loci.User, error) {
		return t.DeleteUser(e, dryRun)
	})
}
