package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// grants returns the OAuth clients and grants in the transaction.
func (t *Tx) grants() grantdb.Tx { return grantdb.In(t.in.Conn, t.in.Accounts(), t.in.PublishAtCommit) }

// Grants returns the live grants of the actor.
func (t *Tx) Grants(p page.Request) (page.List[loci.Grant], error) {
	return t.grants().List(t.in.Actor.UserID, p)
}

// RevokeGrant ends a grant of the actor with its tokens.
func (s *Account) RevokeGrant(id loci.ID) error { return s.t.grants().Revoke(s.t.in.Actor.UserID, id) }

// Grants returns the OAuth clients and grants of all users.
func (t *SystemTx) Grants() grantdb.Tx { return t.t.grants() }

// CredentialByID returns the key, the sign-in or the grant for the whole account with an id.
func (t *SystemTx) CredentialByID(kind identity.CredentialKind, id loci.ID) (accountdb.Credential, error) {
	if kind == identity.CredentialAccount {
		return t.Grants().AccountCredential(id)
	}
	return t.Tx.CredentialByID(kind, id)
}

// Credential returns the credential whose secret has this hash.
func (t *SystemTx) Credential(kind identity.CredentialKind, hash []byte) (accountdb.Credential, error) {
	if kind == identity.CredentialToken {
		return t.Grants().Credential(hash)
	}
	return t.Tx.Credential(kind, hash)
}
