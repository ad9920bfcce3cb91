package indexdb

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/record"
	"github.com/loci-memory/loci/internal/title"
)

// MemoryFields are the fields of a memory as a row stores them, valid or not. Those that a row stores in another form
// hide the fields of Memory.
type MemoryFields struct {
	loci.Memory
	Type, Status     int // indexes in loci.MemoryTypes and loci.MemoryStatuses
	Tags, Supersedes string
	Attachments      string
	Source           loci.Source
	TitleDerived     *bool // nil in a row from before the column
}

// Groups of columns that some updates write.
const (
	OnReview = record.Group + iota
	OnStatus
)

// MemoryTable has the columns of memories that are fields of a memory, except the ids of workspace and atlas.
var MemoryTable = record.Table[MemoryFields]{
	record.Of("id", record.Inserted, func(f *MemoryFields) *loci.ID { return &f.ID }),
	record.Of("title", record.Always, func(f *MemoryFields) *string { return &f.Title }),
	record.Of("content", record.Changed, func(f *MemoryFields) *string { return &f.Content }),
	record.Of("type", record.Changed, func(f *MemoryFields) *int { return &f.Type }), // one of a newer version is kept
	record.Of("tags", record.Always, func(f *MemoryFields) *string { return &f.Tags }),
	record.Of("status", record.Changed, func(f *MemoryFields) *int { return &f.Status }),
	record.Of("version", record.Always, func(f *MemoryFields) *int { return &f.Version }),
	record.Of("created_by", record.Inserted, func(f *MemoryFields) *loci.ID { return &f.CreatedBy }),
	record.Of("agent_id", record.Inserted, func(f *MemoryFields) *loci.ID { return &f.AgentID }),
	record.Of("session_id", record.Inserted, func(f *MemoryFields) *loci.ID { return &f.SessionID }),
	record.Of("created_at", record.Inserted, func(f *MemoryFields) *loci.Time { return &f.CreatedAt }),
	record.Of("updated_at", record.Always, func(f *MemoryFields) *loci.Time { return &f.UpdatedAt }),
	record.Of("source_name", record.Inserted, func(f *MemoryFields) *loci.SourceText { return &f.Source.Name }),
	record.Of("source_uri", record.Inserted, func(f *MemoryFields) *loci.SourceText { return &f.Source.URI }),
	record.Of("source_group", record.Inserted, func(f *MemoryFields) *loci.SourceText { return &f.Source.Group }),
	record.Of("source_position", record.Inserted, func(f *MemoryFields) **int64 { return &f.Source.Position }),
	record.Of("verified_at", OnReview, func(f *MemoryFields) *loci.Time { return &f.VerifiedAt }),
	record.Of("verified_by", OnReview, func(f *MemoryFields) *loci.ID { return &f.VerifiedBy }),
	record.Of("evidence", OnReview, func(f *MemoryFields) *string { return &f.Evidence }),
	record.Of("confidence", OnReview, func(f *MemoryFields) **loci.Confidence { return &f.Confidence }),
	record.Of("valid_until", OnReview, func(f *MemoryFields) *loci.Time { return &f.ValidUntil }),
	record.Of("superseded_by", OnStatus, func(f *MemoryFields) *loci.ID { return &f.SupersededBy }),
	record.Of("supersedes", record.Elsewhere, func(f *MemoryFields) *string { return &f.Supersedes }),
	record.Of("archived_at", OnStatus, func(f *MemoryFields) *loci.Time { return &f.ArchivedAt }),
	record.Of("attachments", record.Elsewhere, func(f *MemoryFields) *string { return &f.Attachments }),
	record.Of("title_derived", record.Changed, func(f *MemoryFields) **bool { return &f.TitleDerived }),
}

// MemoryColumns are the columns of MemoryTable, of memories e.
var MemoryColumns = MemoryTable.List("e.")

// FieldsOf returns the fields that a write stores of a memory. It leaves out those that other statements write.
func FieldsOf(m loci.Memory) MemoryFields {
	derived := m.TitleDerived
	f := MemoryFields{Memory: m, Type: slices.Index(loci.MemoryTypes, m.Type),
		Status: slices.Index(loci.MemoryStatuses, m.Status), Tags: sqldb.EncodeStrings(m.Tags),
		TitleDerived: &derived}
	if m.Source != nil {
		f.Source = *m.Source
	}
	return f
}

// Record returns the memory. With an error of its lists, the other fields are complete.
func (f *MemoryFields) Record() (m loci.Memory, err error) {
	m = f.Memory
	m.Type, m.Status = loci.MemoryTypeAt(f.Type), loci.MemoryStatusAt(f.Status)
	m.TitleDerived = title.IsDerived(f.TitleDerived, m.Title, m.Content)
	if f.Source != (loci.Source{}) {
		source := f.Source
		m.Source = &source
	}
	if m.Tags, err = sqldb.DecodeStrings[string](f.Tags); err != nil {
		return m, err
	}
	if f.Supersedes != sqldb.EmptyList {
		m.Supersedes, err = sqldb.DecodeStrings[loci.ID](f.Supersedes)
	}
	if err == nil && f.Attachments != sqldb.EmptyList {
		m.AttachmentIDs, err = sqldb.DecodeStrings[loci.ID](f.Attachments)
	}
	return m, err
}

// MemoryRowColumns returns the columns that MemoryRow.Scan reads from memories e.
func MemoryRowColumns(d *sqldb.Dialect) string {
	return MemoryColumns + `, e.row_id, e.workspace, e.atlas, e.hash,` +
		sqldb.ChecksumTables()["memories"].DamageCondition(d, "e")
}

// A MemoryRow is the row of a memory as it is stored, valid or not. A damaged one differs from its checksum. Data
// derived from it are not rebuilt: they may be the only record of its former content.
type MemoryRow struct {
	MemoryFields
	RowID, Workspace, Atlas, Hash int64
	IsDamaged                     bool
}

// Scan reads MemoryRowColumns.
func (m *MemoryRow) Scan(r sqldb.Row) error {
	return r.Scan(append(MemoryTable.Dest(&m.MemoryFields), &m.RowID, &m.Workspace, &m.Atlas, &m.Hash, &m.IsDamaged)...)
}

// DocAttributes returns the attributes that the index should hold of the memory. An invalid list of tags counts as
// none: the row is reported by itself.
func (m *MemoryRow) DocAttributes() index.DocAttributes {
	record, _ := m.Record()
	return DocAttributes(m.RowID, m.Atlas, record)
}

// LockMemoryRow returns the row of a memory, which stays as it is until the commit.
func LockMemoryRow(t *sqldb.Tx, rowID int64) (m MemoryRow, err error) {
	err = m.Scan(t.Row(`SELECT`+MemoryRowColumns(t.Dialect)+`FROM memories e WHERE e.row_id = ?1`+
		t.LockClause("NO KEY UPDATE", "e"), rowID))
	return m, err
}
