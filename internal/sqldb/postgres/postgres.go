package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/sqldb"
)

var dialect = &sqldb.Dialect{
	Name:     "postgres",
	Postgres: true,
	InList:   `%[1]s = ANY (` + bigintArray("%[2]d") + `)`,
	// The planner estimates that a CASE matches half of the rows. So it reads in order until the page is full,
	// instead of sorting all matches.
	ContainsAll: `CASE WHEN CAST(%[1]s AS jsonb) @> CAST(?%[2]d AS jsonb) THEN TRUE END`,
	StringRows:  `jsonb_array_elements_text(CAST(?%[1]d AS jsonb)) AS list (value)`,
	PairRows: `(SELECT pair ->> 0 AS name, CAST(pair ->> 1 AS BIGINT) AS number
		FROM jsonb_array_elements(CAST(?%[1]d AS jsonb)) AS pairs (pair)) AS list`,
	JoinIDs:    `unnest(` + bigintArray("%[1]d") + `) AS picked (value) JOIN %[2]s ON %[3]s = picked.value`,
	GroupLists: `COALESCE(json_agg(json_build_array(%s)), '[]')`,
	LogVersion: `count(*)`, // a lower seq may be committed after a higher one
}

// bigintArray converts a JSON list to an array, whose length the planner knows.
func bigintArray(n string) string {
	return `CAST(translate(CAST(?` + n + ` AS TEXT), '[]', '{}') AS BIGINT[])`
}

// database is a database on a PostgreSQL server.
type database struct {
	pool        *pgxpool.Pool
	identity    *identity
	busyTimeout time.Duration
	slots       *limit.Semaphore[string] // one slot for each connection in use
	waitCount   atomic.Int64             // callers that waited for a slot
}

// parsePoolConfig returns the settings of the connection pool for url.
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

// Open opens the database at url, a postgres:// address.
func Open(ctx context.Context, url string, o sqldb.Options) (sqldb.DB, error) {
	config, err := parsePoolConfig(url)
	if err != nil {
		return nil, err
	}
	is := newIdentity(o.Identity)
	if err := probeServer(ctx, config.ConnConfig, url, is, o.Log); err != nil {
		return nil, err
	}
	if err := migrate(ctx, config, o); err != nil {
		return nil, err
	}
	config.AfterConnect = is.check
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &database{pool: pool, identity: is, busyTimeout: o.TimeoutOrDefault(),
		slots: limit.NewSlots[string](int(config.MaxConns))}, nil
}

// Dialect returns the dialect of PostgreSQL.
func (d *database) Dialect() *sqldb.Dialect { return dialect }

// refusedSlotDelay is how long the slot of a refused connection stays in use.
const refusedSlotDelay = time.Second

var errPoolExhausted = errors.New("sqldb: every connection is in use")

// acquire returns a connection, or CodeUnavailable after the busy timeout. The server may refuse another connection, as
// at the connection limit of a role. Then the caller waits for one in use. The slot of the refused connection stays in
// use for refusedSlotDelay, so that few callers ask the server again.
func (d *database) acquire(ctx context.Context, user string) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, d.busyTimeout)
	defer cancel()
	for {
		if err := d.acquireSlot(waiting, user); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, sqldb.NewBusyError(errPoolExhausted)
		}
		c, err := d.pool.Acquire(waiting)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			d.slots.Release(user, 1)
			return nil, err
		case errors.Is(err, ErrOtherDatabase):
			d.slots.Release(user, 1)
			return nil, d.refuse(err)
		case waiting.Err() != nil || d.pool.Stat().AcquiredConns() == 0:
			d.slots.Release(user, 1)
			return nil, sqldb.NewBusyError(err)
		}
		time.AfterFunc(refusedSlotDelay, func() { d.slots.Release(user, 1) })
	}
}

