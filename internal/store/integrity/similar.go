package integrity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// textBands returns the LSH bands of the text, ascending. Only active memories have some.
func textBands(m *indexdb.MemoryRow) []int64 {
	if m.Status != 0 {
		return nil
	}
	bands := minhash.Bands(m.Content)
	slices.Sort(bands)
	return slices.Compact(bands)
}

// digestBands returns the sum of a hash of each band, so that bands may come in any order.
func digestBands(bands ...int64) (sum uint64) {
	for _, band := range bands {
		x := uint64(band) + 0x9e3779b97f4a7c15 // the finalizer of SplitMix64 (Steele et al. 2014)
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		sum += x ^ x>>31
	}
	return sum
}

// readBands reads the digest of the bands of each memory. Those of an unreadable table are not compared.
func (w *workspaceCheck) readBands() error {
	w.bands = nil
	if !w.canScanAll() {
		return nil
	}
	digests := make([]uint64, len(w.rowIDs))
	err := eachBand(w.t, w.workspace, func(x band) {
		if i, ok := slices.BinarySearch(w.rowIDs, x.memory); ok {
			digests[i] += digestBands(x.band)
		} else {
			w.differ(InconsistentBands, "a band is of row %d, which is gone", x.memory)
		}
	})
	if err == nil {
		w.bands = digests
	}
	return err
}

// A band is a row of minhash_bands.
type band struct{ band, memory int64 }

// firstBand comes before all others.
var firstBand = band{math.MinInt64, math.MinInt64}

// eachBand calls f with the bands of a workspace in their order.
func eachBand(t *sqldb.Tx, workspace int64, f func(band)) error {
	after := firstBand
	for n := listBatchSize; n == listBatchSize; {
		list, err := listBands(t, workspace, after)
		for _, after = range list {
			f(after)
		}
		if n = len(list); err != nil {
			return err
		}
	}
	return nil
}

// listBands lists the next bands of a workspace, at most listBatchSize.
func listBands(t *sqldb.Tx, workspace int64, after band) (list []band, err error) {
	err = t.Query(`SELECT band, memory FROM minhash_bands WHERE workspace = ?1 AND (band, memory) > (?2, ?3)
		ORDER BY band, memory LIMIT ?4`, []any{workspace, after.band, after.memory, listBatchSize},
		func(r sqldb.Row) error {
			var x band
			err := r.Scan(&x.band, &x.memory)
			list = append(list, x)
			return err
		})
	return list, err
}

// checkBands compares the bands of a memory with those of its text.
func (w *workspaceCheck) checkBands(i int, m *indexdb.MemoryRow) {
	if w.bands != nil && w.bands[i] != digestBands(textBands(m)...) {
		w.differ(InconsistentBands, "the bands of the memory %s are not those of its text", m.ID)
	}
}

// rebuildBands inserts the bands of the memories of a workspace, and then deletes the others. Searches for duplicates
// find all memories meanwhile. Those of damaged memories stay.
func rebuildBands(ctx context.Context, c *Checker, workspace int64) error {
	want := map[int64]uint64{} // digests by memory
	if err := inBatches("memories", rebuildBatchSize, func(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
		list, err := lockProved(t, rowIDs)
		for _, m := range list {
			if err == nil {
				bands := textBands(&m)
				want[m.RowID] = digestBands(bands...)
				err = minhashdb.Insert(t, workspace, m.RowID, bands)
			}
		}
		return err
	})(ctx, c, workspace); err != nil {
		return err
	}
	have, err := sqldb.SystemRead(ctx, c.db, "read bands", func(t *sqldb.Tx) (map[int64]uint64, error) {
		have := map[int64]uint64{}
		return have, eachBand(t, workspace, func(x band) { have[x.memory] += digestBands(x.band) })
	})
	if err != nil {
		return err
	}
	isRight := func(x band) bool { digest, ok := want[x.memory]; return ok && have[x.memory] == digest }
	return deleteBands(ctx, c, workspace, isRight)
}

