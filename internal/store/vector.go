package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// A embedResult is what a task came to: vectors, or a memory of the same workspace that
// has those of the same text, or had them.
type embedResult struct {
	embedJob
	textHash int64
	vectors  [][]byte
	copyFrom int64
}

// ensureGeneration returns the number of a generation, which is made if it is not
// there, and whether all memories of then were made to wait for it.
func (t *SystemTx) ensureGeneration(name string) (prepared bool, rowID int64, err error) {
	if _, err := t.t.exec(`INSERT INTO generations (name) VALUES (?1) ON CONFLICT (name) DO NOTHING`,
		name); err != nil {
		return false, 0, err
	}
	if err = t.t.conn.QueryRow(`SELECT row_id FROM generations WHERE name = ?1`, []any{name},
		[]any{&rowID}); err != nil {
		return false, 0, err
	}
	var done string
	err = t.t.conn.QueryRow(`SELECT value FROM metadata WHERE name = 'vectors'`, nil, []any{&done})
	if errors.Is(err, sqldb.ErrNoRows) {
		err = nil
	}
	return done == name, rowID, err
}

// prepareBatchSize is how many memories are looked at in one transaction.
const prepareBatchSize = 2000

// enqueueMissing makes the next memories after one wait that have no vectors of a
// generation, and tells how far it came. Where that is no further, it was the end.
func (t *SystemTx) enqueueMissing(generation, after int64) (last int64, err error) {
	last = after
	if leads, err := t.isActiveModel(generation); err != nil || !leads {
		return last, err
	}
	err = t.t.conn.QueryFew(`SELECT row_id FROM memories WHERE row_id > ?1 ORDER BY row_id LIMIT ?2`,
		[]any{after, prepareBatchSize}, func(r sqldb.Row) error { return r.Scan(&last) })
	if err != nil {
		return after, err
	}
	if last == after {
		_, err = t.t.exec(`INSERT INTO metadata (name, value) SELECT 'vectors', name FROM generations WHERE row_id = ?1
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, generation)
		return last, err
	}
	_, err = t.t.exec(enqueueSQL+`WHERE e.row_id > ?2 AND e.row_id <= ?3
			AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory = e.row_id AND v.generation = ?4)
		ON CONFLICT (memory) DO NOTHING`, t.t.conn.Now, after, last, generation)
	return last, err
}

// maxAttempts is how often a memory may fail before a workspace turns to a new
// generation without it.
const maxAttempts = 5

// switchGeneration lets workspaces answer from a generation of which nobody in them waits any
// more, and removes some vectors of others where all have turned. It reports
// whether there is more to do.
func (t *SystemTx) switchGeneration(generation int64) (more bool, err error) {
	if leads, err := t.isActiveModel(generation); err != nil || !leads {
		return false, err
	}
	_, err = t.t.exec(
		`UPDATE keyword_indexes SET generation = ?1, vector_seq = vector_seq + 1 WHERE generation NOT IN (0, ?1)
		AND NOT EXISTS (SELECT 1 FROM embedding_queue w WHERE w.workspace = keyword_indexes.workspace
			AND w.attempts < ?2)`, generation, maxAttempts)
	if err != nil {
		return false, err
	}
	var left int64
	if err = t.t.conn.QueryRow(`SELECT count(*) FROM keyword_indexes WHERE generation NOT IN (0, ?1)`,
		[]any{generation}, []any{&left}); err != nil || left > 0 {
		return true, err
	}
	n, err := t.t.exec(
		`DELETE FROM vectors WHERE row_id IN (SELECT row_id FROM vectors WHERE generation <> ?1 LIMIT ?2)`, generation,
		prepareBatchSize)
	if err != nil || n > 0 {
		return true, err
	}
	_, err = t.t.exec(`DELETE FROM generations WHERE row_id <> ?1`, generation)
	return false, err
}

// findEmbeddedText finds a memory of a workspace with the vectors of a text, or zero.
func (t *SystemTx) findEmbeddedText(workspace, generation, text int64) (memory int64, err error) {
	err = t.t.conn.QueryRow(
		`SELECT memory FROM vectors WHERE workspace = ?1 AND generation = ?2 AND text_hash = ?3 LIMIT 1`,
		[]any{workspace, generation, text}, []any{&memory})
	if errors.Is(err, sqldb.ErrNoRows) {
		return 0, nil
	}
	return memory, err
}

// storeResults stores results, but for those whose memory has another text by now.
// Those of a model that does not lead any more are left to the one that does.
func (t *SystemTx) storeResults(generation int64, due loci.Time, results []embedResult) error {
	if leads, err := t.isActiveModel(generation); err != nil || !leads {
		for _, r := range results {
			err = errors.Join(err, t.requeue(r.embedJob, due, ""))
		}
		return err
	}
	// In the order in which others hold indexes.
	results = slices.SortedStableFunc(slices.Values(results), func(a, b embedResult) int {
		return cmp.Compare(a.workspace, b.workspace)
	})
	var seq int64
	for i, r := range results {
		if i == 0 || r.workspace != results[i-1].workspace {
			err := t.t.conn.QueryRow(
				`UPDATE keyword_indexes SET vector_seq = vector_seq + 1, generation = CASE WHEN generation = 0 THEN
					CAST(?2 AS BIGINT) ELSE generation END
				WHERE workspace = ?1 RETURNING vector_seq`, []any{r.workspace, generation}, []any{&seq})
			if errors.Is(err, sqldb.ErrNoRows) {
				seq = 0 // the workspace is gone
			} else if err != nil {
				return err
			}
		}
		if seq == 0 {
			continue
		}
		n, err := t.t.exec(`DELETE FROM embedding_queue WHERE memory = ?1 AND due = ?2`, r.memory, due)
		if err == nil && n == 1 {
			err = t.storeResult(generation, seq, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeResult makes vectors the present ones of a memory. Those of the text before
// stay, because a revert wants them.
func (t *SystemTx) storeResult(generation, seq int64, r embedResult) error {
	if r.copyFrom != 0 && r.copyFrom != r.memory {
		// Where they went meanwhile the memory has none, and waits again.
		n, err := t.t.exec(`INSERT INTO vectors (workspace, memory, generation, text_hash, chunk, seq, vector, checksum)
			SELECT workspace, CAST(?1 AS BIGINT), generation, text_hash, chunk, CAST(?2 AS BIGINT), vector, checksum
			FROM vectors
			WHERE memory = ?3 AND generation = ?4 AND text_hash = ?5
			ON CONFLICT (memory, generation, text_hash, chunk) DO UPDATE SET seq = excluded.seq`, r.memory, seq,
			r.copyFrom, generation, r.textHash)
		return t.requeueIfMissing(r, n, err)
	}
	if r.copyFrom != 0 {
		n, err := t.t.exec(`UPDATE vectors SET seq = ?1 WHERE memory = ?2 AND generation = ?3 AND text_hash = ?4`, seq,
			r.memory, generation, r.textHash)
		return t.requeueIfMissing(r, n, err)
	}
	for i, v := range r.vectors {
		_, err := t.t.exec(
			`INSERT INTO vectors (workspace, memory, generation, text_hash, chunk, seq, vector, checksum)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (memory, generation, text_hash, chunk) DO UPDATE
				SET seq = excluded.seq, vector = excluded.vector, checksum = excluded.checksum`,
			r.workspace, r.memory, generation, r.textHash, i, seq, v, vectorChecksum(r.textHash, i, v))
		if err != nil {
			return err
		}
	}
	_, err := t.t.exec(
		`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2 AND seq < (SELECT max(v.seq) FROM vectors v
			WHERE v.memory = ?1 AND v.generation = ?2 AND v.seq < ?3)`,
		r.memory, generation, seq)
	return err
}

// requeueIfMissing lets a memory wait again whose vectors were there and are not any more.
func (t *SystemTx) requeueIfMissing(r embedResult, n int64, err error) error {
	if err != nil || n > 0 {
		return err
	}
	return (&Workspace{t: t.t, rowID: r.workspace}).enqueueEmbedding(r.memory)
}

// A vectorState tells two states of a workspace's vectors apart.
type vectorState struct {
	workspace, seq, generation int64
	name                       string // of the generation
}

// vectorStates reads the states of workspaces that have vectors.
func (t *Tx) vectorStates(workspaces []int64) (list []vectorState, err error) {
	err = t.conn.QueryFew(
		`SELECT x.workspace, x.vector_seq, x.generation, g.name FROM keyword_indexes x
			JOIN generations g ON g.row_id = x.generation
		WHERE `+fmt.Sprintf(t.conn.Dialect.InList, "x.workspace", 1)+` ORDER BY x.workspace`,
		[]any{sqldb.EncodeInts(workspaces)}, func(r sqldb.Row) error {
			var v vectorState
			err := r.Scan(&v.workspace, &v.seq, &v.generation, &v.name)
			list = append(list, v)
			return err
		})
	return list, err
}

// cachedCodes are the codes of one workspace's vectors and the state that they show.
type cachedCodes struct {
	state vectorState
	codes *vector.BinaryCodes
}

// Bounds of the cached codes: about 130 MB where they are reached.
const (
	maxCachedWorkspaces = 10_000
	maxCachedCodes      = 2_000_000
)

// binaryCodes returns the codes of a workspace in a state.
func (t *Tx) binaryCodes(state vectorState) (*vector.BinaryCodes, error) {
	have := t.store.codes.Get(state.workspace)
	if have != nil && have.state == state {
		return have.codes, nil
	}
	next := &cachedCodes{state: state, codes: vector.NewBinaryCodes()}
	since := int64(0)
	if have != nil && have.state.generation == state.generation && have.state.seq < state.seq {
		next.codes, since = have.codes, have.state.seq
	}
	list, err := t.vectorsSince(state, since)
	if err != nil {
		return nil, err
	}
	if next.codes, err = next.codes.Apply(list); err != nil {
		return nil, err
	}
	t.store.codes.Put(state.workspace, next)
	return next.codes, nil
}

// vectorBatchSize is how many vectors are read by one statement.
const vectorBatchSize = 1000

// vectorsSince reads the present vectors of memories that got some after a state.
func (t *Tx) vectorsSince(state vectorState, since int64) (list []vector.StoredVector, err error) {
	var seqs []int64
	last := map[int64]int64{} // seq of a memory's present text
	for seq, key, n := since, int64(math.MaxInt64), vectorBatchSize; n == vectorBatchSize; {
		if err := t.conn.Ctx.Err(); err != nil {
			return nil, err
		}
		n = 0
		err := t.conn.QueryFew(
			`SELECT v.row_id, v.memory, v.seq, v.vector FROM vectors v WHERE v.workspace = ?1 AND v.generation = ?2
			AND (v.seq, v.row_id) > (?3, ?4) AND v.seq <= ?5 ORDER BY v.seq, v.row_id LIMIT ?6`,
			[]any{state.workspace, state.generation, seq, key, state.seq, vectorBatchSize}, func(r sqldb.Row) error {
				var c vector.StoredVector
				err := r.Scan(&c.Key, &c.Memory, &seq, &c.Vector)
				n, key, last[c.Memory] = n+1, c.Key, seq
				list, seqs = append(list, c), append(seqs, seq)
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	present := list[:0]
	for i, c := range list {
		if seqs[i] == last[c.Memory] {
			present = append(present, c)
		}
	}
	return present, nil
}
