// Package accountdb reads and writes accounts: users, passwords, API keys, sign-ins, used operations and rates.
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
	onEnded func(credentialID loci.ID) // is called where a credential ends
}

// In returns the accounts in a transaction.
func In(t *sqldb.Tx, plans identity.Plans, onEnded func(credentialID loci.ID)) Tx {
	return Tx{t, plans, onEnded}
}

// Now returns the time of the transaction.
func (t Tx) Now() loci.Time { return t.conn.Now }