// deleteBands deletes the bands that are not those of a text. It takes the memories of the right ones as they are.
func deleteBands(ctx context.Context, c *Checker, workspace int64, isRight func(band) bool) error {
	after := firstBand
	for n := listBatchSize; n == listBatchSize; {
		list, err := sqldb.SystemRead(ctx, c.db, "list bands", func(t *sqldb.Tx) ([]band, error) {
			return listBands(t, workspace, after)
		})
		if err != nil {
			return err
		}
		if n = len(list); n > 0 {
			after = list[n-1]
		}
		list = slices.DeleteFunc(list, isRight)
		slices.SortFunc(list, func(a, b band) int { return cmp.Compare(a.memory, b.memory) })
		for some := range slices.Chunk(list, rebuildBatchSize) {
			if _, err := sqldb.System(ctx, c.db, "delete bands", func(t *sqldb.Tx) (loci.Empty, error) {
				return loci.Empty{}, deleteWrongBands(t, workspace, some)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteWrongBands deletes those of the bands that are not of the text of their memory. They are ordered by memory.
func deleteWrongBands(t *sqldb.Tx, workspace int64, list []band) error {
	for len(list) > 0 {
		memory := list[0].memory
		m, err := indexdb.LockMemoryRow(t, memory)
		if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return err
		}
		isGone := err != nil || m.Workspace != workspace && !m.IsDamaged
		var right, wrong []int64
		if !isGone {
			right = textBands(&m)
		}
		for ; len(list) > 0 && list[0].memory == memory; list = list[1:] {
			if !slices.Contains(right, list[0].band) {
				wrong = append(wrong, list[0].band)
			}
		}
		if isGone || !m.IsDamaged {
			if err := minhashdb.Delete(t, workspace, memory, wrong); err != nil {
				return err
			}
		}
	}
	return nil
}

// vectorState is what is stored of the vectors of some memories.
type vectorState struct {
	generation int64           // of the active model; 0 if there is none
	texts      map[int64]int64 // the hash of the embedded text, or 0 for a queued memory
	broken     map[int64]bool  // a vector has another checksum
}

// readVectors reads the state of the vectors of memories. A database without an embedder so far has none.
func readVectors(t *sqldb.Tx, rowIDs []int64) (v vectorState, err error) {
	v = vectorState{texts: map[int64]int64{}, broken: map[int64]bool{}}
	err = t.QueryRow(`SELECT g.row_id FROM generations g JOIN metadata n ON n.name = 'vectors' AND n.value = g.name`,
		nil, []any{&v.generation})
	if errors.Is(err, sqldb.ErrNoRows) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	in := fmt.Sprintf(t.Dialect.InList, "memory", 1)
	args := []any{sqldb.EncodeInts(rowIDs), v.generation}
	var memory, text int64
	if err = t.Query(`SELECT memory, text_hash FROM vectors v WHERE `+in+` AND generation = ?2 AND chunk = 0
		AND seq = (SELECT max(p.seq) FROM vectors p WHERE p.memory = v.memory AND p.generation = ?2)
		UNION ALL SELECT memory, 0 FROM embedding_queue WHERE `+in, args, func(r sqldb.Row) error {
		err := r.Scan(&memory, &text)
		if _, twice := v.texts[memory]; !twice || text == 0 {
			v.texts[memory] = text
		}
		return err
	}); err != nil {
		return v, err
	}
	return v, t.Query(`SELECT DISTINCT v.memory FROM vectors v WHERE v.`+in+` AND v.generation = ?2 AND`+
		sqldb.ChecksumTables()["vectors"].DamageCondition(t.Dialect, "v"), args, func(r sqldb.Row) error {
		err := r.Scan(&memory)
		v.broken[memory] = true
		return err
	})
}

// difference returns how the vectors of a memory are not those of its text, or "".
func (v vectorState) difference(m *indexdb.MemoryRow) string {
	text, there := v.texts[m.RowID]
	switch {
	case v.generation == 0:
		return ""
	case v.broken[m.RowID]:
		return "the checksum of a vector is another one"
	case !there:
		return "it has no vectors and does not wait for any"
	case text != 0 && text != embeddb.TextHash(m.Title, m.Content):
		return "its vectors are those of another text"
	}
	return ""
}

// rebuildVectors queues the memories whose vectors are not those of their text. It deletes broken vectors before, so
// that none is copied.
func rebuildVectors(c *Checker, t *sqldb.Tx, rowIDs []int64) error {
	list, err := lockProved(t, rowIDs)
	if err != nil {
		return err
	}
	v, err := readVectors(t, rowIDs)
	if err != nil {
		return err
	}
	for _, m := range list {
		if v.difference(&m) == "" {
			continue
		}
		if v.broken[m.RowID] {
			if _, err := t.Exec(`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2`, m.RowID,
				v.generation); err != nil {
				return err
			}
		}
		if err := c.embedder.Enqueue(t, m.RowID); err != nil {
			return err
		}
	}
	return nil
}
