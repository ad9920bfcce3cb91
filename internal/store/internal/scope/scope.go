// Package scope runs transactions in the scope of an actor, and opens the workspaces and atlases in it.
//
// Only packages of the store can import it. A service holds a Tx, which reaches no statement: it passes it to functions
// of these packages, and gets handles, whose openings check membership, role, status and Idempotency-Key.
package scope

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
)

// A Base is what the transactions on a database share.
type Base struct {
	DB       *sqldb.Handle
	Caches   *cache.Budget
	Index    *indexdb.Index
	Embedder *embeddb.Worker
	Vectors  *embeddb.Vectors
	Jobs     *jobdb.Queue
	Analyses *limit.Semaphore[loci.ID] // the analyses of long texts at once, by user
	Plans    identity.Plans
	Changes  Topic[accountdb.Change] // of credentials
	Messages Topic[[]loci.ID]        // the agents that a message has reached
	Records  Topic[struct{}]         // a commit has changed records: see sqldb.Tx.NoteChange
}

// Invalidate drops the cached snapshot and binary codes of a workspace. Segments and pages never change, and stay.
func (b *Base) Invalidate(workspace int64) {
	b.Index.Invalidate(workspace)
	b.Vectors.Invalidate(workspace)
}

// A Scope is a transaction of an actor. It covers the workspaces of the actor that the credential was granted. Each
// statement joins the scope, or uses only rows that such a statement returned or that belong to the actor's user.
type Scope struct {
	Tx
	*Base
	Conn    *sqldb.Tx // for statements without the scope, on rows that a query with the scope has returned
	Actor   *identity.Actor
	Authors map[loci.ID]string // by id: lists write the authors of memories to it; nil collects none

	idempotencyChecked bool      // a stored response was looked up
	responseRecords    []loci.ID // ids, for LinkResponse
	maxInTx            int       // the size of a computation that stays in the transaction: see Compute
	computations       []*Computation
	moreComputations   int // see ExpectComputations
}

// A Tx is a Scope in the hands of a service.
type Tx struct{ scope *Scope }

// A Holder holds a scope: a Tx, a Workspace or an Atlas.
type Holder interface{ held() *Scope }

func (t Tx) held() *Scope { return t.scope }

// Of returns the scope of a holder.
func Of(h Holder) *Scope { return h.held() }

// A System holds a transaction of the service itself, without an actor. It is no Holder.
type System struct{ scope *Scope }

// A SystemHolder holds a System.
type SystemHolder interface{ heldBySystem() *Scope }

func (s System) heldBySystem() *Scope { return s.scope }

// OfSystem returns the transaction of a system.
func OfSystem(h SystemHolder) *Scope { return h.heldBySystem() }

// New returns the scope of an actor in a transaction.
func New(b *Base, conn *sqldb.Tx, actor *identity.Actor) *Scope {
	s := &Scope{Base: b, Conn: conn, Actor: actor}
	s.Tx.scope = s
	return s
}

// NewSystem returns a transaction without an actor.
func NewSystem(b *Base, conn *sqldb.Tx) System { return System{New(b, conn, &identity.Actor{})} }

// Now returns the time of the transaction, which is the same for all of its statements.
func (t Tx) Now() loci.Time { return t.scope.Conn.Now }

// AddJob adds a background job to the transaction. Its subject is often an id, and must hold no secret.
func (t Tx) AddJob(kind string, subject loci.ID) error {
	return t.scope.Jobs.Add(t.scope.Conn, kind, string(subject))
}

// FinishJob ends a job in the transaction with its effect: see jobdb.Queue.Finish.
func (t Tx) FinishJob(j jobdb.Job) error { return t.scope.Jobs.Finish(t.scope.Conn, j) }

// Accounts returns the accounts in the transaction.
func (s *Scope) Accounts() accountdb.Tx { return accountdb.In(s.Conn, s.Plans, s.PublishAtCommit) }

// PublishAtCommit publishes a change of credentials after the commit.
func (s *Scope) PublishAtCommit(c accountdb.Change) { s.Conn.OnCommit(func() { s.Changes.Publish(c) }) }

