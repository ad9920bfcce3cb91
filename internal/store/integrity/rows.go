package integrity

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/title"
)

// checkMemories compares what is derived from each memory with its row.
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
	if m.IsDamaged {
		if w.sampleSize > 0 && !w.known[m.ID] { // a check of all compares the whole table before
			w.report(InconsistentRows, m.ID, "its checksum is another one")
		}
		return nil
	}
	if m.Hash != memorydb.ContentHash(m.Content) {
		w.differ(InconsistentRows, "the hash of the text of the memory %s is another one", m.ID)
	}
	if right := derivedTitle(&m); m.Title != right {
		w.differ(InconsistentRows, "the title of the memory %s is not that of its text", m.ID)
		m.Title = right // the repair writes it before index and vectors
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

// derivedTitle returns the title that a memory should have: its own if a person gave it, or the row is of schema 1.
func derivedTitle(m *indexdb.MemoryRow) string {
	if m.TitleDerived == nil || !*m.TitleDerived {
		return m.Title
	}
	return titleOf(m.Title, m.Content)
}

// titleOf returns the derived title of a text. A stored one may be redacted or not, and of the rule of schema 1.
func titleOf(stored, content string) string {
	derived := title.Derive(content)
	if stored == derived || title.IsDerived(nil, stored, content) {
		return stored
	}
	return secret.ApplyToTitle(loci.SecretsRedact, "", derived)
}

// rebuildRows computes the hashes and the derived titles of texts again.
func rebuildRows(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
	list, err := lockProved(t, rowIDs)
	for _, m := range list {
		hash, right := memorydb.ContentHash(m.Content), derivedTitle(&m)
		if err == nil && (hash != m.Hash || right != m.Title) {
			_, err = t.Exec(`UPDATE memories SET hash = ?2, title = ?3 WHERE row_id = ?1`, m.RowID, hash, right)
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
		err := w.t.Query(`SELECT`+indexdb.MemoryRowColumns(w.t.Dialect)+`FROM memories e WHERE +e.workspace = ?2 AND `+
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

// checkVersions returns a description of the lost versions of a memory, or "". Each number below the present one must
// have a version.
func (w *workspaceCheck) checkVersions(m indexdb.MemoryRow) (what string, err error) {
	next := m.Version
	err = w.t.Query(`SELECT v.version FROM versions v WHERE v.memory = ?1 ORDER BY v.version DESC`, []any{m.RowID},
		func(r sqldb.Row) error {
			var version int
			err := r.Scan(&version)
			switch {
			case err != nil:
				return err
			case version >= m.Version:
				what = fmt.Sprintf("version %d is not below the present one, %d", version, m.Version)
			case version != next-1 && what == "":
				what = fmt.Sprintf("version %d is missing", next-1)
			}
			next = version
			return nil
		})
	if next > 1 && what == "" {
		what = fmt.Sprintf("version %d is missing", next-1)
	}
	return what, err
}
