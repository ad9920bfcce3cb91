package sqldb

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loci-memory/loci"
)

var postgresDialect = &Dialect{
	Name:     "postgres",
	RowLocks: true,
	InList:   `%[1]s = ANY (` + bigintArray("%[2]d") + `)`,
	// Of a CASE the planner expects half: it walks in order until the page is
	// full, instead of sorting all that could match.
	ContainsAll: `CASE WHEN CAST(%[1]s AS jsonb) @> CAST(?%[2]d AS jsonb) THEN TRUE END`,
	JoinIDs:     `unnest(` + bigintArray("%[1]d") + `) AS picked (value) JOIN %[2]s ON %[3]s = picked.value`,
	LogVersion:  `count(*)`, // a smaller seq may be committed after a larger one
}

// bigintArray reads a JSON list as an array, of which the planner knows the length.
func bigintArray(n string) string {
	return `CAST(translate(CAST(?` + n + ` AS TEXT), '[]', '{}') AS BIGINT[])`
}

// postgres is a database on a server of its own.
type postgres struct {
	pool        *pgxpool.Pool
	busyTimeout time.Duration
	slots       *semaphore   // one is held for each connection in use
	waitCount   atomic.Int64 // callers that found no free slot
}

// parsePoolConfig returns the settings of a pool of connections to the database at url.
func parsePoolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("sqldb: the address of the database is malformed") // err shows the password
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = max(config.MaxConns, 16)
	}
	config.ConnConfig.ConnectTimeout = 10 * time.Second
	return config, nil
}

// OpenPostgres opens the database at url, a postgres:// address.
func OpenPostgres(ctx context.Context, url string, o Options) (DB, error) {
	config, err := parsePoolConfig(url)
	if err != nil {
		return nil, err
	}
	if err := probeServer(ctx, config.ConnConfig, url, o.Log); err != nil {
		return nil, err
	}
	if err := migratePostgres(ctx, config, o); err != nil {
		return nil, err // as it is: the operator is told the cause
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &postgres{pool: pool, busyTimeout: o.busyTimeoutOrDefault(),
		slots: newSemaphore(int(config.MaxConns))}, nil
}

// CheckFiles returns nil: the files are those of a server.
func (d *postgres) CheckFiles() error { return nil }

func (d *postgres) Dialect() *Dialect { return postgresDialect }

// refusedSlotDelay is how long the slot of a refused connection stays taken.
const refusedSlotDelay = time.Second

var errPoolExhausted = errors.New("sqldb: every connection is in use")

// acquire takes a connection, and reports that the service is busy where none is
// free in time. A server that refuses a further connection, as at the limit of a
// role, makes the caller wait for one that is in use: the slot of the refused one
// stays taken for a moment, so that the server is not asked again by everybody.
func (d *postgres) acquire(ctx context.Context, user string) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, d.busyTimeout)
	defer cancel()
	for {
		if err := d.acquireSlot(waiting, user); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, BusyError(errPoolExhausted)
		}
		c, err := d.pool.Acquire(waiting)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			d.slots.release(user)
			return nil, err
		case waiting.Err() != nil || d.pool.Stat().AcquiredConns() == 0:
			d.slots.release(user)
			return nil, BusyError(err)
		}
		time.AfterFunc(refusedSlotDelay, func() { d.slots.release(user) })
	}
}

// acquireSlot waits for a free slot.
func (d *postgres) acquireSlot(ctx context.Context, user string) error {
	t := d.slots.acquire(user)
	if t == nil {
		return nil
	}
	d.waitCount.Add(1)
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
		d.slots.cancel(user, t)
		return ctx.Err()
	}
}

// release gives a connection back.
func (d *postgres) release(c *pgxpool.Conn, user string) {
	c.Release()
	d.slots.release(user)
}

// Read takes no transaction: READ COMMITTED, which it would have, sees a new
// snapshot with each statement anyway.
func (d *postgres) Read(ctx context.Context, user string, f func(Conn) error) error {
	c, err := d.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer d.release(c, user)
	return mapPostgresError(markConnectionLost(ctx, c, f(&postgresConn{ctx, c.Conn()})))
}

