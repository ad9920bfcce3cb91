package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// accounts returns the accounts in the transaction.
func (t *Tx) accounts() accountdb.Tx {
	return accountdb.In(t.conn, t.store.plans, func(id loci.ID) {
		t.Emit(Event{Name: EventCredentialEnded, CredentialID: id})
	})
}

// CurrentUser returns the actor's user.
func (t *Tx) CurrentUser() (loci.User, error) { return t.accounts().User(t.actor.UserID) }

// EndSignIn deletes the sign-in of the call.
func (t *Tx) EndSignIn() error { return t.accounts().EndSignIn(t.actor.UserID, t.actor.CredentialID) }

// Keys returns the actor's API keys, including revoked ones.
func (t *Tx) Keys(p Page) (List[loci.APIKey], error) {
	return queryPage(p, t.conn.Query, `SELECT`+accountdb.KeyColumns+
		`FROM api_keys k WHERE k.user_id = ?1 AND (k.created_at, k.id) < (?2, ?3)
			ORDER BY k.created_at DESC, k.id DESC LIMIT ?4`,
		func(r sqldb.Row) (k loci.APIKey, err error) {
			err = r.Scan(accountdb.ScanKey(&k)...)
			return k, err
		}, t.actor.UserID)
}

// An Account is the handle of the actor's account: of its API keys and new workspaces.
type Account struct{ t *Tx }

// Account returns the handle of the actor's account.
func (t *Tx) Account() (*Account, error) { return &Account{t}, t.checkIdempotency() }

// AddKey stores a key of the actor. A credential that has ended makes no other one, however long ago its call was
// admitted.
func (s *Account) AddKey(n accountdb.NewKey) (loci.APIKey, error) {
	a, actor := s.t.accounts(), s.t.actor
	if err := a.RequireLiveCredential(actor.UserID, actor.CredentialKind, actor.CredentialID); err != nil {
		return loci.APIKey{}, err
	}
	return a.AddLimitedKey(actor.UserID, n)
}

// RevokeKey revokes a key of the actor. The stored responses that show it are deleted.
func (s *Account) RevokeKey(id loci.ID) error {
	if err := s.t.accounts().RevokeKey(s.t.actor.UserID, id); err != nil {
		return err
	}
	return s.t.deleteResponses(id)
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
