// Package grantdb reads and writes what OAuth keeps: clients, authorization codes, grants, and their tokens. Codes and
// tokens are stored as hashes.
package grantdb

import (
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// The scopes of grants. A grant of MCPScope reaches the workspaces that its user chose. One of AccountScope reaches
// everything that its user may do, later workspaces too, and has no list of workspaces.
const (
	MCPScope     = accountdb.NarrowScope
	AccountScope = accountdb.AccountScope
)

// A Tx is a transaction on grants. It reaches those of all users.
type Tx struct {
	conn     *sqldb.Tx
	accounts accountdb.Tx
	onChange func(accountdb.Change)
}

// In returns the grants in a transaction, which calls onChange with each grant that ends.
func In(t *sqldb.Tx, accounts accountdb.Tx, onChange func(accountdb.Change)) Tx {
	return Tx{t, accounts, onChange}
}

func (t Tx) after(d time.Duration) loci.Time  { return t.conn.Now + loci.Time(d.Microseconds()) }
func (t Tx) before(d time.Duration) loci.Time { return t.after(-d) }

// lock makes other new codes and grants of a user wait for the commit, so that no limit is exceeded.
func (t Tx) lock(userID loci.ID) error { return t.conn.AdvisoryLock(string(userID) + "/grants") }
