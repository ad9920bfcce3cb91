package integrity

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// corruption returns a description of the damage of a row, or "". Data derived from such a row are not rebuilt: they
// may be the only record of its former content.
func corruption(m *indexdb.MemoryRow) string {
	if _, err := sqldb.DecodeStrings[string](m.Tags); err != nil || m.Type < 0 || m.Type >= len(loci.MemoryTypes) ||
		m.Status < 0 || m.Status >= len(loci.MemoryStatuses) {
		return "its type, status or tags are invalid"
	}
	// Links are not in the checksum: checkLinks reports an invalid list. The checksum of a row from before the column
	// title_derived does not cover it.
	record, _ := m.Record()
	record.TitleDerived = m.TitleDerived != nil && *m.TitleDerived
	if m.Checksum != checksum.Memory(record) {
		return "its checksum is another one: its text, title, tags, source, type, status or review is damaged"
	}
	return ""
}

// textBands returns the LSH bands of the text, ascending. Only active memories have some.
func textBands(m *indexdb.MemoryRow) []int64 {
	if m.Status != 0 {
		return nil
	}
	bands := minhash.Bands(m.Content)
	slices.Sort(bands)
	return slices.Compact(bands)
}

// readRows calls f with the readable rows of memories, after it has read all of them. The + in its query prevents the
// use of an index, which may be damaged.
func (w *workspaceCheck) readRows(rowIDs []int64, f func(indexdb.MemoryRow) error) error {
	var list []indexdb.MemoryRow
	err := w.readInBatches(rowIDs, func(part []int64) error {
		before := len(list)
		err := w.t.Query(`SELECT`+indexdb.MemoryRowColumns+`FROM memories e WHERE +e.workspace = ?2 AND `+
			fmt.Sprintf(w.t.Dialect.InList, "e.row_id", 1)+` ORDER BY e.row_id`,
			[]any{sqldb.EncodeInts(part), w.workspace}, func(r sqldb.Row) error {
				list = append(list, indexdb.MemoryRow{})
				return list[len(list)-1].Scan(r)
			})
		if err != nil {
			list = list[:before]
		}
		return err
	})
	w.progress(len(list))
	if err == nil && len(list) < len(rowIDs) {
		w.noteMissing(rowIDs, list)
	}
	for _, m := range list {
		if err == nil {
			err = f(m)
		}
	}
	return err
}

// noteMissing records the memories that an index lists and the table does not have.
func (w *workspaceCheck) noteMissing(rowIDs []int64, list []indexdb.MemoryRow) {
	for _, rowID := range rowIDs {
		_, known := w.unreadable[rowID]
		if !known && w.exists(rowID) && !slices.ContainsFunc(list, func(m indexdb.MemoryRow) bool {
			return m.RowID == rowID
		}) {
			w.unreadable[rowID] = "an index has it, and the table does not"
		}
	}
}

// canScanAll reports whether the check may read the whole workspace. A sample may only if that is small.
func (w *workspaceCheck) canScanAll() bool {
	return w.sampleSize == 0 || len(w.rowIDs) <= listBatchSize
}

// checkRows checks each row with its versions and links.
func (w *workspaceCheck) checkRows() error {
	return w.readInBatches(w.selected(), func(part []int64) error { return w.readRows(part, w.checkRow) })
}

// repairHash computes the hash of a text again, unless the text is damaged.
func (w *workspaceCheck) repairHash(rowID int64) func(*sqldb.Tx) (string, error) {
	return func(t *sqldb.Tx) (string, error) {
		m, err := indexdb.LockMemoryRow(t, rowID)
		if errors.Is(err, sqldb.ErrNoRows) {
			return alreadyDeleted, nil
		}
		if err == nil && corruption(&m) != "" {
			return "", notRepaired("its text is damaged now")
		}
		if err == nil {
			_, err = t.Exec(`UPDATE memories SET hash = ?2 WHERE row_id = ?1`, rowID, store.ContentHash(m.Content))
		}
		return "rebuilt", err
	}
}

func (w *workspaceCheck) checkRow(m indexdb.MemoryRow) error {
	if what := corruption(&m); what != "" {
		w.report(InconsistentRows, m.ID, nil, "%s", what)
	} else if m.Hash != store.ContentHash(m.Content) {
		w.report(InconsistentRows, m.ID, w.repairHash(m.RowID),
			"the hash of its text is another one, and the text has its checksum")
	}
	var home int64
	if err := w.t.QueryRow(`SELECT COALESCE((SELECT a.workspace FROM atlases a WHERE a.row_id = ?1), 0)`,
		[]any{m.Atlas}, []any{&home}); err != nil {
		return err
	}
	if home != w.workspace && !w.deleted[m.RowID] {
		w.report(InconsistentRows, m.ID, nil, "its atlas is not one of its workspace")
	}
	if what, err := w.checkVersions(m); err != nil || what != "" {
		if err != nil {
			return err
		}
		w.report(InconsistentVersions, m.ID, nil, "%s", what)
	}
	if w.deleted[m.RowID] {
		return nil
	}
	return w.checkLinks(m)
}