// acquireSlot waits for a free slot.
func (d *database) acquireSlot(ctx context.Context, user string) error {
	w := d.slots.Request(0, user, 1)
	if w == nil {
		return nil
	}
	d.waitCount.Add(1)
	select {
	case <-w.Granted:
		return nil
	case <-ctx.Done():
		d.slots.Cancel(w)
		return ctx.Err()
	}
}

// release returns a connection and its slot.
func (d *database) release(c *pgxpool.Conn, user string) {
	c.Release()
	d.slots.Release(user, 1)
}

// Read begins no transaction: at READ COMMITTED each statement has its own snapshot anyway.
func (d *database) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	c, err := d.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer d.release(c, user)
	return mapError(markConnectionLost(ctx, c, f(&conn{ctx, c.Conn()})))
}

// Write runs f at most four times: see isRetryable. Random pauses keep two transactions from another deadlock.
func (d *database) Write(ctx context.Context, user string, f func(sqldb.Conn) error) (err error) {
	for attempt := range time.Duration(4) {
		time.Sleep(attempt * rand.N(20*time.Millisecond))
		if err = d.tryWrite(ctx, user, f); !isRetryable(err) {
			break
		}
		if errors.Is(err, errConnectionLost) {
			d.pool.Reset() // after a restart of the database all connections are lost: the next attempt gets a new one
		}
	}
	return mapError(err)
}

func (d *database) tryWrite(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	c, err := d.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer d.release(c, user)
	// A caller that leaves does not interrupt a transaction that has begun.
	ctx = context.WithoutCancel(ctx)
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return markConnectionLost(ctx, c, err)
	}
	defer tx.Rollback(ctx) // no effect after the commit
	if err := f(&conn{ctx, tx.Conn()}); err != nil {
		return markConnectionLost(ctx, c, err)
	}
	err = tx.Commit(ctx)
	// The server says why it commits nothing. A pooler reports a lost server by a code of class 08.
	if code := sqlState(err); err != nil && c.Conn().IsClosed() && (code == "" || strings.HasPrefix(code, "08")) {
		return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: time.Second,
			Message: "The connection to the database was lost during the commit: repeat the call with its " +
				"Idempotency-Key, or without one check before whether the change exists.",
			Err: errors.Join(sqldb.ErrUnknownOutcome, err)}
	}
	return err
}

// errConnectionLost reports a connection that was lost before the commit.
var errConnectionLost = errors.New("sqldb: the connection to the database was lost")

func markConnectionLost(ctx context.Context, c *pgxpool.Conn, err error) error {
	_, mapped := errors.AsType[*loci.Error](err)
	if err == nil || mapped || ctx.Err() != nil || !c.Conn().IsClosed() {
		return err
	}
	return errors.Join(errConnectionLost, err)
}

// Close waits for the connections in use and closes all.
func (d *database) Close() error {
	d.pool.Close()
	return nil
}

// isRetryable reports a lost connection, a serialization failure, a deadlock, or a unique violation. After a
// violation the second attempt finds the row of the other transaction.
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

// mapError returns the error of the domain for an error of PostgreSQL.
func mapError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*loci.Error](err); ok {
		return err
	}
	switch code := sqlState(err); {
	case code == "23505":
		return sqldb.NewConflictError(err)
	case code == "53100":
		return sqldb.NewStorageFullError(err)
	case code == "57014", code == "55P03", code == "25006", strings.HasPrefix(code, "08"),
		strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57P"), isRetryable(err):
		return sqldb.NewBusyError(err)
	case pgconn.SafeToRetry(err):
		return sqldb.NewBusyError(err)
	case code == "23503":
		return sqldb.NewParentError(err)
	case isCorrupt(err):
		sqldb.CountCorruption()
	}
	return err
}

// isCorrupt reports damaged data or a damaged index.
func isCorrupt(err error) bool {
	code := sqlState(err)
	return code == "XX001" || code == "XX002"
}

// markUnreadable marks the error of damaged data or a damaged index.
func markUnreadable(err error) error {
	if isCorrupt(err) {
		return sqldb.NewUnreadableError(err)
	}
	return err
}