// Write tries again where the database gave up on the transaction for
// another's sake, or went away before it was asked to commit.
func (d *postgres) Write(ctx context.Context, user string, f func(Conn) error) (err error) {
	for range 4 {
		if err = d.tryWrite(ctx, user, f); !isRetryable(err) {
			break
		}
	}
	return mapPostgresError(err)
}

func (d *postgres) tryWrite(ctx context.Context, user string, f func(Conn) error) error {
	c, err := d.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer d.release(c, user)
	// From here on a caller that leaves changes nothing: what is decided is done.
	ctx = context.WithoutCancel(ctx)
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return markConnectionLost(ctx, c, err)
	}
	defer tx.Rollback(ctx) // no effect after the commit
	if err := f(&postgresConn{ctx, tx.Conn()}); err != nil {
		return markConnectionLost(ctx, c, err)
	}
	if err = tx.Commit(ctx); err != nil && c.Conn().IsClosed() && sqlState(err) == "" {
		return &loci.Error{Code: loci.CodeUnavailable,
			Message: "The database went away during the commit: look whether the change is there before you repeat " +
				"it.",
			RetryAfter: time.Second, Err: err}
	}
	return err
}

// errConnectionLost tells that the connection was lost before anything was committed.
var errConnectionLost = errors.New("sqldb: the connection to the database was lost")

func markConnectionLost(ctx context.Context, c *pgxpool.Conn, err error) error {
	_, meant := errors.AsType[*loci.Error](err)
	if err == nil || meant || ctx.Err() != nil || !c.Conn().IsClosed() {
		return err
	}
	return errors.Join(errConnectionLost, err)
}

func (d *postgres) Close() error {
	d.pool.Close()
	return nil
}

// isRetryable reports a lost connection, a serialization failure, a deadlock, or two
// who made the same thing at once: the second try finds what the other one made.
func isRetryable(err error) bool {
	if errors.Is(err, errConnectionLost) {
		return true
	}
	switch sqlState(err) {
	case "40001", "40P01", "23505":
		return true
	}
	return false
}

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func mapPostgresError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*loci.Error](err); ok {
		return err
	}
	switch code := sqlState(err); {
	case code == "23505":
		return conflictError(err)
	case code == "53100":
		return &loci.Error{Code: loci.CodeStorageFull, Message: loci.CodeStorageFull.Hint(), Err: err}
	case code == "57014", code == "55P03", strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"),
		strings.HasPrefix(code, "57P"), isRetryable(err):
		return BusyError(err)
	case pgconn.SafeToRetry(err):
		return BusyError(err)
	case code == "23503":
		return notFoundError(err)
	case isCorrupt(err):
		corruptionErrors.Add(1)
	}
	return err
}

// postgresConn is a connection for the length of one transaction.
type postgresConn struct {
	ctx context.Context
	c   *pgx.Conn
}

// dollarPlaceholders writes ?1 as $1. No text of ours has a question mark of another meaning.
var dollarPlaceholders = queryRewriter{rewrite: func(q string) string { return strings.ReplaceAll(q, "?", "$") }}

func (c *postgresConn) Exec(q string, args []any) (int64, error) {
	statements.Add(1)
	tag, err := c.c.Exec(c.ctx, dollarPlaceholders.get(q), args...)
	return tag.RowsAffected(), err
}

func (c *postgresConn) Insert(q string, args []any) (rowID int64, err error) {
	return rowID, c.QueryRow(q+` RETURNING row_id`, args, []any{&rowID})
}

func (c *postgresConn) QueryRow(q string, args []any, dest []any) error {
	statements.Add(1)
	err := c.c.QueryRow(c.ctx, dollarPlaceholders.get(q), args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNoRows
	}
	return err
}

func (c *postgresConn) QueryFew(q string, args []any, f func(Row) error) error {
	return c.Query(q, args, f)
}

func (c *postgresConn) Query(q string, args []any, f func(Row) error) error {
	statements.Add(1)
	rows, err := c.c.Query(c.ctx, dollarPlaceholders.get(q), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err == ErrStop {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}
