package embeddb

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// A State identifies a version of the vectors of a workspace.
type State struct {
	Workspace  int64
	seq        int64 // increases with each stored result
	generation int64
	name       string // of the generation
}

// MadeBy reports whether the vectors are those of a model.
func (s State) MadeBy(model string) bool {
	name, found := strings.CutSuffix(s.name, generationSuffix)
	return found && name == model
}

// ReadStates returns the states of the workspaces that have vectors.
func ReadStates(t *sqldb.Tx, workspaces []int64) (list []State, err error) {
	var v State
	into := []any{&v.Workspace, &v.seq, &v.generation, &v.name}
	err = t.QueryFew(
		`SELECT x.workspace, x.vector_seq, x.generation, g.name FROM keyword_indexes x
			JOIN generations g ON g.row_id = x.generation
		WHERE `+fmt.Sprintf(t.Dialect.InList, "x.workspace", 1)+` ORDER BY x.workspace`,
		[]any{sqldb.EncodeInts(workspaces)}, func(r sqldb.Row) error {
			err := r.Scan(into...)
			list = append(list, v)
			return err
		})
	return list, err
}

// Vectors reads vectors, and caches them with the binary codes of workspaces.
type Vectors struct {
	codes *cache.Cache[int64, *cachedCodes]
	cache *vector.Cache // by row id: a row changes only its seq, and no row id is used again
}

type cachedCodes struct {
	state State
	codes *vector.BinaryCodes
}

// NewVectors returns an empty cache of a budget.
func NewVectors(caches *cache.Budget) *Vectors {
	return &Vectors{codes: cache.New(caches, "codes", func(_ int64, c *cachedCodes) int {
		return int(unsafe.Sizeof(*c)) + len(c.state.name) + c.codes.SizeBytes()
	}), cache: vector.NewCache(caches)}
}

// Invalidate drops the codes of a workspace.
func (c *Vectors) Invalidate(workspace int64) { c.codes.Remove(workspace) }

// BinaryCodes returns the codes of a workspace in a state.
func (c *Vectors) BinaryCodes(t *sqldb.Tx, state State) (*vector.BinaryCodes, error) {
	have := c.codes.Get(state.Workspace)
	if have != nil && have.state == state {
		return have.codes, nil
	}
	next := &cachedCodes{state: state, codes: vector.NewBinaryCodes()}
	since := int64(0)
	if have != nil && have.state.generation == state.generation && have.state.seq < state.seq {
		next.codes, since = have.codes, have.state.seq
	}
	err := vectorsSince(t, state, since, func(list []vector.StoredVector) (err error) {
		next.codes, err = next.codes.Apply(list)
		return err
	})
	if err != nil {
		return nil, err
	}
	if t.ReadOnly {
		c.codes.Put(state.Workspace, next)
	}
	return next.codes, nil
}

// Each calls f with the vectors of keys that have a row in one of the workspaces. Both lists are in ascending order.
// The index i is that of the key.
func (c *Vectors) Each(t *sqldb.Tx, workspaces, keys []int64, f func(i, chunk int, vector []byte)) error {
	visit := func(i int, workspace int64, chunk int, vector []byte) {
		if _, found := slices.BinarySearch(workspaces, workspace); found {
			f(i, chunk, vector)
		}
	}
	missing := c.cache.Each(keys, visit)
	if len(missing) == 0 {
		return nil
	}
	var key, workspace int64
	var chunk int
	var vector []byte
	return t.QueryFew(`SELECT v.row_id, v.workspace, v.chunk, v.vector FROM `+
		fmt.Sprintf(t.Dialect.JoinIDs, 1, "vectors v", "v.row_id"), []any{sqldb.EncodeInts(missing)},
		func(r sqldb.Row) error {
			if err := r.Scan(&key, &workspace, &chunk, &vector); err != nil {
				return err
			}
			if t.ReadOnly {
				c.cache.Put(key, workspace, chunk, vector)
			}
			i, _ := slices.BinarySearch(keys, key)
			visit(i, workspace, chunk, vector)
			return nil
		})
}

// MemoryVectors returns the current vectors of a memory.
func MemoryVectors(t *sqldb.Tx, state State, memory int64) (list [][]float32, err error) {
	err = t.QueryFew(`SELECT v.vector FROM vectors v WHERE v.memory = ?1 AND v.generation = ?2
		AND v.seq = (SELECT max(p.seq) FROM vectors p WHERE p.memory = ?1 AND p.generation = ?2)`,
		[]any{memory, state.generation}, func(r sqldb.Row) error {
			var stored []byte
			if err := r.Scan(&stored); err != nil {
				return err
			}
			v, err := vector.Decode(stored)
			list = append(list, v)
			return err
		})
	return list, err
}

// vectorBatchSize is the limit of vectors in one statement.
const vectorBatchSize = 8192

// vectorsSince calls apply with the current vectors of memories that were embedded after a state. It does so in
// batches: all vectors of a large workspace may not fit into memory. Those of one seq are in one batch.
func vectorsSince(t *sqldb.Tx, state State, since int64, apply func([]vector.StoredVector) error) error {
	var list []vector.StoredVector
	var seqs []int64
	for seq, key, n := since, int64(math.MaxInt64), vectorBatchSize; n == vectorBatchSize; {
		if err := t.Ctx.Err(); err != nil {
			return err
		}
		n = 0
		err := t.QueryFew(
			`SELECT v.row_id, v.memory, v.seq, v.vector FROM vectors v WHERE v.workspace = ?1 AND v.generation = ?2
			AND (v.seq, v.row_id) > (?3, ?4) AND v.seq <= ?5 ORDER BY v.seq, v.row_id LIMIT ?6`,
			[]any{state.Workspace, state.generation, seq, key, state.seq, vectorBatchSize}, func(r sqldb.Row) error {
				var c vector.StoredVector
				err := r.Scan(&c.Key, &c.Memory, &seq, &c.Vector)
				n, key = n+1, c.Key
				list, seqs = append(list, c), append(seqs, seq)
				return err
			})
		if err != nil {
			return err
		}
		end := len(list)
		if n == vectorBatchSize { // more vectors of the last seq may follow
			end, _ = slices.BinarySearch(seqs, seq)
		}
		if err := apply(currentVectors(list[:end], seqs)); err != nil {
			return err
		}
		list, seqs = slices.Delete(list, 0, end), slices.Delete(seqs, 0, end)
	}
	return nil
}

// currentVectors returns those vectors of each memory that have its last seq.
func currentVectors(list []vector.StoredVector, seqs []int64) (current []vector.StoredVector) {
	last := map[int64]int64{}
	for i, c := range list {
		last[c.Memory] = seqs[i]
	}
	for i, c := range list {
		if seqs[i] == last[c.Memory] {
			current = append(current, c)
		}
	}
	return current
}
