package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// corruption returns the inconsistency within the row, or "". Data derived from
// such a row are not rebuilt: they may be the only record of its former
// content.
func corruption(m *indexdb.MemoryRow) string {
	tags, err := sqldb.DecodeStrings(m.Tags)
	if err != nil || m.Kind < 0 || m.Kind >= len(loci.MemoryTypes) || m.Status < 0 ||
		m.Status >= len(loci.MemoryStatuses) {
		return "its type, status or tags are none that there are"
	}
	if m.Checksum != memoryChecksum(loci.Memory{ID: m.ID, Title: m.Title, Content: m.Content,
		Type: loci.MemoryTypeAt(m.Kind), Tags: tags,
		Status: loci.MemoryStatusAt(m.Status), Version: m.Version, CreatedBy: m.CreatedBy,
		CreatedAt: loci.Time(m.Created), UpdatedAt: loci.Time(m.Updated),
		ArchivedAt: loci.Time(m.ArchivedAt), VerifiedAt: loci.Time(m.VerifiedAt), VerifiedBy: m.VerifiedBy,
		ValidUntil: loci.Time(m.ValidUntil),
		Evidence:   m.Evidence, Confidence: m.Confidence, Source: &m.Source}) {
		return "its checksum is another one: its text, title, tags, source, type, status or review is damaged"
	}
	return ""
}

// signature is what the memory should be found by as a near duplicate, rising.
func signature(m *indexdb.MemoryRow) []int64 {
	if m.Status != 0 {
		return nil
	}
	bands := minhash.Signature(m.Content)
	slices.Sort(bands)
	return slices.Compact(bands)
}

// readRows calls f with the rows of memories, which may be few. Nothing is asked of
// the database until all are read. Those that it cannot read are left out. They are
// read by their numbers (the + keeps an index away that may be damaged).
func (i *integrityChecker) readRows(rowIDs []int64, f func(indexdb.MemoryRow) error) error {
	var list []indexdb.MemoryRow
	err := i.readInBatches(rowIDs, func(part []int64) error {
		before := len(list)
		err := i.t.conn.Query(`SELECT`+indexdb.MemoryColumns+`FROM memories e WHERE +e.workspace = ?2 AND `+
			fmt.Sprintf(i.t.conn.Dialect.InList, "e.row_id", 1)+` ORDER BY e.row_id`,
			[]any{sqldb.EncodeInts(part), i.workspace}, func(r sqldb.Row) error {
				list = append(list, indexdb.MemoryRow{})
				return list[len(list)-1].Scan(r)
			})
		if err != nil {
			list = list[:before]
		}
		return err
	})
	i.progress(len(list))
	if err == nil && len(list) < len(rowIDs) {
		i.noteMissing(rowIDs, list)
	}
	for _, m := range list {
		if err == nil {
			err = f(m)
		}
	}
	return err
}

// noteMissing notes the memories that an index lists and the table does not have.
func (i *integrityChecker) noteMissing(rowIDs []int64, list []indexdb.MemoryRow) {
	for _, rowID := range rowIDs {
		_, known := i.unreadable[rowID]
		if !known && i.exists(rowID) && !slices.ContainsFunc(list, func(m indexdb.MemoryRow) bool {
			return m.RowID == rowID
		}) {
			i.unreadable[rowID] = "an index has it, and the table does not"
		}
	}
}

// canScanAll reports whether a look at all of the workspace is cheap enough for what
// was asked for.
func (i *integrityChecker) canScanAll() bool {
	return i.sampleSize == 0 || len(i.rowIDs) <= listBatchSize
}

func (i *integrityChecker) checkCounters() error {
	if !i.canScanAll() {
		return nil
	}
	type atlas struct {
		rid  int64
		id   string
		have indexdb.Counters
	}
	var list []atlas
	err := i.t.conn.Query(
		`SELECT a.row_id, a.id, a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c
			WHERE c.workspace = ?1 AND c.atlas = a.row_id),
		a.bytes + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c WHERE c.workspace = ?1
			AND c.atlas = a.row_id)
		FROM atlases a WHERE a.workspace = ?1 ORDER BY a.row_id`, []any{i.workspace}, func(r sqldb.Row) error {
			var a atlas
			err := r.Scan(&a.rid, &a.id, &a.have.Memories, &a.have.Bytes)
			list = append(list, a)
			return err
		})
	for _, a := range list {
		var is indexdb.Counters
		if err == nil {
			err = i.t.conn.QueryRow(
				`SELECT count(*), CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e
					WHERE e.atlas = ?1`, []any{a.rid}, []any{&is.Memories, &is.Bytes})
		}
		if err == nil && is != a.have {
			i.report(InconsistentCounters, a.id, func(t *SystemTx) (string, error) {
				return t.recount(i.workspace, a.rid)
			},
				"the atlas counts %d memories of %d bytes and has %d of %d", a.have.Memories, a.have.Bytes, is.Memories,
				is.Bytes)
		}
	}
	return err
}

// checkRows looks at each row by itself, and at its versions and links.
func (i *integrityChecker) checkRows() error {
	return i.readInBatches(i.selected(), func(part []int64) error { return i.readRows(part, i.checkRow) })
}

// repairHash makes the hash of a memory's text anew, where the text is not damaged.
func (i *integrityChecker) repairHash(rowID int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		m, err := indexdb.LockMemoryRow(t.t.conn, rowID)
		if errors.Is(err, sqldb.ErrNoRows) || err == nil && corruption(&m) != "" {
			return alreadyDeleted, nil
		}
		if err == nil {
			_, err = t.t.exec(`UPDATE memories SET hash = ?2 WHERE row_id = ?1`, rowID, contentHash(m.Content))
		}
		return "made anew", err
	}
}

func (i *integrityChecker) checkRow(m indexdb.MemoryRow) error {
	if what := corruption(&m); what != "" {
		i.report(InconsistentRows, m.ID, nil, "%s", what)
	} else if m.Hash != contentHash(m.Content) {
		i.report(InconsistentRows, m.ID, i.repairHash(m.RowID),
			"the hash of its text is another one, and the text has its checksum")
	}
	var home int64
	if err := i.t.conn.QueryRow(`SELECT COALESCE((SELECT a.workspace FROM atlases a WHERE a.row_id = ?1), 0)`,
		[]any{m.Atlas}, []any{&home}); err != nil {
		return err
	}
	if home != i.workspace {
		i.report(InconsistentRows, m.ID, nil, "its atlas is not one of its workspace")
	}
	if what, err := i.checkVersions(m); err != nil || what != "" {
		if err != nil {
			return err
		}
		i.report(InconsistentVersions, m.ID, nil, "%s", what)
	}
	return i.checkLinks(m)
}