// conn implements sqldb.Conn.
type conn struct {
	ctx context.Context
	c   *pgx.Conn
}

// maxRewrittenQueries limits a rewriter: a query with a list has one text for each length of the list.
const maxRewrittenQueries = 1000

// A rewriter caches queries with checksums and with the placeholders of PostgreSQL, $1 in place of ?1. The SQL of the
// store uses the question mark for nothing else.
type rewriter struct {
	mu    sync.RWMutex
	cache map[string]*sqldb.Statement
}

var rewritten rewriter

func (r *rewriter) rewrite(q string) (s *sqldb.Statement, err error) {
	r.mu.RLock()
	s, ok := r.cache[q]
	r.mu.RUnlock()
	if ok {
		return s, nil
	}
	if s, err = sqldb.Rewrite(q, dialect); err != nil {
		return nil, err
	}
	s.Text = strings.ReplaceAll(s.Text, "?", "$")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil || len(r.cache) >= maxRewrittenQueries {
		r.cache = map[string]*sqldb.Statement{}
	}
	r.cache[q] = s
	return s, nil
}

// prepare returns the text and the arguments of a statement, after it has cleared the references to what that deletes.
func (c *conn) prepare(q string, args []any) (text string, all []any, err error) {
	sqldb.CountStatement()
	s, err := rewritten.rewrite(q)
	if err != nil {
		return "", nil, err
	}
	for _, before := range s.Before {
		if _, err := c.Exec(before, args); err != nil {
			return "", nil, err
		}
	}
	all = args
	err = s.AddSums(dialect, func(i int) any { return args[i] }, func(sum int64) {
		all = append(all[:len(all):len(all)], sum) // those of the caller stay
	})
	return s.Text, all, err
}

func (c *conn) Exec(q string, args []any) (int64, error) {
	text, args, err := c.prepare(q, args)
	if err != nil {
		return 0, err
	}
	tag, err := c.c.Exec(c.ctx, text, args...)
	return tag.RowsAffected(), markUnreadable(err)
}

func (c *conn) Insert(q string, args []any) (rowID int64, err error) {
	return rowID, c.QueryRow(q+` RETURNING row_id`, args, []any{&rowID})
}

func (c *conn) QueryRow(q string, args []any, dest []any) error {
	text, args, err := c.prepare(q, args)
	if err != nil {
		return err
	}
	err = c.c.QueryRow(c.ctx, text, args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return sqldb.ErrNoRows
	}
	return markUnreadable(err)
}

func (c *conn) QueryFew(q string, args []any, f func(sqldb.Row) error) error {
	return c.Query(q, args, f)
}

func (c *conn) Query(q string, args []any, f func(sqldb.Row) error) error {
	text, args, err := c.prepare(q, args)
	if err != nil {
		return err
	}
	rows, err := c.c.Query(c.ctx, text, args...)
	if err != nil {
		return markUnreadable(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err == sqldb.ErrStop {
			return nil
		} else if err != nil {
			return err
		}
	}
	return markUnreadable(rows.Err())
}

// Stats reads the size of the database with one query.
func (d *database) Stats(ctx context.Context) sqldb.Stats {
	s := sqldb.Stats{Connections: int64(d.slots.Total()), InUse: int64(d.slots.InUse()), WaitCount: d.waitCount.Load(),
		QueuedWrites: -1, DatabaseBytes: -1, WALBytes: -1, DiskFreeBytes: -1}
	_ = d.Read(ctx, "", func(c sqldb.Conn) error { // the size is then unknown
		return c.QueryRow(`SELECT pg_database_size(current_database())`, nil, []any{&s.DatabaseBytes})
	})
	return s
}

// Connections returns the limit of connections to the database at url.
func Connections(url string) (int, error) {
	config, err := parsePoolConfig(url)
	if err != nil {
		return 0, err
	}
	return int(config.MaxConns), nil
}
