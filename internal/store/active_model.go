package store

import (
	"context"
	"errors"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// The vectors of a database are made by one model: that of the process which was
// started last. Those with another model stand aside from then on, in particular the
// ones of the version before while a new one takes their place; else each would make
// anew what the other has made, and none would have all.

// claimModel makes a generation the one that is made.
func (t *SystemTx) claimModel(name string) error {
	_, err := t.t.exec(
		`INSERT INTO metadata (name, value) VALUES ('model', ?1) ON CONFLICT (name) DO UPDATE
			SET value = excluded.value`, name)
	return err
}

// isActiveModel reports whether a generation still is the one that is made, and keeps that so
// until the end of a transaction that writes.
func (t *SystemTx) isActiveModel(generation int64) (bool, error) {
	lock := ""
	if !t.t.conn.ReadOnly {
		lock = t.t.conn.LockClause("SHARE", "n")
	}
	var rowID int64
	err := t.t.conn.QueryRow(
		`SELECT g.row_id FROM metadata n JOIN generations g ON g.name = n.value WHERE n.name = 'model'`+lock, nil,
		[]any{&rowID})
	if errors.Is(err, sqldb.ErrNoRows) {
		return false, nil
	}
	return rowID == generation, err
}

// yield leaves the vectors to another process, and follows from which model
// workspaces answer meanwhile.
func (e *embedWorker) yield(ctx context.Context) error {
	if !e.standby.Swap(true) {
		e.store.db.Log.Warn("another process makes vectors with another embedding model: this one leaves them to it, "+
			"and "+
			"answers by words alone where those of its own model are gone",
			"model", e.model.Generation())
	}
	e.failures = 0
	return e.publishGenerations(ctx)
}

// detectDimensions finds out how many dimensions the vectors have that are there.
func (e *embedWorker) detectDimensions(ctx context.Context) error {
	n, err := SystemRead(ctx, e.store, "measure a stored vector", func(t *SystemTx) (n int64, err error) {
		var stored []byte
		err = t.t.conn.QueryRow(`SELECT vector FROM vectors WHERE generation = ?1 LIMIT 1`, []any{e.generation},
			[]any{&stored})
		if errors.Is(err, sqldb.ErrNoRows) {
			return 0, nil
		}
		return int64(vector.Dimensions(stored)), err
	})
	e.dimensions.Store(n)
	return err
}

// acceptsDimensions reports whether a vector has as many dimensions as all others of the generation.
func (e *embedWorker) acceptsDimensions(vector []float32) bool {
	n := int64(len(vector))
	return e.dimensions.CompareAndSwap(0, n) || e.dimensions.Load() == n
}

// AcceptsVector reports whether the vector of a query by the store's own model may find
// something, as far as this process knows: not where another model leads and nothing
// is left of this one, nor where the model's vectors have another length than before.
func (s *Store) AcceptsVector(vector []float32) bool {
	e := &s.embedder
	if e.model == nil {
		return true
	}
	if n := e.dimensions.Load(); n > 0 && n != int64(len(vector)) {
		return false
	}
	return !e.standby.Load() || s.ServesGeneration(e.model.Generation())
}
