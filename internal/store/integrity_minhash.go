package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// bandWindowSize is of how many memories the sketches are held at once. Each
// window costs a walk over all rows of the workspace, which lie in another order.
const bandWindowSize = 1 << 17

func (i *integrityChecker) checkSignatures() error {
	if !i.canScanAll() {
		return nil
	}
	from := int64(math.MinInt64)
	window := cmp.Or(i.bandWindow, bandWindowSize)
	for start := 0; start == 0 || start < len(i.rowIDs); start += window {
		end, to := min(start+window, len(i.rowIDs)), int64(math.MaxInt64)
		if end < len(i.rowIDs) {
			to = i.rowIDs[end] - 1
		}
		have, err := i.readBands(from, to)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(i.rowIDs[start:end], rowBatchSize) {
			err := i.readRows(part, func(m indexdb.MemoryRow) error {
				got, want := have[m.RowID], signature(&m)
				if slices.Sort(got); !slices.Equal(got, want) && corruption(&m) == "" {
					i.report(InconsistentSignatures, m.ID, i.repairSignature(m.RowID, got),
						"it is found by %d bands, of which %d are its own; its text has %d", len(got),
						countCommon(got, want), len(want))
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, rowID := range part { // also one that cannot be read
				delete(have, rowID)
			}
		}
		for _, rowID := range slices.Sorted(maps.Keys(have)) {
			i.report(InconsistentSignatures, i.id, i.repairSignature(rowID, have[rowID]),
				"%d bands are of row %d, which is gone", len(have[rowID]), rowID)
		}
		from = to + 1 // of no memory beyond the last window
	}
	return nil
}

func countCommon(a, b []int64) (n int) {
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// readBands reads by what memories with numbers from and to are found.
func (i *integrityChecker) readBands(from, to int64) (map[int64][]int64, error) {
	have := map[int64][]int64{}
	band, memory := int64(math.MinInt64), int64(math.MinInt64)
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := i.t.conn.Query(
			`SELECT band, memory FROM minhash_bands WHERE workspace = ?1 AND (band, memory) > (?2, ?3)
				ORDER BY band, memory LIMIT ?4`,
			[]any{i.workspace, band, memory, listBatchSize}, func(r sqldb.Row) error {
				err := r.Scan(&band, &memory)
				if n++; memory >= from && memory <= to {
					have[memory] = append(have[memory], band)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return have, nil
}

// repairSignature makes the bands of a memory those of its text. had are those it had.
func (i *integrityChecker) repairSignature(rowID int64, had []int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		m, err := indexdb.LockMemoryRow(t.t.conn, rowID)
		if err != nil && err != sqldb.ErrNoRows {
			return "", err
		}
		_, err = t.t.exec(`DELETE FROM minhash_bands WHERE workspace = ?1 AND memory = ?2 AND `+
			fmt.Sprintf(t.t.conn.Dialect.InList, "band", 3), i.workspace, rowID, sqldb.EncodeInts(had))
		if err != nil || m.RowID == 0 || m.Workspace != i.workspace {
			return "removed them", err
		}
		w := &Workspace{t: t.t, rowID: i.workspace}
		return "made anew", w.insertBands(rowID, signature(&m))
	}
}
