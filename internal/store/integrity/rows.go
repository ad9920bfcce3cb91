package integrity

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// checkMemories compares each memory with its checksum, and what is derived from it with its row.
func (w *workspaceCheck) checkMemories() error {
	return w.readInBatches(w.selected(), func(part []int64) error {
		var vectors vectorState
		reason, err := w.attemptAlone(part, func() (err error) {
			vectors, err = readVectors(w.t, part)
			return err
		})
		if reason != "" {
			vectors = vectorState{}
			w.differ(InconsistentVectors, "the vectors of row %d cannot be read: %s", part[0], reason)
		}
		if err != nil {
			return err
		}
		err = w.readRows(part, func(m indexdb.MemoryRow) error { return w.checkMemory(m, part, vectors) })
		if err != nil {
			return err
		}
		reason, err = w.attemptAlone(part, func() error { return w.checkAttachments(part) })
		if reason != "" {
			w.report(InconsistentAttachments, w.id, "the attachments of row %d cannot be read: %s", part[0], reason)
		}
		return err
	})
}

// attemptAlone runs f, which reads more of the memories of a part than their rows. If that of a single memory is
// unreadable, it returns the reason, so that the row is checked nevertheless.
func (w *workspaceCheck) attemptAlone(part []int64, f func() error) (reason string, err error) {
	if len(part) > 1 {
		return "", f()
	}
	return w.withSavepoint(f)
}

// checkMemory checks a memory of a part. Data derived from a damaged row are not compared with it.
func (w *workspaceCheck) checkMemory(m indexdb.MemoryRow, part []int64, vectors vectorState) error {
	reason, err := w.attemptAlone(part, func() error {
		what, err := w.checkVersions(m)
		if what != "" {
			w.report(InconsistentVersions, m.ID, "%s", what)
		}
		return err
	})
	if reason != "" {
		w.report(InconsistentVersions, m.ID, "the versions cannot be read: %s", reason)
	}
	if err != nil {
		return err
	}
	var home int64
	if err := w.t.QueryRow(`SELECT COALESCE((SELECT a.workspace FROM atlases a WHERE a.row_id = ?1), 0)`,
		[]any{m.Atlas}, []any{&home}); err != nil {
		return err
	}
	if home != w.workspace && !w.deleted[m.RowID] {
		w.report(InconsistentRows, m.ID, "its atlas is not one of its workspace")
	}
	if what := m.Damage(); what != "" {
		w.report(InconsistentRows, m.ID, "%s", what)
		return nil
	}
	if m.Hash != memorydb.ContentHash(m.Content) {
		w.differ(InconsistentRows, "the hash of the text of the memory %s is another one", m.ID)
	}
	i, _ := slices.BinarySearch(w.rowIDs, m.RowID)
	w.checkDocument(i, &m)
	w.checkBands(i, &m)
	if what := vectors.difference(&m); what != "" {
		w.differ(InconsistentVectors, "memory %s: %s", m.ID, what)
	}
	if w.deleted[m.RowID] {
		return nil
	}
	reason, err = w.attemptAlone(part, func() error { return w.checkLinks(m) })
	if reason != "" {
		w.differ(InconsistentLinks, "memory %s: its links cannot be read: %s", m.ID, reason)
	}
	return err
}

// rebuildHashes computes the hashes of texts again.
func rebuildHashes(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
	list, err := lockHealthy(t, rowIDs)
	for _, m := range list {
		if hash := memorydb.ContentHash(m.Content); err == nil && hash != m.Hash {
			_, err = t.Exec(`UPDATE memories SET hash = ?2 WHERE row_id = ?1`, m.RowID, hash)
		}
	}
	return err
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
		if !known && !slices.ContainsFunc(list, func(m indexdb.MemoryRow) bool {
			return m.RowID == rowID
		}) {
			w.unreadable[rowID] = "an index has it, and the table does not"
		}
	}
}

// checkVersions returns a description of the damage of a memory's versions, or "". Each number below the current one
// must have a version with a text.
func (w *workspaceCheck) checkVersions(m indexdb.MemoryRow) (what string, err error) {
	const maximum = 100 // versions of one query
	next, text := m.Version, m.Content
	wrong := func(format string, args ...any) {
		if what == "" {
			what = fmt.Sprintf(format, args...)
		}
	}
	above := math.MaxInt32
	for n := maximum; n == maximum && what == ""; {
		n = 0
		err := w.t.Query(`SELECT`+memorydb.VersionColumns+
			`, v.checksum FROM versions v WHERE v.memory = ?1 AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3`,
			[]any{m.RowID, above, maximum}, func(r sqldb.Row) error {
				var v memorydb.VersionRow
				var sum int64
				err := v.Scan(r, &sum)
				n++
				switch above = v.Version; {
				case err != nil:
					return err
				case v.Version >= m.Version:
					wrong("version %d is not below the present one, %d", v.Version, m.Version)
				case v.Version != next-1:
					wrong("version %d is missing", next-1)
				case v.StoredContent != nil && v.Prefix != nil:
					wrong("version %d has a text and a length", v.Version)
				case v.Prefix != nil && (*v.Prefix < 0 || *v.Prefix > len(text)):
					wrong("version %d is %d bytes of a text of %d", v.Version, *v.Prefix, len(text))
				case v.Type < 0 || v.Type >= len(loci.MemoryTypes) || v.Status < 0 ||
					v.Status >= len(loci.MemoryStatuses):
					wrong("version %d has a type or status that is none", v.Version)
				default:
					v.ResolveContent(text)
					if text = v.Content; !utf8.ValidString(text) {
						wrong("version %d ends within a character", v.Version)
					}
					v.TitleDerived = v.StoredDerived != nil && *v.StoredDerived // as in MemoryRow.Damage
					if record, err := v.Record(); err != nil || sum != checksum.Version(record) {
						wrong("the checksum of version %d is another one", v.Version)
					}
				}
				next = v.Version
				return nil
			})
		if err != nil {
			return "", err
		}
	}
	if next > 1 {
		wrong("version %d is missing", next-1)
	}
	return what, nil
}
