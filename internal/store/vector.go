package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A result is what a task came to: vectors, or a memory of the same workspace that
// has those of the same text, or had them.
type result struct {
	task
	text    int64
	vectors [][]byte
	like    int64
}

// generation returns the number of a generation, which is made if it is not
// there, and whether all memories of then were made to wait for it.
func (t *SystemTx) generation(name string) (prepared bool, rid int64, err error) {
	if _, err := t.t.exec(`INSERT INTO generations (name) VALUES (?1) ON CONFLICT (name) DO NOTHING`, name); err != nil {
		return false, 0, err
	}
	if err = t.t.c.one(`SELECT rid FROM generations WHERE name = ?1`, []any{name}, []any{&rid}); err != nil {
		return false, 0, err
	}
	var done string
	err = t.t.c.one(`SELECT value FROM instance WHERE name = 'vectors'`, nil, []any{&done})
	if errors.Is(err, errNoRow) {
		err = nil
	}
	return done == name, rid, err
}

// prepareRows is how many memories are looked at in one transaction.
const prepareRows = 2000

// prepareVectors makes the next memories after one wait that have no vectors of a
// generation, and tells how far it came. Where that is no further, it was the end.
func (t *SystemTx) prepareVectors(generation, after int64) (last int64, err error) {
	last = after
	if leads, err := t.leads(generation); err != nil || !leads {
		return last, err
	}
	err = t.t.c.few(`SELECT rid FROM memories WHERE rid > ?1 ORDER BY rid LIMIT ?2`, []any{after, prepareRows}, func(r row) error { return r.Scan(&last) })
	if err != nil {
		return after, err
	}
	if last == after {
		_, err = t.t.exec(`INSERT INTO instance (name, value) SELECT 'vectors', name FROM generations WHERE rid = ?1
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, generation)
		return last, err
	}
	_, err = t.t.exec(insertWaiting+`WHERE e.rid > ?2 AND e.rid <= ?3
			AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory = e.rid AND v.generation = ?4)
		ON CONFLICT (memory) DO NOTHING`, t.t.now, after, last, generation)
	return last, err
}

// manyFailures is how often a memory may fail before a workspace turns to a new
// generation without it.
const manyFailures = 5

// turn lets workspaces answer from a generation of which nobody in them waits any
// more, and removes some vectors of others where all have turned. It reports
// whether there is more to do.
func (t *SystemTx) turn(generation int64) (more bool, err error) {
	if leads, err := t.leads(generation); err != nil || !leads {
		return false, err
	}
	_, err = t.t.exec(`UPDATE indexes SET generation = ?1, vectors = vectors + 1 WHERE generation NOT IN (0, ?1)
		AND NOT EXISTS (SELECT 1 FROM waiting w WHERE w.workspace = indexes.workspace AND w.attempts < ?2)`, generation, manyFailures)
	if err != nil {
		return false, err
	}
	var left int64
	if err = t.t.c.one(`SELECT count(*) FROM indexes WHERE generation NOT IN (0, ?1)`, []any{generation}, []any{&left}); err != nil || left > 0 {
		return true, err
	}
	n, err := t.t.exec(`DELETE FROM vectors WHERE rid IN (SELECT rid FROM vectors WHERE generation <> ?1 LIMIT ?2)`, generation, prepareRows)
	if err != nil || n > 0 {
		return true, err
	}
	_, err = t.t.exec(`DELETE FROM generations WHERE rid <> ?1`, generation)
	return false, err
}

// sameText finds a memory of a workspace with the vectors of a text, or zero.
func (t *SystemTx) sameText(workspace, generation, text int64) (memory int64, err error) {
	err = t.t.c.one(`SELECT memory FROM vectors WHERE workspace = ?1 AND generation = ?2 AND text = ?3 LIMIT 1`, []any{workspace, generation, text}, []any{&memory})
	if errors.Is(err, errNoRow) {
		return 0, nil
	}
	return memory, err
}

// addVectors stores results, but for those whose memory has another text by now.
// Those of a model that does not lead any more are left to the one that does.
func (t *SystemTx) addVectors(generation int64, due loci.Time, results []result) error {
	if leads, err := t.leads(generation); err != nil || !leads {
		for _, r := range results {
			err = errors.Join(err, t.putBack(r.task, due, ""))
		}
		return err
	}
	// In the order in which others hold indexes.
	results = slices.SortedStableFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(a.workspace, b.workspace) })
	var seq int64
	for i, r := range results {
		if i == 0 || r.workspace != results[i-1].workspace {
			err := t.t.c.one(`UPDATE indexes SET vectors = vectors + 1, generation = CASE WHEN generation = 0 THEN CAST(?2 AS BIGINT) ELSE generation END
				WHERE workspace = ?1 RETURNING vectors`, []any{r.workspace, generation}, []any{&seq})
			if errors.Is(err, errNoRow) {
				seq = 0 // the workspace is gone
			} else if err != nil {
				return err
			}
		}
		if seq == 0 {
			continue
		}
		n, err := t.t.exec(`DELETE FROM waiting WHERE memory = ?1 AND due = ?2`, r.memory, due)
		if err == nil && n == 1 {
			err = t.addResult(generation, seq, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addResult makes vectors the present ones of a memory. Those of the text before
// stay, because a revert wants them.
func (t *SystemTx) addResult(generation, seq int64, r result) error {
	if r.like != 0 && r.like != r.memory {
		// Where they went meanwhile the memory has none, and waits again.
		n, err := t.t.exec(`INSERT INTO vectors (workspace, memory, generation, text, passage, seq, vector, checksum)
			SELECT workspace, CAST(?1 AS BIGINT), generation, text, passage, CAST(?2 AS BIGINT), vector, checksum FROM vectors
			WHERE memory = ?3 AND generation = ?4 AND text = ?5
			ON CONFLICT (memory, generation, text, passage) DO UPDATE SET seq = excluded.seq`, r.memory, seq, r.like, generation, r.text)
		return t.again(r, n, err)
	}
	if r.like != 0 {
		n, err := t.t.exec(`UPDATE vectors SET seq = ?1 WHERE memory = ?2 AND generation = ?3 AND text = ?4`, seq, r.memory, generation, r.text)
		return t.again(r, n, err)
	}
	for i, v := range r.vectors {
		_, err := t.t.exec(`INSERT INTO vectors (workspace, memory, generation, text, passage, seq, vector, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (memory, generation, text, passage) DO UPDATE SET seq = excluded.seq, vector = excluded.vector, checksum = excluded.checksum`,
			r.workspace, r.memory, generation, r.text, i, seq, v, vectorChecksum(r.text, i, v))
		if err != nil {
			return err
		}
	}
	_, err := t.t.exec(`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2 AND seq < (SELECT max(v.seq) FROM vectors v WHERE v.memory = ?1 AND v.generation = ?2 AND v.seq < ?3)`,
		r.memory, generation, seq)
	return err
}

// again lets a memory wait again whose vectors were there and are not any more.
func (t *SystemTx) again(r result, n int64, err error) error {
	if err != nil || n > 0 {
		return err
	}
	return (&Workspace{t: t.t, rid: r.workspace}).wait(r.memory)
}

// A vectorState tells two states of a workspace's vectors apart.
type vectorState struct {
	workspace, vectors, generation int64
	name                           string // of the generation
}

// vectorStates reads the states of workspaces that have vectors.
func (t *Tx) vectorStates(workspaces []int64) (list []vectorState, err error) {
	err = t.c.few(`SELECT x.workspace, x.vectors, x.generation, g.name FROM indexes x JOIN generations g ON g.rid = x.generation
		WHERE `+fmt.Sprintf(t.s.db.dialect().in, "x.workspace", 1)+` ORDER BY x.workspace`, []any{integers(workspaces)}, func(r row) error {
		var v vectorState
		err := r.Scan(&v.workspace, &v.vectors, &v.generation, &v.name)
		list = append(list, v)
		return err
	})
	return list, err
}

// codes returns the codes of a workspace in a state.
func (t *Tx) codes(state vectorState) (*search.Codes, error) {
	have := t.s.indexes.codes.get(state.workspace)
	if have != nil && have.state == state {
		return have.codes, nil
	}
	next := &coded{state: state, codes: search.NewCodes()}
	since := int64(0)
	if have != nil && have.state.generation == state.generation && have.state.vectors < state.vectors {
		next.codes, since = have.codes, have.state.vectors
	}
	list, err := t.vectorsSince(state, since)
	if err != nil {
		return nil, err
	}
	if next.codes, err = next.codes.With(list); err != nil {
		return nil, err
	}
	t.s.indexes.codes.put(state.workspace, next)
	return next.codes, nil
}

// vectorRows is how many vectors are read by one statement.
const vectorRows = 1000

// vectorsSince reads the present vectors of memories that got some after a state.
func (t *Tx) vectorsSince(state vectorState, since int64) (list []search.Coded, err error) {
	var seqs []int64
	last := map[int64]int64{} // seq of a memory's present text
	for seq, key, n := since, int64(math.MaxInt64), vectorRows; n == vectorRows; {
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		n = 0
		err := t.c.few(`SELECT v.rid, v.memory, v.seq, v.vector FROM vectors v WHERE v.workspace = ?1 AND v.generation = ?2
			AND (v.seq, v.rid) > (?3, ?4) AND v.seq <= ?5 ORDER BY v.seq, v.rid LIMIT ?6`,
			[]any{state.workspace, state.generation, seq, key, state.vectors, vectorRows}, func(r row) error {
				var c search.Coded
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
