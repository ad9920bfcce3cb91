package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/loci-memory/loci"
)

// A Handle is an open database with the clock and the log of its process.
type Handle struct {
	DB
	Clock    loci.Clock
	Log      *slog.Logger
	OnFailed func(error) // called with each error of a transaction, such as ErrNoRows; may be nil
	OnChange func()      // called after the commit of a change: see Tx.NoteChange; may be nil
}

// Now returns the time of the clock.
func (h *Handle) Now() loci.Time { return loci.TimeOf(h.Clock()) }

// A Tx is a transaction without a scope: it reaches the rows of all tenants. Its callers check the scope before, or
// work for the service itself.
type Tx struct {
	Conn
	Ctx     context.Context
	Dialect *Dialect
	Now     loci.Time // one for the whole transaction
	User    string    // whose share of the connections it uses; empty for the service itself

	// ReadOnly is set in a ReadTx. Only such transactions fill caches: the rows that a write sees may be rolled back,
	// and their numbers used again.
	ReadOnly bool

	onCommit []func()
	changes  []change // those of NoteChange
}

func (h *Handle) begin(ctx context.Context, c Conn, user string, readOnly bool) *Tx {
	if user != "" {
		calls.Add(1)
	}
	return &Tx{Conn: c, Ctx: ctx, Dialect: h.Dialect(), Now: h.Now(), User: user, ReadOnly: readOnly}
}

// calls counts the transactions of users.
var calls atomic.Int64

// Calls returns the number of transactions of users that have begun in this process.
func Calls() int64 { return calls.Load() }

// ReadTx runs f, which must not write, on a connection of the user's share.
func (h *Handle) ReadTx(ctx context.Context, user string, f func(*Tx) error) error {
	return h.observe(h.Read(ctx, user, func(c Conn) error { return f(h.begin(ctx, c, user, true)) }))
}

// WriteTx runs f in one transaction and returns once that is durable. As f may run several times, only its statements
// and the functions of OnCommit may have effects.
func (h *Handle) WriteTx(ctx context.Context, user string, f func(*Tx) error) error {
	var t *Tx
	err := h.Write(ctx, user, func(c Conn) error {
		t = h.begin(ctx, c, user, false)
		if err := f(t); err != nil {
			return err
		}
		return t.storeChanges()
	})
	if err == nil || errors.Is(err, ErrUnknownOutcome) {
		if len(t.changes) > 0 && h.OnChange != nil {
			h.OnChange()
		}
		for _, done := range t.onCommit {
			done()
		}
	}
	return h.observe(err)
}

func (h *Handle) observe(err error) error {
	if err != nil && h.OnFailed != nil {
		h.OnFailed(err)
	}
	return err
}

// System runs f in a write transaction of the service itself. The reason is part of its errors; a test lists
// the reason of every call.
func System[Out any](ctx context.Context, h *Handle, reason string, f func(*Tx) (Out, error)) (out Out, err error) {
	err = h.WriteTx(ctx, "", func(t *Tx) error {
		out, err = f(t)
		return err
	})
	return out, withReason(reason, err)
}

// SystemRead is System for reads.
func SystemRead[Out any](ctx context.Context, h *Handle, reason string, f func(*Tx) (Out, error)) (out Out, err error) {
	err = h.ReadTx(ctx, "", func(t *Tx) error {
		out, err = f(t)
		return err
	})
	return out, withReason(reason, err)
}

func withReason(reason string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", reason, err)
}

// OnCommit registers a function that runs after the commit, or after one of unknown outcome. If the transaction is
// retried, the functions of the failed attempt are dropped.
func (t *Tx) OnCommit(f func()) { t.onCommit = append(t.onCommit, f) }

// Attempt runs f in a savepoint. An error that isRefusal accepts undoes f and is the refusal: the transaction goes on.
func (t *Tx) Attempt(isRefusal func(error) bool, f func() error) (refusal, err error) {
	registered, noted := len(t.onCommit), len(t.changes)
	if refusal, err = Attempt(t.Conn, isRefusal, f); refusal != nil {
		t.onCommit, t.changes = t.onCommit[:registered], t.changes[:noted]
	}
	return refusal, err
}

// Attempt is Tx.Attempt in the transaction of a connection.
func Attempt(c Conn, isRefusal func(error) bool, f func() error) (refusal, err error) {
	if _, err := c.Exec(`SAVEPOINT attempt`, nil); err != nil {
		return nil, err
	}
	if refusal = f(); refusal != nil {
		if !isRefusal(refusal) {
			return nil, refusal
		}
		if _, err := c.Exec(`ROLLBACK TO SAVEPOINT attempt`, nil); err != nil {
			return nil, err
		}
	}
	_, err = c.Exec(`RELEASE SAVEPOINT attempt`, nil)
	return refusal, err
}

// Exec runs a statement and returns the number of rows that it changed.
func (t *Tx) Exec(q string, args ...any) (int64, error) {
	n, err := t.Conn.Exec(q, args)
	return n, WrapQueryError(q, err)
}

// Row returns the only row of a query. Its Scan runs the query, and returns ErrNoRows without a row.
func (t *Tx) Row(q string, args ...any) Row {
	return rowFunc(func(dest ...any) error { return WrapQueryError(q, t.QueryRow(q, args, dest)) })
}

// AdvisoryLock locks a name until the end of the transaction. SQLite has one writer and needs no such lock.
func (t *Tx) AdvisoryLock(name string) error {
	if !t.Dialect.Postgres {
		return nil
	}
	if _, err := t.Exec(`SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))`, name); err != nil {
		return fmt.Errorf("sqldb: serialize: %w", err)
	}
	return nil
}

// LockClause ends a query that locks rows of tables until the commit. KEY SHARE admits updates of other columns than
// keys, such as those of counters by a flush. NO KEY UPDATE admits KEY SHARE. UPDATE admits neither
// (https://www.postgresql.org/docs/current/explicit-locking.html).
func (t *Tx) LockClause(how, tables string) string {
	if !t.Dialect.Postgres {
		return ""
	}
	return " FOR " + how + " OF " + tables
}

// UseOneSnapshot makes all statements of a write transaction read one snapshot. It must be the first statement.
func (t *Tx) UseOneSnapshot() error {
	if !t.Dialect.Postgres {
		return nil
	}
	_, err := t.Exec(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`)
	return err
}

// RepeatableRead runs f with one snapshot of the database for all its statements. A write transaction has one already
// if UseOneSnapshot began it.
func (t *Tx) RepeatableRead(f func() error) error {
	if !t.ReadOnly || !t.Dialect.Postgres {
		return f()
	}
	if _, err := t.Exec(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
		return err
	}
	defer t.Exec(`ROLLBACK`) // if it fails, the pool closes the connection
	return f()
}

// ReadWithoutTimeout runs f in one snapshot, without the statement timeout of PostgreSQL: a large table takes longer.
func (t *Tx) ReadWithoutTimeout(f func() error) error {
	return t.RepeatableRead(func() error {
		if t.Dialect.Postgres {
			if _, err := t.Exec(`SET LOCAL statement_timeout = 0`); err != nil {
				return err
			}
		}
		return f()
	})
}
