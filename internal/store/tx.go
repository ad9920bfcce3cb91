package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Tx is a transaction on behalf of one actor. It sees the workspaces that
// the actor belongs to, and that its credential was granted, and nothing
// else: every query of its methods is joined to them in the statement itself.
type Tx struct {
	ctx   context.Context
	conn  sqldb.Conn
	store *Store
	actor *identity.Actor
	now   loci.Time

	readOnly           bool // outside of a transaction that writes
	idempotencyChecked bool // the idempotency record was looked up
	replayResource     string
	events             []Event
	updatedWorkspaces  []int64 // workspaces whose keyword index has new rows
	embeddingQueued    bool    // a memory waits for vectors
}

// Now returns the time of the transaction: one for all that it does.
func (t *Tx) Now() loci.Time { return t.now }

// Actor returns the actor.
func (t *Tx) Actor() *identity.Actor { return t.actor }

// Emit tells the store's hearers of e once the transaction has committed.
func (t *Tx) Emit(e Event) { t.events = append(t.events, e) }

func (s *Store) begin(ctx context.Context, c sqldb.Conn, actor *identity.Actor) *Tx {
	return &Tx{ctx: ctx, conn: c, store: s, actor: actor, now: s.Now()}
}

// Read runs f on behalf of who, without changing anything.
func Read[Out any](ctx context.Context, s *Store, actor *identity.Actor, f func(*Tx) (Out, error)) (out Out,
	err error) {
	if actor.Idempotency != nil {
		return Write(ctx, s, actor, func(t *Tx) (Out, error) {
			out, err := f(t)
			if err != nil {
				return out, err
			}
			return out, t.checkIdempotency()
		})
	}
	err = s.db.Read(ctx, actor.UserID, func(c sqldb.Conn) error {
		t := s.begin(ctx, c, actor)
		t.readOnly = true
		out, err = f(t)
		return err
	})
	countCorruptIndex(err)
	return out, err
}

// Write runs f on behalf of who in one transaction, and returns when it is
// durable. f may run twice: nothing but what it does to the transaction and
// Emit may leave it. With an Idempotency-Key the answer is stored in the same
// transaction, or was there already and is returned instead.
func Write[Out any](ctx context.Context, s *Store, actor *identity.Actor, f func(*Tx) (Out, error)) (out Out,
	err error) {
	var t *Tx
	err = s.db.Write(ctx, actor.UserID, func(c sqldb.Conn) error {
		t = s.begin(ctx, c, actor)
		made, err := f(t)
		if r, ok := errors.AsType[*replay](err); ok {
			return r.decode(&out)
		}
		if err != nil {
			return err
		}
		out = made
		return t.storeReplay(out)
	})
	if err != nil {
		countCorruptIndex(err)
		var none Out
		return none, err
	}
	s.publish(t)
	return out, nil
}

// publish tells what a committed transaction did.
func (s *Store) publish(t *Tx) {
	for _, e := range t.events {
		for _, hear := range s.subscribers {
			hear(e)
		}
	}
	s.compactor.noteUpdates(t.updatedWorkspaces)
	if t.embeddingQueued {
		s.embedder.notifyWritten()
	}
}

// System runs f without an actor, for the jobs of the service itself. The
// reason stands in the log of whoever asks why; a test lists every one.
func System[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (out Out,
	err error) {
	var t *Tx
	err = s.db.Write(ctx, "", func(c sqldb.Conn) error {
		t = s.begin(ctx, c, &identity.Actor{})
		out, err = f(&SystemTx{t})
		return err
	})
	if err != nil {
		countCorruptIndex(err)
		return out, fmt.Errorf("%s: %w", reason, err)
	}
	s.publish(t)
	return out, nil
}

// SystemRead is System for who changes nothing.
func SystemRead[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (out Out,
	err error) {
	err = s.db.Read(ctx, "", func(c sqldb.Conn) error {
		out, err = f(&SystemTx{s.begin(ctx, c, &identity.Actor{})})
		return err
	})
	if err != nil {
		countCorruptIndex(err)
		return out, fmt.Errorf("%s: %w", reason, err)
	}
	return out, nil
}

// A SystemTx is a transaction that no actor asked for.
type SystemTx struct{ t *Tx }

// Now returns the time of the transaction.
func (t *SystemTx) Now() loci.Time { return t.t.now }

// Emit tells the store's hearers of e once the transaction has committed.
func (t *SystemTx) Emit(e Event) { t.t.Emit(e) }

// membershipJoin joins rows of %[1]s, which have a column workspace, to the memberships
// of ?1, the actor, as m, and to the workspace as w.
func (t *Tx) membershipJoin(rows string) string {
	return ` JOIN members m ON m.workspace = ` + rows + ` AND m.user_id = ?1 ` + t.grantedJoin()
}

// membershipSubquery are the workspaces of ?1, the actor, as w, and the memberships in them, as m.
func (t *Tx) membershipSubquery() string {
	return ` (SELECT workspace, role FROM members WHERE user_id = ?1) AS m ` + t.grantedJoin()
}

func (t *Tx) grantedJoin() string {
	join := ` JOIN workspaces w ON w.row_id = m.workspace `
	if t.actor.GrantedWorkspaces == nil {
		return join
	}
	return join + ` AND w.id IN (SELECT value FROM granted) `
}

// withScope begins a query that uses mine.
func (t *Tx) withScope(q string, args ...any) (string, []any) {
	args = append([]any{t.actor.UserID}, args...)
	if t.actor.GrantedWorkspaces == nil {
		return q, args
	}
	values := make([]string, len(t.actor.GrantedWorkspaces))
	for i, id := range t.actor.GrantedWorkspaces {
		args = append(args, id)
		values[i] = fmt.Sprintf("(?%d)", len(args))
	}
	if len(values) == 0 {
		values = []string{"('')"}
	}
	return `WITH granted (value) AS (VALUES ` + strings.Join(values, ", ") + `) ` + q, args
}

func (t *Tx) queryRow(q string, args []any, dest ...any) error {
	q, args = t.withScope(q, args...)
	return sqldb.WrapQueryError(q, t.conn.QueryRow(q, args, dest))
}

func (t *Tx) queryFew(q string, args []any, f func(sqldb.Row) error) error {
	q, args = t.withScope(q, args...)
	return sqldb.WrapQueryError(q, t.conn.QueryFew(q, args, f))
}

func (t *Tx) query(q string, args []any, f func(sqldb.Row) error) error {
	q, args = t.withScope(q, args...)
	return sqldb.WrapQueryError(q, t.conn.Query(q, args, f))
}

// exec runs a statement that is not scoped: its rows were reached by one that was.
func (t *Tx) exec(q string, args ...any) (int64, error) {
	n, err := t.conn.Exec(q, args)
	return n, sqldb.WrapQueryError(q, err)
}

// repeatableRead runs f so that all its statements see one state of the database,
// which those of a reader of PostgreSQL otherwise do not.
func (t *Tx) repeatableRead(f func() error) error {
	if !t.readOnly || !t.store.db.Dialect().RowLocks {
		return f()
	}
	if _, err := t.exec(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
		return err
	}
	defer t.exec(`ROLLBACK`) // where it fails, the pool closes the connection
	return f()
}

// lockClause ends a query whose rows must not change until the commit: for KEY
// SHARE beside other such readers, for UPDATE exclusively. A counter update,
// such as that of a flush, does not conflict with the former.
func (t *Tx) lockClause(how, tables string) string {
	if !t.store.db.Dialect().RowLocks {
		return ""
	}
	return " FOR " + how + " OF " + tables
}
