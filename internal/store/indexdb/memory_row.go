package indexdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// MemoryColumns are the columns that MemoryRow.Scan reads from memories e.
const MemoryColumns = ` e.row_id, e.id, e.workspace, e.atlas, e.title, e.content, e.hash, e.type,
	e.status, e.tags, e.version, e.created_at, e.verified_at, e.valid_until,
	e.superseded_by, e.supersedes, e.source_name, e.source_uri, e.source_group, e.source_position,
	e.created_by, e.updated_at, e.archived_at, e.verified_by, e.evidence, e.confidence, e.checksum `

// A MemoryRow is the row of a memory as it is stored, valid or not.
type MemoryRow struct {
	RowID, Workspace, Atlas, Hash, Created, VerifiedAt, ValidUntil int64
	Updated, ArchivedAt                                            int64
	Kind, Status, Version                                          int
	ID, SupersededBy, CreatedBy, VerifiedBy                        loci.ID
	Title, Content, Tags, Supersedes, Evidence                     string
	Source                                                         loci.Source
	Confidence                                                     *loci.Confidence
	Checksum                                                       int64
}

// Scan reads MemoryColumns.
func (m *MemoryRow) Scan(r sqldb.Row) error {
	return r.Scan(&m.RowID, &m.ID, &m.Workspace, &m.Atlas, &m.Title, &m.Content, &m.Hash, &m.Kind, &m.Status, &m.Tags,
		&m.Version, &m.Created, &m.VerifiedAt, &m.ValidUntil,
		&m.SupersededBy, &m.Supersedes, &m.Source.Name, &m.Source.URI, &m.Source.Group, &m.Source.Position,
		&m.CreatedBy, &m.Updated, &m.ArchivedAt, &m.VerifiedBy, &m.Evidence, &m.Confidence, &m.Checksum)
}

// DocUpdate returns what the index should hold of the memory.
func (m *MemoryRow) DocUpdate() index.DocUpdate {
	tags, _ := sqldb.DecodeStrings[string](m.Tags) // an invalid list counts as none; the row is reported by itself
	group, position := SourceGroup(&m.Source)
	return index.DocUpdate{Document: index.Analyze(m.Title, m.Content),
		DocAttributes: index.DocAttributes{Memory: m.RowID, Atlas: m.Atlas, Created: m.Created,
			ValidUntil: m.ValidUntil, Kind: uint8(m.Kind), Status: uint8(m.Status), Verified: m.VerifiedAt != 0,
			Tags: tags, Group: group, Position: position}}
}

// LockMemoryRow returns the row of a memory, which stays as it is until the commit.
func LockMemoryRow(t *sqldb.Tx, rowID int64) (m MemoryRow, err error) {
	err = m.Scan(t.Row(`SELECT`+MemoryColumns+`FROM memories e WHERE e.row_id = ?1`+
		t.LockClause("NO KEY UPDATE", "e"), rowID))
	return m, err
}
