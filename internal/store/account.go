package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// CurrentUser returns the actor's user.
func (t *Tx) CurrentUser() (loci.User, error) { return t.in.Accounts().User(t.in.Actor.UserID) }

// SignIns returns the signed-in browsers of the actor.
func (t *Tx) SignIns(p page.Request) (page.List[loci.BrowserSignIn], error) {
	return scope.QueryPage(p, t.in.Conn.Query, `SELECT id, user_agent, address, created_at, used_at FROM sign_ins
		WHERE user_id = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT ?4`,
		func(r sqldb.Row) (s loci.BrowserSignIn, err error) {
			err = r.Scan(&s.ID, &s.UserAgent, &s.Address, &s.CreatedAt, &s.LastUsedAt)
			s.UpdatedAt = s.CreatedAt
			s.Current = s.ID == t.in.Actor.CredentialID
			return s, err
		}, t.in.Actor.UserID)
}

// Keys returns the actor's API keys, including revoked ones.
func (t *Tx) Keys(p page.Request) (page.List[loci.APIKey], error) {
	return scope.QueryPage(p, t.in.Conn.Query, `SELECT`+accountdb.KeyColumns+
		`FROM api_keys k WHERE k.user_id = ?1 AND (k.created_at, k.id) < (?2, ?3)
			ORDER BY k.created_at DESC, k.id DESC LIMIT ?4`,
		func(r sqldb.Row) (k loci.APIKey, err error) {
			err = r.Scan(accountdb.ScanKey(&k)...)
			return k, err
		}, t.in.Actor.UserID)
}

// Referrals returns the actor's referrals.
func (t *Tx) Referrals() (loci.Referrals, error) { return t.in.Accounts().Referrals(t.in.Actor.UserID) }

// Benefits returns the actor's benefits.
func (t *Tx) Benefits(p page.Request) (page.List[loci.Benefit], error) {
	return scope.QueryPage(p, t.in.Conn.Query, accountdb.BenefitQuery+`AND (b.created_at, b.id) < (?2, ?3)
		ORDER BY b.created_at DESC, b.id DESC LIMIT ?4`, t.in.Accounts().ScanBenefit, t.in.Actor.UserID)
}

// A Benefit is the handle of a benefit of the actor.
type Benefit struct {
	t      *Tx
	record loci.Benefit
}

// Benefit returns the handle of a benefit of the actor, or NotFound.
func (t *Tx) Benefit(id loci.ID) (*Benefit, error) {
	record, err := t.in.Accounts().Benefit(t.in.Actor.UserID, id)
	if err != nil {
		return nil, err
	}
	return &Benefit{t, record}, t.in.CheckIdempotency()
}

// Activate lifts the actor's plan for the days of the benefit.
func (b *Benefit) Activate() (loci.Benefit, error) {
	out, err := b.t.in.Accounts().ActivateBenefit(b.t.in.Actor.UserID, b.record)
	b.t.LinkResponse(b.record.ID)
	return out, err
}

// An Account is the handle of the actor's account: of its API keys and new workspaces.
type Account struct{ t *Tx }

// Account returns the handle of the actor's account.
func (t *Tx) Account() (*Account, error) { return &Account{t}, t.in.CheckIdempotency() }

// AddKey stores a key of the actor. A credential that has ended makes no other one, however long ago its call was
// admitted.
func (s *Account) AddKey(n accountdb.NewKey) (loci.APIKey, error) {
	actor := s.t.in.Actor
	return s.t.in.Accounts().AddLimitedKey(actor.UserID, actor.CredentialKind, actor.CredentialID, n)
}

// EndSignIn signs a browser of the actor out.
func (s *Account) EndSignIn(id loci.ID) error {
	return s.t.in.Accounts().EndSignIn(s.t.in.Actor.UserID, id)
}

// SetName renames the actor's user.
func (s *Account) SetName(name string) (loci.User, error) {
	return s.t.in.Accounts().SetName(s.t.in.Actor.UserID, name)
}

// MakeReferralCode returns the actor's referral code, and makes it at the first call.
func (s *Account) MakeReferralCode() (loci.ReferralCode, error) {
	return s.t.in.Accounts().MakeReferralCode(s.t.in.Actor.UserID)
}

// SetPassword replaces the actor's password hash, unless it changed meanwhile. The other sign-ins end.
func (s *Account) SetPassword(was, hash string) error {
	return s.t.in.Accounts().SetPassword(s.t.in.Actor.UserID, was, hash, s.t.in.Actor.CredentialID)
}

// RevokeKey revokes a key of the actor. The stored responses that show it are deleted.
func (s *Account) RevokeKey(id loci.ID) error { return s.t.revokeKey(s.t.in.Actor.UserID, id) }

// RevokeKey revokes a key of a user. The stored responses that show it are deleted.
func (t *SystemTx) RevokeKey(userID, id loci.ID) error { return t.t.revokeKey(userID, id) }

func (t *Tx) revokeKey(userID, id loci.ID) error {
	if err := t.in.Accounts().RevokeKey(userID, id); err != nil {
		return err
	}
	return scope.DeleteResponses(t.in.Conn, id)
}

// AddUser makes a user with a personal workspace and its Inbox. An existing address in any letter case is a conflict.
func (t *SystemTx) AddUser(n accountdb.NewUser) (loci.User, error) {
	u, err := t.Tx.AddUser(n)
	if err != nil {
		return u, err
	}
	w, err := t.t.addWorkspace("Personal", u.ID, true)
	if err != nil {
		return u, err
	}
	_, err = t.t.in.AddAtlas(w, loci.Atlas{Name: loci.InboxName, Default: true, Keywords: []string{}})
	return u, err
}
