package integrity

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// bandWindowSize limits the memories whose bands are in memory at once. Each window reads all bands of the workspace,
// as those are sorted by band.
const bandWindowSize = 1 << 17

// checkBands compares the LSH bands with those of the texts.
func (w *workspaceCheck) checkBands() error {
	if !w.canScanAll() {
		return nil
	}
	from := int64(math.MinInt64)
	window := cmp.Or(w.bandWindow, bandWindowSize)
	for start := 0; start == 0 || start < len(w.rowIDs); start += window {
		end, to := min(start+window, len(w.rowIDs)), int64(math.MaxInt64)
		if end < len(w.rowIDs) {
			to = w.rowIDs[end] - 1
		}
		have, err := w.readBands(from, to)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(w.rowIDs[start:end], rowBatchSize) {
			err := w.readRows(part, func(m indexdb.MemoryRow) error {
				got, want := have[m.RowID], textBands(&m)
				if slices.Sort(got); !slices.Equal(got, want) && corruption(&m) == "" {
					w.report(InconsistentBands, m.ID, w.repairBands(m.RowID, got),
						"it is found by %d bands, of which %d are its own; its text has %d", len(got),
						countCommon(got, want), len(want))
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, rowID := range part { // also unreadable ones
				delete(have, rowID)
			}
		}
		for _, rowID := range slices.Sorted(maps.Keys(have)) {
			w.report(InconsistentBands, w.id, w.repairBands(rowID, have[rowID]),
				"%d bands are of row %d, which is gone", len(have[rowID]), rowID)
		}
		from = to + 1 // past the last window no memory is left
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

// readBands returns the bands of the memories with row ids between from and to.
func (w *workspaceCheck) readBands(from, to int64) (map[int64][]int64, error) {
	have := map[int64][]int64{}
	band, memory := int64(math.MinInt64), int64(math.MinInt64)
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := w.t.Query(
			`SELECT band, memory FROM minhash_bands WHERE workspace = ?1 AND (band, memory) > (?2, ?3)
				ORDER BY band, memory LIMIT ?4`,
			[]any{w.workspace, band, memory, listBatchSize}, func(r sqldb.Row) error {
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

// repairBands replaces the bands of a memory, had, with those of its text.
func (w *workspaceCheck) repairBands(rowID int64, had []int64) func(*sqldb.Tx) (string, error) {
	return func(t *sqldb.Tx) (string, error) {
		m, err := indexdb.LockMemoryRow(t, rowID)
		if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return "", err
		}
		err = minhashdb.Delete(t, w.workspace, rowID, had)
		if err != nil || m.RowID == 0 || m.Workspace != w.workspace {
			return "removed them", err
		}
		return "rebuilt", minhashdb.Insert(t, w.workspace, rowID, textBands(&m))
	}
}
