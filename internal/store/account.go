package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// accounts returns the accounts in the transaction.
func (t *Tx) accounts() accountdb.Tx {
	return accountdb.In(t.conn, t.store.plans, t.publishAtCommit)
}

func (t *Tx) publishAtCommit(c accountdb.Change) { t.conn.OnCommit(func() { t.store.publish(c) }) }

// CurrentUser returns the actor's user.
func (t *Tx) CurrentUser() (loci.User, error) { return t.accounts().User(t.actor.UserID) }

// SignIns returns the signed-in browsers of the actor.
func (t *Tx) SignIns(p page.Request) (page.List[loci.BrowserSignIn], error) {
	return queryPage(p, t.conn.Query, `SELECT id, user_agent, address, created_at, used_at FROM sign_ins
		WHERE user_id = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT ?4`,
		func(r sqldb.Row) (s loci.BrowserSignIn, err error) {
			err = r.Scan(&s.ID, &s.UserAgent, &s.Address, &s.CreatedAt, &s.LastUsedAt)
			s.UpdatedAt = s.CreatedAt
			s.Current = s.ID == t.actor.CredentialID
			return s, err
		}, t.actor.UserID)
}

// Keys returns the actor's API keys, including revoked ones.
func (t *Tx) Keys(p page.Request) (page.List[loci.APIKey], error) {
	return queryPage(p, t.conn.Query, `SELECT`+accountdb.KeyColumns+
		`FROM api_keys k WHERE k.user_id = ?1 AND (k.created_at, k.id) < (?2, ?3)
			ORDER BY k.created_at DESC, k.id DESC LIMIT ?4`,
		func(r sqldb.Row) (k loci.APIKey, err error) {
			err = r.Scan(accountdb.ScanKey(&k)...)
			return k, err
		}, t.actor.UserID)
}

// Referrals returns the actor's referrals.
func (t *Tx) Referrals() (loci.Referrals, error) { return t.accounts().Referrals(t.actor.UserID) }

// Benefits returns the actor's benefits.
func (t *Tx) Benefits(p page.Request) (page.List[loci.Benefit], error) {
	return queryPage(p, t.conn.Query, accountdb.BenefitQuery+`AND (b.created_at, b.id) < (?2, ?3)
		ORDER BY b.created_at DESC, b.id DESC LIMIT ?4`, t.accounts().ScanBenefit, t.actor.UserID)
}

// A Benefit is the handle of a benefit of the actor.
type Benefit struct {
	t      *Tx
	record loci.Benefit
}

// Benefit returns the handle of a benefit of the actor, or NotFound.
func (t *Tx) Benefit(id loci.ID) (*Benefit, error) {
	record, err := t.accounts().Benefit(t.actor.UserID, id)
	if err != nil {
		return nil, err
	}
	return &Benefit{t, record}, t.checkIdempotency()
}

// Activate lifts the actor's plan for the days of the benefit.
func (b *Benefit) Activate() (loci.Benefit, error) {
	out, err := b.t.accounts().ActivateBenefit(b.t.actor.UserID, b.record)
	b.t.LinkResponse(b.record.ID)
	return out, err
}

// An Account is the handle of the actor's account: of its API keys and new workspaces.
type Account struct{ t *Tx }

// Account returns the handle of the actor's account.
func (t *Tx) Account() (*Account, error) { return &Account{t}, t.checkIdempotency() }

// AddKey stores a key of the actor. A credential that has ended makes no other one, however long ago its call was
// admitted.
func (s *Account) AddKey(n accountdb.NewKey) (loci.APIKey, error) {
	actor := s.t.actor
	return s.t.accounts().AddLimitedKey(actor.UserID, actor.CredentialKind, actor.CredentialID, n)
}

// EndSignIn signs a browser of the actor out.
func (s *Account) EndSignIn(id loci.ID) error { return s.t.accounts().EndSignIn(s.t.actor.UserID, id) }

// SetName renames the actor's user.
func (s *Account) SetName(name string) (loci.User, error) {
	return s.t.accounts().SetName(s.t.actor.UserID, name)
}

// MakeReferralCode returns the actor's referral code, and makes it at the first call.
func (s *Account) MakeReferralCode() (loci.ReferralCode, error) {
	return s.t.accounts().MakeReferralCode(s.t.actor.UserID)
}

// SetPassword replaces the actor's password hash, unless it changed meanwhile. The other sign-ins end.
func (s *Account) SetPassword(was, hash string) error {
	return s.t.accounts().SetPassword(s.t.actor.UserID, was, hash, s.t.actor.CredentialID)
}

// RevokeKey revokes a key of the actor. The stored responses that show it are deleted.
func (s *Account) RevokeKey(id loci.ID) error { return s.t.revokeKey(s.t.actor.UserID, id) }

// RevokeKey revokes a key of a user. The stored responses that show it are deleted.
func (t *SystemTx) RevokeKey(userID, id loci.ID) error { return t.t.revokeKey(userID, id) }

func (t *Tx) revokeKey(userID, id loci.ID) error {
	if err := t.accounts().RevokeKey(userID, id); err != nil {
		return err
	}
	return t.deleteResponses(id)
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
	_, err = t.t.addAtlas(w, loci.Atlas{Name: loci.InboxName, Default: true, Keywords: []string{}})
	return u, err
}
