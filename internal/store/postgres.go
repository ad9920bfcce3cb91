package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loci-memory/loci"
)

var postgresDialect = &dialect{
	name:  "postgres",
	locks: true,
	in:    `%[1]s = ANY (` + bigints("%[2]d") + `)`,
	// Of a CASE the planner expects half: it walks in order until the page is
	// full, instead of sorting all that could match.
	hasTexts: `CASE WHEN CAST(%[1]s AS jsonb) @> CAST(?%[2]d AS jsonb) THEN TRUE END`,
	anyOf:    `unnest(` + bigints("%[1]d") + `) AS picked (value) JOIN %[2]s ON %[3]s = picked.value`,
	grown:    `count(*)`, // a smaller seq may be committed after a larger one
}

// bigints reads a JSON list as an array, of which the planner knows the length.
func bigints(n string) string {
	return `CAST(translate(CAST(?` + n + ` AS TEXT), '[]', '{}') AS BIGINT[])`
}

// postgres is a database on a server of its own.
type postgres struct {
	pool     *pgxpool.Pool
	patience time.Duration
	slots    *semaphore   // one is held for each connection in use
	waits    atomic.Int64 // callers that found no free slot
}

// poolConfig returns the settings of a pool of connections to the database at url.
func poolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("store: the address of the database is malformed") // err shows the password
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = max(config.MaxConns, 16)
	}
	config.ConnConfig.ConnectTimeout = 10 * time.Second
	return config, nil
}

// OpenPostgres opens the database at url, a postgres:// address.
func OpenPostgres(ctx context.Context, url string, o Options) (*Store, error) {
	config, err := poolConfig(url)
	if err != nil {
		return nil, err
	}
	if err := probe(ctx, config.ConnConfig, url, o.Log); err != nil {
		return nil, err
	}
	if err := migratePostgres(ctx, config, o); err != nil {
		return nil, err // as it is: the operator is told the cause
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return (&Store{db: &postgres{pool: pool, patience: o.wait(), slots: newSemaphore(int(config.MaxConns))}}).finish(ctx, o)
}

func (d *postgres) dialect() *dialect { return postgresDialect }

// refusedFor is how long the slot of a refused connection stays taken.
const refusedFor = time.Second

var errNoConnection = errors.New("store: every connection is in use")

// acquire takes a connection, and reports that the service is busy where none is
// free in time. A server that refuses a further connection, as at the limit of a
// role, makes the caller wait for one that is in use: the slot of the refused one
// stays taken for a moment, so that the server is not asked again by everybody.
func (d *postgres) acquire(ctx context.Context, user string) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	for {
		if err := d.slot(waiting, user); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, busy(errNoConnection)
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
			return nil, busy(err)
		}
		time.AfterFunc(refusedFor, func() { d.slots.release(user) })
	}
}

// slot waits for a free slot.
func (d *postgres) slot(ctx context.Context, user string) error {
	t := d.slots.acquire(user)
	if t == nil {
		return nil
	}
	d.waits.Add(1)
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
		d.slots.abandon(user, t)
		return ctx.Err()
	}
}

// release gives a connection back.
func (d *postgres) release(c *pgxpool.Conn, user string) {
	c.Release()
	d.slots.release(user)
}

// read takes no transaction: READ COMMITTED, which it would have, sees a new
// snapshot with each statement anyway.
func (d *postgres) read(ctx context.Context, user string, f func(conn) error) error {
	c, err := d.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer d.release(c, user)
	return postgresError(cut(ctx, c, f(&postgresConn{ctx, c.Conn()})))
}

// write tries again where the database gave up on the transaction for
// another's sake, or went away before it was asked to commit.
func (d *postgres) write(ctx context.Context, user string, f func(conn) error) (err error) {
	for range 4 {
		if err = d.attempt(ctx, user, f); !again(err) {
			break
		}
	}
	return postgresError(err)
}

func (d *postgres) attempt(ctx context.Context, user string, f func(conn) error) error {
	c, err := d.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer d.release(c, user)
	// From here on a caller that leaves changes nothing: what is decided is done.
	ctx = context.WithoutCancel(ctx)
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return cut(ctx, c, err)
	}
	defer tx.Rollback(ctx) // no effect after the commit
	if err := f(&postgresConn{ctx, tx.Conn()}); err != nil {
		return cut(ctx, c, err)
	}
	if err = tx.Commit(ctx); err != nil && c.Conn().IsClosed() && state(err) == "" {
		return &loci.Error{Code: loci.Unavailable, Message: "The database went away during the commit: look whether the change is there before you repeat it.",
			Retry: time.Second, Err: err}
	}
	return err
}

// errCut tells that the connection was lost before anything was committed.
var errCut = errors.New("store: the connection to the database was lost")

func cut(ctx context.Context, c *pgxpool.Conn, err error) error {
	_, meant := errors.AsType[*loci.Error](err)
	if err == nil || meant || ctx.Err() != nil || !c.Conn().IsClosed() {
		return err
	}
	return errors.Join(errCut, err)
}

func (d *postgres) close() error {
	d.pool.Close()
	return nil
}

// again reports a lost connection, a serialization failure, a deadlock, or two
// who made the same thing at once: the second try finds what the other one made.
func again(err error) bool {
	if errors.Is(err, errCut) {
		return true
	}
	switch state(err) {
	case "40001", "40P01", "23505":
		return true
	}
	return false
}

func state(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func postgresError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*loci.Error](err); ok {
		return err
	}
	switch code := state(err); {
	case code == "23505":
		return taken(err)
	case code == "53100":
		return &loci.Error{Code: loci.StorageFull, Message: loci.StorageFull.Hint(), Err: err}
	case code == "57014", code == "55P03", strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57P"), again(err):
		return busy(err)
	case pgconn.SafeToRetry(err):
		return busy(err)
	case code == "23503":
		return gone(err)
	case corrupt(err):
		corruptReads.Add(1)
	}
	return err
}

// postgresConn is a connection for the length of one transaction.
type postgresConn struct {
	ctx context.Context
	c   *pgx.Conn
}

// numbered writes ?1 as $1. No text of ours has a question mark of another meaning.
var numbered = rewritten{how: func(q string) string { return strings.ReplaceAll(q, "?", "$") }}

func (c *postgresConn) exec(q string, args []any) (int64, error) {
	statements.Add(1)
	tag, err := c.c.Exec(c.ctx, numbered.text(q), args...)
	return tag.RowsAffected(), err
}

func (c *postgresConn) insert(q string, args []any) (rid int64, err error) {
	return rid, c.one(q+` RETURNING rid`, args, []any{&rid})
}

func (c *postgresConn) one(q string, args []any, dest []any) error {
	statements.Add(1)
	err := c.c.QueryRow(c.ctx, numbered.text(q), args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return errNoRow
	}
	return err
}

func (c *postgresConn) few(q string, args []any, f func(row) error) error { return c.each(q, args, f) }

func (c *postgresConn) each(q string, args []any, f func(row) error) error {
	statements.Add(1)
	rows, err := c.c.Query(c.ctx, numbered.text(q), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err == errEnough {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// serialize makes everybody who names the same thing wait for one another
// until the end of the transaction. SQLite has one writer anyway.
func (d *dialect) serialize(c conn, name string) error {
	if d != postgresDialect {
		return nil
	}
	_, err := c.exec(`SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))`, []any{name})
	if err != nil {
		return fmt.Errorf("store: serialize: %w", err)
	}
	return nil
}