// Read runs f, which must not write, for an actor. With an Idempotency-Key it stores the response as Write does.
func Read[Out any](ctx context.Context, b *Base, actor *identity.Actor,
	f func(*Scope) (Out, error)) (out Out, err error) {
	if actor.Idempotency != nil {
		return Write(ctx, b, actor, func(s *Scope) (out Out, err error) {
			if err = s.Conn.UseOneSnapshot(); err != nil {
				return out, err
			}
			if out, err = f(s); err == nil {
				err = s.CheckIdempotency()
			}
			if err == nil {
				err = s.limitResponses()
			}
			return out, err
		})
	}
	err = withComputations(ctx, b, actor, func(computations []*Computation) error {
		return b.DB.ReadTx(ctx, string(actor.UserID), func(conn *sqldb.Tx) error {
			s := New(b, conn, actor)
			s.maxInTx, s.computations = analysis.LongText, computations
			out, err = f(s)
			return err
		})
	})
	return out, err
}

// Write runs f for an actor in one transaction, and returns when it is durable. It may run f several times (see
// Compute), so only the result of f and Emit may have effects outside. With an Idempotency-Key it stores the response
// in the same transaction, or returns the stored response of an earlier call.
func Write[Out any](ctx context.Context, b *Base, actor *identity.Actor,
	f func(*Scope) (Out, error)) (out Out, err error) {
	err = withComputations(ctx, b, actor, func(computations []*Computation) error {
		return b.DB.WriteTx(ctx, string(actor.UserID), func(conn *sqldb.Tx) error {
			s := New(b, conn, actor)
			s.maxInTx, s.computations = maxBytesInWrite, computations
			made, err := f(s)
			if r, ok := errors.AsType[*storedResponse](err); ok {
				out = *new(Out) // an earlier attempt may have set fields that the response omits
				if err := r.decode(&out); err != nil {
					return err
				}
				return s.restoreContent(&out)
			}
			if err != nil {
				return err
			}
			out = made
			return s.storeResponse(out)
		})
	})
	if err != nil {
		return *new(Out), err
	}
	return out, nil
}

// MembershipJoin joins rows with a column workspace to the workspaces w in scope and the actor's memberships m. ?1 is
// the actor.
func (s *Scope) MembershipJoin(rows string) string {
	return ` JOIN members m ON m.workspace = ` + rows + ` AND m.user_id = ?1 ` + s.grantedJoin()
}

// MembershipSubquery is a table of the workspaces w in scope and the memberships m of the actor ?1 in them.
func (s *Scope) MembershipSubquery() string {
	return ` (SELECT workspace, role FROM members WHERE user_id = ?1) AS m ` + s.grantedJoin()
}

// grantedList stands for the ids of the granted workspaces until addScope numbers their placeholders.
const grantedList = `/* granted */`

func (s *Scope) grantedJoin() string {
	join := ` JOIN workspaces w ON w.row_id = m.workspace `
	if s.Actor.GrantedWorkspaces == nil {
		return join
	}
	return join + ` AND w.id IN (` + grantedList + `) `
}

// addScope adds the arguments of MembershipJoin to a query.
func (s *Scope) addScope(q string, args ...any) (string, []any) {
	args = append([]any{s.Actor.UserID}, args...)
	if s.Actor.GrantedWorkspaces == nil {
		return q, args
	}
	list := []byte(`''`) // no workspace has this id
	for _, id := range s.Actor.GrantedWorkspaces {
		args = append(args, id)
		list = strconv.AppendInt(append(list, `, ?`...), int64(len(args)), 10)
	}
	return strings.ReplaceAll(q, grantedList, string(list)), args
}

// Row returns the only row of a query with the scope. Its Scan runs the query.
func (s *Scope) Row(q string, args ...any) sqldb.Row {
	q, args = s.addScope(q, args...)
	return s.Conn.Row(q, args...)
}

// QueryRow scans the only row of a query with the scope.
func (s *Scope) QueryRow(q string, args []any, dest ...any) error {
	return s.Row(q, args...).Scan(dest...)
}

// QueryFew calls f with the few rows of a query with the scope.
func (s *Scope) QueryFew(q string, args []any, f func(sqldb.Row) error) error {
	q, args = s.addScope(q, args...)
	return sqldb.WrapQueryError(q, s.Conn.QueryFew(q, args, f))
}

// Query calls f with the rows of a query with the scope.
func (s *Scope) Query(q string, args []any, f func(sqldb.Row) error) error {
	q, args = s.addScope(q, args...)
	return sqldb.WrapQueryError(q, s.Conn.Query(q, args, f))
}

// Exec runs a statement without the scope, on rows that a query with the scope has returned.
func (s *Scope) Exec(q string, args ...any) (int64, error) { return s.Conn.Exec(q, args...) }
