// Package accountdb reads and writes accounts: users, passwords, API keys, sign-ins, referrals, benefits, used
// operations and rates.
package accountdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Tx is a transaction on accounts. It reaches those of all users.
type Tx struct {
	conn     *sqldb.Tx
	plans    identity.Plans
	onChange func(Change)
}

// A Change names credentials that end, or whose user has another state, plan or referral.
type Change struct {
	CredentialID loci.ID
	UserID       loci.ID // if set, all of this user's
	WorkspaceID  loci.ID // if set, all tokens that reach this workspace
}

// In returns the accounts in a transaction, which calls onChange with each change.
func In(t *sqldb.Tx, plans identity.Plans, onChange func(Change)) Tx {
	return Tx{t, plans, onChange}
}

// Now returns the time of the transaction.
func (t Tx) Now() loci.Time { return t.conn.Now }
