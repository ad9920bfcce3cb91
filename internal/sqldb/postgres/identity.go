package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
)

// Identity returns the public name of a database: a hash of the secret that its first start has made. A dump takes it
// along. A database that was made anew has another one.
func Identity(secret string) string {
	sum := sha256.Sum256([]byte("loci database " + secret))
	return hex.EncodeToString(sum[:])
}

// ErrOtherDatabase reports a database with another identity than the expected one.
var ErrOtherDatabase = errors.New("not the database that this server used before")

// An identity is that of the database behind an address, or empty before its first start.
type identity struct{ atomic.Pointer[string] }

func newIdentity(expected string) *identity {
	i := &identity{}
	i.Store(&expected)
	return i
}

// check compares the identity of the database behind a connection. The first one that it meets is the expected one.
func (i *identity) check(ctx context.Context, c *pgx.Conn) error {
	var secret *string
	err := c.QueryRow(ctx, `SELECT max(value) FROM metadata WHERE name = 'cursor'`,
		pgx.QueryExecModeSimpleProtocol).Scan(&secret)
	if code := sqlState(err); code != "42P01" && code != "42703" && err != nil { // no such table, no such column
		return err
	}
	expected := i.Load()
	switch {
	case secret == nil && *expected == "":
		return nil
	case secret == nil:
		return fmt.Errorf("it is empty (without the metadata of Loci), and %w", ErrOtherDatabase)
	}
	found := Identity(*secret)
	if *expected == "" && i.CompareAndSwap(expected, &found) || *i.Load() == found {
		return nil
	}
	return fmt.Errorf("it is %w", ErrOtherDatabase)
}

// refuse closes the connections to a database that was replaced under a running server, and returns the error for
// callers. Each call then makes a new connection, which finds out whether the former database is back.
func (d *database) refuse(err error) error {
	d.pool.Reset()
	return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: time.Minute, Err: err,
		Message: "The database was replaced under this server, which uses it no more: its operator has to bring the " +
			"former one back."}
}

// Check compares the identity of the database: behind a pooler, connections outlive it.
func (d *database) Check(ctx context.Context) error {
	c, err := d.acquire(ctx, "")
	if err != nil {
		return mapError(err)
	}
	defer d.release(c, "")
	if err = d.identity.check(ctx, c.Conn()); errors.Is(err, ErrOtherDatabase) {
		return d.refuse(err)
	}
	return mapError(err)
}
