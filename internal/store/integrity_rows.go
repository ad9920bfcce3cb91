package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
)

const rawMemoryColumns = ` e.row_id, e.id, e.workspace, e.atlas, e.title, e.content, e.hash, e.type,
	e.status, e.tags, e.version, e.created_at, e.verified_at, e.valid_until,
	e.superseded_by, e.supersedes, e.source_name, e.source_uri, e.source_group, e.source_position,
	e.created_by, e.updated_at, e.archived_at, e.verified_by, e.evidence, e.confidence, e.checksum `

// rawMemory is the row of a memory as it stands there, whatever that means.
type rawMemory struct {
	rowID, workspace, atlas, hash, created, verifiedAt, validUntil int64
	updated, archivedAt                                            int64
	kind, status, version                                          int
	id, title, content, tags, supersededBy, supersedes             string
	createdBy, verifiedBy, evidence                                string
	source                                                         loci.Source
	confidence                                                     *loci.Confidence
	checksum                                                       int64
}

func (m *rawMemory) scan(r sqldb.Row) error {
	return r.Scan(&m.rowID, &m.id, &m.workspace, &m.atlas, &m.title, &m.content, &m.hash, &m.kind, &m.status, &m.tags,
		&m.version, &m.created, &m.verifiedAt, &m.validUntil,
		&m.supersededBy, &m.supersedes, &m.source.Name, &m.source.URI, &m.source.Group, &m.source.Position,
		&m.createdBy, &m.updated, &m.archivedAt, &m.verifiedBy, &m.evidence, &m.confidence, &m.checksum)
}

// corruption returns the inconsistency within the row, or "". Data derived from
// such a row are not rebuilt: they may be the only record of its former
// content.
func (m *rawMemory) corruption() string {
	tags, err := sqldb.DecodeStrings(m.tags)
	if err != nil || m.kind < 0 || m.kind >= len(loci.MemoryTypes) || m.status < 0 ||
		m.status >= len(loci.MemoryStatuses) {
		return "its type, status or tags are none that there are"
	}
	if m.checksum != memoryChecksum(loci.Memory{ID: m.id, Title: m.title, Content: m.content,
		Type: loci.MemoryTypeAt(m.kind), Tags: tags,
		Status: loci.MemoryStatusAt(m.status), Version: m.version, CreatedBy: m.createdBy,
		CreatedAt: loci.Time(m.created), UpdatedAt: loci.Time(m.updated),
		ArchivedAt: loci.Time(m.archivedAt), VerifiedAt: loci.Time(m.verifiedAt), VerifiedBy: m.verifiedBy,
		ValidUntil: loci.Time(m.validUntil),
		Evidence:   m.evidence, Confidence: m.confidence, Source: &m.source}) {
		return "its checksum is another one: its text, title, tags, source, type, status or review is damaged"
	}
	return ""
}

// docUpdate is what the index should know of the memory.
func (m *rawMemory) docUpdate() index.DocUpdate {
	tags, _ := sqldb.DecodeStrings(m.tags) // what is none has no tags; the row is told of by itself
	group, position := sourceGroup(&m.source)
	return index.DocUpdate{Document: index.Analyze(m.title, m.content),
		DocAttributes: index.DocAttributes{Memory: m.rowID, Atlas: m.atlas, Created: m.created,
			ValidUntil: m.validUntil, Kind: uint8(m.kind), Status: uint8(m.status), Verified: m.verifiedAt != 0,
			Tags:  tags,
			Group: group, Position: position}}
}

// signature is what the memory should be found by as a near duplicate, rising.
func (m *rawMemory) signature() []int64 {
	if m.status != 0 {
		return nil
	}
	bands := minhash.Signature(m.content)
	slices.Sort(bands)
	return slices.Compact(bands)
}

// readRows calls f with the rows of memories, which may be few. Nothing is asked of
// the database until all are read. Those that it cannot read are left out. They are
// read by their numbers (the + keeps an index away that may be damaged).
func (i *integrityChecker) readRows(rowIDs []int64, f func(rawMemory) error) error {
	var list []rawMemory
	err := i.readInBatches(rowIDs, func(part []int64) error {
		before := len(list)
		err := i.t.conn.Query(`SELECT`+rawMemoryColumns+`FROM memories e WHERE +e.workspace = ?2 AND `+
			fmt.Sprintf(i.t.conn.Dialect.InList, "e.row_id", 1)+` ORDER BY e.row_id`,
			[]any{sqldb.EncodeInts(part), i.workspace}, func(r sqldb.Row) error {
				list = append(list, rawMemory{})
				return list[len(list)-1].scan(r)
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
func (i *integrityChecker) noteMissing(rowIDs []int64, list []rawMemory) {
	for _, rowID := range rowIDs {
		_, known := i.unreadable[rowID]
		if !known && i.exists(rowID) && !slices.ContainsFunc(list, func(m rawMemory) bool { return m.rowID == rowID }) {
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
		have atlasCounters
	}
	var list []atlas
	err := i.t.conn.Query(
		`SELECT a.row_id, a.id, a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c
			WHERE c.workspace = ?1 AND c.atlas = a.row_id),
		a.bytes + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c WHERE c.workspace = ?1
			AND c.atlas = a.row_id)
		FROM atlases a WHERE a.workspace = ?1 ORDER BY a.row_id`, []any{i.workspace}, func(r sqldb.Row) error {
			var a atlas
			err := r.Scan(&a.rid, &a.id, &a.have.memories, &a.have.bytes)
			list = append(list, a)
			return err
		})
	for _, a := range list {
		var is atlasCounters
		if err == nil {
			err = i.t.conn.QueryRow(
				`SELECT count(*), CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e
					WHERE e.atlas = ?1`, []any{a.rid}, []any{&is.memories, &is.bytes})
		}
		if err == nil && is != a.have {
			i.report(InconsistentCounters, a.id, func(t *SystemTx) (string, error) {
				return t.recount(i.workspace, a.rid)
			},
				"the atlas counts %d memories of %d bytes and has %d of %d", a.have.memories, a.have.bytes, is.memories,
				is.bytes)
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
		m, err := t.lockMemoryRow(rowID)
		if errors.Is(err, sqldb.ErrNoRows) || err == nil && m.corruption() != "" {
			return alreadyDeleted, nil
		}
		if err == nil {
			_, err = t.t.exec(`UPDATE memories SET hash = ?2 WHERE row_id = ?1`, rowID, contentHash(m.content))
		}
		return "made anew", err
	}
}

func (i *integrityChecker) checkRow(m rawMemory) error {
	if what := m.corruption(); what != "" {
		i.report(InconsistentRows, m.id, nil, "%s", what)
	} else if m.hash != contentHash(m.content) {
		i.report(InconsistentRows, m.id, i.repairHash(m.rowID),
			"the hash of its text is another one, and the text has its checksum")
	}
	var home int64
	if err := i.t.conn.QueryRow(`SELECT COALESCE((SELECT a.workspace FROM atlases a WHERE a.row_id = ?1), 0)`,
		[]any{m.atlas}, []any{&home}); err != nil {
		return err
	}
	if home != i.workspace {
		i.report(InconsistentRows, m.id, nil, "its atlas is not one of its workspace")
	}
	if what, err := i.checkVersions(m); err != nil || what != "" {
		if err != nil {
			return err
		}
		i.report(InconsistentVersions, m.id, nil, "%s", what)
	}
	return i.checkLinks(m)
}
