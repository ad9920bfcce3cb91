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
	conn  *sqldb.Tx // without the scope: for statements whose rows were reached by one with it
	store *Store
	actor *identity.Actor

	idempotencyChecked bool     // the idempotency record was looked up
	answerRecords      []string // ids of the records that the answer shows
	computesOutside    bool     // the transaction can run again: see Compute
	computations       []*computation
}

// Now returns the time of the transaction: one for all that it does.
func (t *Tx) Now() loci.Time { return t.conn.Now }

// Actor returns the actor.
func (t *Tx) Actor() *identity.Actor { return t.actor }

// Emit passes e to the subscribers of the store once the transaction has committed.
func (t *Tx) Emit(e Event) { t.conn.OnCommit(func() { t.store.publish(e) }) }

// Read runs f for an actor, without changing anything.
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
	err = s.db.ReadTx(ctx, actor.UserID, func(conn *sqldb.Tx) error {
		out, err = f(&Tx{conn: conn, store: s, actor: actor})
		return err
	})
	return out, err
}

// Write runs f for an actor in one transaction, and returns when it is durable. f may run several times (see
// Compute): nothing but the result of its last run, and Emit, may leave it. With an Idempotency-Key the answer is
// stored in the same transaction, or the answer of an earlier call is returned instead.
func Write[Out any](ctx context.Context, s *Store, actor *identity.Actor, f func(*Tx) (Out, error)) (out Out,
	err error) {
	for computations := []*computation(nil); ; {
		err = s.db.WriteTx(ctx, actor.UserID, func(conn *sqldb.Tx) error {
			t := &Tx{conn: conn, store: s, actor: actor, computesOutside: true, computations: computations}
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
		c, ok := errors.AsType[*computation](err)
		if !ok {
			break
		}
		c.value = c.run()
		computations = append(computations, c)
	}
	if err != nil {
		var none Out
		return none, err
	}
	return out, nil
}

// System is sqldb.System with a SystemTx.
func System[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (Out, error) {
	return sqldb.System(ctx, s.db, reason, func(conn *sqldb.Tx) (Out, error) { return f(s.system(conn)) })
}

// SystemRead is sqldb.SystemRead with a SystemTx.
func SystemRead[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (Out, error) {
	return sqldb.SystemRead(ctx, s.db, reason, func(conn *sqldb.Tx) (Out, error) { return f(s.system(conn)) })
}

func (s *Store) system(conn *sqldb.Tx) *SystemTx {
	return &SystemTx{&Tx{conn: conn, store: s, actor: &identity.Actor{}}}
}

// A SystemTx is a transaction that no actor asked for.
type SystemTx struct{ t *Tx }

// Now returns the time of the transaction.
func (t *SystemTx) Now() loci.Time { return t.t.conn.Now }

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
func (t *Tx) exec(q string, args ...any) (int64, error) { return t.conn.Exec(q, args...) }
