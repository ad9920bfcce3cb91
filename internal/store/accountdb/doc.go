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
	conn    *sqldb.Tx
	plans   identity.Plans
	onEnded func(Ended) // is called where credentials end
}

// Ended names credentials that end.
type Ended struct {
	CredentialID loci.ID
	UserID       loci.ID // if set, all of this user's
}

// In returns the accounts in a transaction.
func In(t *sqldb.Tx, plans identity.Plans, onEnded func(Ended)) Tx {
	return Tx{t, plans, onEnded}
}

// Now returns the time of the transaction.
func (t Tx) Now() loci.Time { return t.conn.Now }
