package store

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// A Tx is a transaction of an actor. Its scope is the workspaces of the actor that the credential was granted. Each
// statement joins the scope, or uses only rows that such a statement returned or that belong to the actor's user.
type Tx struct {
	conn  *sqldb.Tx // for statements without the scope, on rows that a query with the scope has returned
	store *Store
	actor *identity.Actor

	authors map[loci.ID]string // by id, for CollectAuthors; nil collects none

	idempotencyChecked bool      // a stored response was looked up
	responseRecords    []loci.ID // ids, for LinkResponse
	computesOutside    bool      // the transaction can run again: see Compute
	computations       []*computation
}

// Now returns the time of the transaction, which is the same for all of its statements.
func (t *Tx) Now() loci.Time { return t.conn.Now }

// Read runs f, which must not write, for an actor. With an Idempotency-Key it stores the response as Write does.
func Read[Out any](ctx context.Context, s *Store, actor *identity.Actor,
	f func(*Tx) (Out, error)) (out Out, err error) {
	if actor.Idempotency != nil {
		return Write(ctx, s, actor, func(t *Tx) (out Out, err error) {
			if err = t.conn.UseOneSnapshot(); err != nil {
				return out, err
			}
			if out, err = f(t); err == nil {
				err = t.checkIdempotency()
			}
			if err == nil {
				t.LinkResponse(ReadRecord)
				err = t.limitResponses()
			}
			return out, err
		})
	}
	err = s.db.ReadTx(ctx, string(actor.UserID), func(conn *sqldb.Tx) error {
		out, err = f(&Tx{conn: conn, store: s, actor: actor})
		return err
	})
	return out, err
}

// Write runs f for an actor in one transaction, and returns when it is durable. It may run f several times (see
// Compute), so only the result of f and Emit may have effects outside. With an Idempotency-Key it stores the response
// in the same transaction, or returns the stored response of an earlier call.
func Write[Out any](ctx context.Context, s *Store, actor *identity.Actor,
	f func(*Tx) (Out, error)) (out Out, err error) {
	for computations := []*computation(nil); ; {
		err = s.db.WriteTx(ctx, string(actor.UserID), func(conn *sqldb.Tx) error {
			t := &Tx{conn: conn, store: s, actor: actor, computesOutside: true, computations: computations}
			made, err := f(t)
			if r, ok := errors.AsType[*storedResponse](err); ok {
				out = *new(Out) // an earlier attempt may have set fields that the response omits
				return r.decode(&out)
			}
			if err != nil {
				return err
			}
			out = made
			return t.storeResponse(out)
		})
		c, ok := errors.AsType[*computation](err)
		if !ok {
			break
		}
		c.value = c.run()
		computations = append(computations, c)
	}
	if err != nil {
		return *new(Out), err
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
	t := &Tx{conn: conn, store: s, actor: &identity.Actor{}}
	return &SystemTx{t.accounts(), t}
}

// A SystemTx is a transaction of the service itself, without a scope.
type SystemTx struct {
	accountdb.Tx
	t *Tx
}

// membershipJoin joins rows with a column workspace to the workspaces w in scope and the actor's memberships m. ?1 is
// the actor.
func (t *Tx) membershipJoin(rows string) string {
	return ` JOIN members m ON m.workspace = ` + rows + ` AND m.user_id = ?1 ` + t.grantedJoin()
}

// membershipSubquery is a table of the workspaces w in scope and the memberships m of the actor ?1 in them.
func (t *Tx) membershipSubquery() string {
	return ` (SELECT workspace, role FROM members WHERE user_id = ?1) AS m ` + t.grantedJoin()
}

// grantedList stands for the ids of the granted workspaces until withScope numbers their placeholders.
const grantedList = `/* granted */`

func (t *Tx) grantedJoin() string {
	join := ` JOIN workspaces w ON w.row_id = m.workspace `
	if t.actor.GrantedWorkspaces == nil {
		return join
	}
	return join + ` AND w.id IN (` + grantedList + `) `
}

// withScope adds the arguments of membershipJoin to a query.
func (t *Tx) withScope(q string, args ...any) (string, []any) {
	args = append([]any{t.actor.UserID}, args...)
	if t.actor.GrantedWorkspaces == nil {
		return q, args
	}
	list := []byte(`''`) // no workspace has this id
	for _, id := range t.actor.GrantedWorkspaces {
		args = append(args, id)
		list = strconv.AppendInt(append(list, `, ?`...), int64(len(args)), 10)
	}
	return strings.ReplaceAll(q, grantedList, string(list)), args
}

// row returns the only row of a query with the scope. Its Scan runs the query.
func (t *Tx) row(q string, args ...any) sqldb.Row {
	q, args = t.withScope(q, args...)
	return t.conn.Row(q, args...)
}

func (t *Tx) queryRow(q string, args []any, dest ...any) error {
	return t.row(q, args...).Scan(dest...)
}

func (t *Tx) queryFew(q string, args []any, f func(sqldb.Row) error) error {
	q, args = t.withScope(q, args...)
	return sqldb.WrapQueryError(q, t.conn.QueryFew(q, args, f))
}

func (t *Tx) query(q string, args []any, f func(sqldb.Row) error) error {
	q, args = t.withScope(q, args...)
	return sqldb.WrapQueryError(q, t.conn.Query(q, args, f))
}

// exec runs a statement without the scope, on rows that a query with the scope has returned.
func (t *Tx) exec(q string, args ...any) (int64, error) { return t.conn.Exec(q, args...) }
