package embeddb

import (
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// One model is active in a database: that of the process that started last. Processes with another model are on
// standby, such as those of the previous version during an update. Else each would embed again what the other has
// embedded.

// claimModel makes the model of a generation the active one.
func claimModel(t *sqldb.Tx, name string) error {
	_, err := t.Exec(
		`INSERT INTO metadata (name, value) VALUES ('model', ?1) ON CONFLICT (name) DO UPDATE
			SET value = excluded.value`, name)
	return err
}

// readActiveModel returns the row id and the name of the generation of the active model. In a write transaction it
// locks the name until the commit.
func readActiveModel(t *sqldb.Tx) (generation int64, name string, err error) {
	lock := ""
	if !t.ReadOnly {
		lock = t.LockClause("SHARE", "n")
	}
	err = t.QueryRow(
		`SELECT g.row_id, g.name FROM metadata n JOIN generations g ON g.name = n.value WHERE n.name = 'model'`+lock,
		nil, []any{&generation, &name})
	if errors.Is(err, sqldb.ErrNoRows) {
		err = nil
	}
	return generation, name, err
}

// isActiveModel reports whether the generation is that of the active model.
func isActiveModel(t *sqldb.Tx, generation int64) (bool, error) {
	active, _, err := readActiveModel(t)
	return active == generation, err
}

// yield puts the worker on standby, and reads the generations that workspaces answer from.
func (w *Worker) yield(ctx context.Context) error {
	if !w.standby.Swap(true) {
		w.db.Log.Warn("another process makes vectors with another embedding model: this process is on standby and "+
			"answers by keywords where vectors of its model are gone",
			"model", w.model.Generation())
	}
	return w.publishGenerations(ctx)
}

// detectDimensions reads the number of dimensions from a stored vector of the generation.
func (w *Worker) detectDimensions(ctx context.Context) error {
	n, err := sqldb.SystemRead(ctx, w.db, "read the dimensions of a vector", func(t *sqldb.Tx) (n int64, err error) {
		var stored []byte
		err = t.QueryRow(`SELECT v.vector FROM keyword_indexes x JOIN vectors v ON v.workspace = x.workspace
			AND v.generation = ?1 LIMIT 1`, []any{w.generation}, []any{&stored})
		if errors.Is(err, sqldb.ErrNoRows) {
			return 0, nil
		}
		return int64(vector.Dimensions(stored)), err
	})
	w.dimensions.Store(n)
	return err
}

// acceptsDimensions reports whether a vector has the dimensions of all others of the generation.
func (w *Worker) acceptsDimensions(vector []float32) bool {
	n := int64(len(vector))
	return w.dimensions.CompareAndSwap(0, n) || w.dimensions.Load() == n
}

// AcceptsVector reports whether a search with the vector of the worker's model may find something. It cannot while
// another model is active and no workspace uses this one. It cannot either if the model changed its dimensions.
func (w *Worker) AcceptsVector(vector []float32) bool {
	if w.model == nil {
		return true
	}
	if n := w.dimensions.Load(); n > 0 && n != int64(len(vector)) {
		return false
	}
	return !w.standby.Load() || w.ServesGeneration(w.model.Generation())
}

// generationName returns the name of a model's generation in the database.
func generationName(model string) string { return model + generationSuffix }

const generationSuffix = "/" + vector.ChunkVersion

// publishGenerations reads which generations workspaces answer from.
func (w *Worker) publishGenerations(ctx context.Context) error {
	names, err := sqldb.SystemRead(ctx, w.db, "list the generations in use",
		func(t *sqldb.Tx) (list []string, err error) {
			err = t.QueryFew(
				`SELECT name FROM generations g WHERE EXISTS (SELECT 1 FROM keyword_indexes x
					WHERE x.generation = g.row_id)`, nil, func(r sqldb.Row) error {
					list = append(list, "")
					return r.Scan(&list[len(list)-1])
				})
			return list, err
		})
	if err == nil {
		w.served.Store(&names)
	}
	return err
}

// ServesGeneration reports whether some workspace answers from the vectors of a model, as far as this process knows.
func (w *Worker) ServesGeneration(model string) bool {
	names := w.served.Load()
	return names != nil && slices.Contains(*names, generationName(model))
}

// ensureGeneration returns the row id of a generation, and creates it if missing. It reports whether all older memories
// were enqueued for it.
func ensureGeneration(t *sqldb.Tx, name string) (prepared bool, rowID int64, err error) {
	if _, err := t.Exec(`INSERT INTO generations (name) VALUES (?1) ON CONFLICT (name) DO NOTHING`,
		name); err != nil {
		return false, 0, err
	}
	if err = t.QueryRow(`SELECT row_id FROM generations WHERE name = ?1`, []any{name},
		[]any{&rowID}); err != nil {
		return false, 0, err
	}
	var done string
	err = t.QueryRow(`SELECT value FROM metadata WHERE name = 'vectors'`, nil, []any{&done})
	if errors.Is(err, sqldb.ErrNoRows) {
		err = nil
	}
	return done == name, rowID, err
}

// prepareBatchSize is the limit of memories in one transaction that enqueues them.
const prepareBatchSize = 2000

// enqueueMissing enqueues the next memories without vectors of a generation, and returns the last row id that it read.
// At the end that is after. Failures of another model do not count.
func enqueueMissing(t *sqldb.Tx, generation, after int64) (last int64, err error) {
	last = after
	if active, err := isActiveModel(t, generation); err != nil || !active {
		return last, err
	}
	err = t.QueryFew(`SELECT row_id FROM memories WHERE row_id > ?1 ORDER BY row_id LIMIT ?2`,
		[]any{after, prepareBatchSize}, func(r sqldb.Row) error { return r.Scan(&last) })
	if err != nil {
		return after, err
	}
	if last == after {
		_, err = t.Exec(`INSERT INTO metadata (name, value) SELECT 'vectors', name FROM generations WHERE row_id = ?1
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, generation)
		return last, err
	}
	_, err = t.Exec(enqueueSQL+`WHERE e.row_id > ?2 AND e.row_id <= ?3
			AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory = e.row_id AND v.generation = ?4)
		ON CONFLICT (memory) DO UPDATE SET due = excluded.due, attempts = 0, error = ''
			WHERE embedding_queue.error <> ''`, t.Now, after, last, generation)
	return last, err
}

// maxAttempts is how often a memory may fail before its workspace switches to a new generation without it.
const maxAttempts = 5

// switchWorkspaces switches workspaces to a generation if all their queued memories have failed maxAttempts times.
// After the last workspace it deletes some vectors of other generations. It reports whether more is to be done.
func switchWorkspaces(t *sqldb.Tx, generation int64) (more bool, err error) {
	if active, err := isActiveModel(t, generation); err != nil || !active {
		return false, err
	}
	_, err = t.Exec(
		`UPDATE keyword_indexes SET generation = ?1, vector_seq = vector_seq + 1 WHERE generation NOT IN (0, ?1)
		AND NOT EXISTS (SELECT 1 FROM embedding_queue w WHERE w.workspace = keyword_indexes.workspace
			AND w.attempts < ?2)`, generation, maxAttempts)
	if err != nil {
		return false, err
	}
	var left int64
	if err = t.QueryRow(`SELECT count(*) FROM keyword_indexes WHERE generation NOT IN (0, ?1)`,
		[]any{generation}, []any{&left}); err != nil || left > 0 {
		return true, err
	}
	var others bool
	if err = t.QueryRow(`SELECT EXISTS (SELECT 1 FROM generations WHERE row_id <> ?1)`, []any{generation},
		[]any{&others}); err != nil || !others {
		return err != nil, err
	}
	n, err := t.Exec(`DELETE FROM vectors WHERE row_id IN (SELECT v.row_id FROM generations g
			CROSS JOIN keyword_indexes x JOIN vectors v ON v.workspace = x.workspace AND v.generation = g.row_id
		WHERE g.row_id <> ?1 LIMIT ?2)`, generation, prepareBatchSize)
	if err != nil || n > 0 {
		return true, err
	}
	_, err = t.Exec(`DELETE FROM generations WHERE row_id <> ?1`, generation)
	return false, err
}
