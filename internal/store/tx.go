package store

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// A Tx is a transaction of an actor. It reaches the workspaces of the actor that the credential was granted. Functions
// of the packages below take it for records of other kinds.
type Tx struct {
	scopeTx
	in    *scope.Scope
	store *Store
}

// These are embedded by their names here, so that no other package can replace them.
type (
	scopeTx     = scope.Tx
	scopeSystem = scope.System
)

// A Purpose is the use of a handle, which its opening checks.
type Purpose = scope.Purpose

// The purposes, for callers that cannot import package scope.
const (
	ToChange   = scope.ToChange
	ToContinue = scope.ToContinue
	ToMove     = scope.ToMove
	ToReview   = scope.ToReview
	InAnyState = scope.InAnyState
)

func (s *Store) tx(in *scope.Scope) *Tx { return &Tx{in.Tx, in, s} }

// Read is scope.Read with a Tx.
func Read[Out any](ctx context.Context, s *Store, actor *identity.Actor, f func(*Tx) (Out, error)) (Out, error) {
	return scope.Read(ctx, s.base, actor, func(in *scope.Scope) (Out, error) { return f(s.tx(in)) })
}

// Write is scope.Write with a Tx.
func Write[Out any](ctx context.Context, s *Store, actor *identity.Actor, f func(*Tx) (Out, error)) (Out, error) {
	return scope.Write(ctx, s.base, actor, func(in *scope.Scope) (Out, error) { return f(s.tx(in)) })
}

// Analyze is scope.Base.Analyze.
func (s *Store) Analyze(ctx context.Context, actor *identity.Actor, f func(), texts ...string) error {
	return s.base.Analyze(ctx, actor, f, texts...)
}

// ExpectComputations is scope.ExpectComputations.
func (t *Tx) ExpectComputations(n int) { scope.ExpectComputations(t, n) }

// Compute is scope.Compute.
func Compute[T any](t *Tx, bytes int, f func() T, key ...string) (T, error) {
	return scope.Compute(t, bytes, f, key...)
}

// Bulk is scope.Bulk.
func Bulk(t *Tx, ids []loci.ID, f func(i int, id loci.ID) error) ([]loci.BulkResult, error) {
	return scope.Bulk(t, ids, f)
}

// IsRefusal is scope.IsRefusal.
func IsRefusal(err error) bool { return scope.IsRefusal(err) }

// System is sqldb.System with a SystemTx.
func System[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (Out, error) {
	return sqldb.System(ctx, s.base.DB, reason, func(conn *sqldb.Tx) (Out, error) { return f(s.system(conn)) })
}

// SystemRead is sqldb.SystemRead with a SystemTx.
func SystemRead[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (Out, error) {
	return sqldb.SystemRead(ctx, s.base.DB, reason, func(conn *sqldb.Tx) (Out, error) { return f(s.system(conn)) })
}

func (s *Store) system(conn *sqldb.Tx) *SystemTx {
	system := scope.NewSystem(s.base, conn)
	in := scope.OfSystem(system)
	return &SystemTx{in.Accounts(), system, s.tx(in)}
}

// A SystemTx is a transaction of the service itself, without a scope.
type SystemTx struct {
	accountdb.Tx
	scopeSystem
	t *Tx
}
