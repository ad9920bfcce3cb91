package indexdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/title"
)

// MemoryColumns are the columns of memories e for MemoryFields.Dest. They lack the ids of workspace and atlas.
const MemoryColumns = ` e.id, e.title, e.content, e.type, e.tags, e.status, e.version,
	e.created_by, e.agent_id, e.session_id, e.created_at, e.updated_at,
	e.source_name, e.source_uri, e.source_group, e.source_position,
	e.verified_at, e.verified_by, e.evidence, e.confidence, e.valid_until, e.superseded_by, e.supersedes,
	e.archived_at, e.attachments, e.title_derived `

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

// Dest returns the destinations of a scan of MemoryColumns.
func (f *MemoryFields) Dest() []any {
	return append(make([]any, 0, 32), &f.ID, &f.Title, &f.Content, &f.Type, &f.Tags, &f.Status, &f.Version,
		&f.CreatedBy, &f.AgentID, &f.SessionID, &f.CreatedAt, &f.UpdatedAt,
		&f.Source.Name, &f.Source.URI, &f.Source.Group, &f.Source.Position,
		&f.VerifiedAt, &f.VerifiedBy, &f.Evidence, &f.Confidence, &f.ValidUntil, &f.SupersededBy, &f.Supersedes,
		&f.ArchivedAt, &f.Attachments, &f.TitleDerived)
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

// MemoryRowColumns are the columns that MemoryRow.Scan reads from memories e.
const MemoryRowColumns = MemoryColumns + `, e.row_id, e.workspace, e.atlas, e.hash, e.checksum `

// A MemoryRow is the row of a memory as it is stored, valid or not.
type MemoryRow struct {
	MemoryFields
	RowID, Workspace, Atlas, Hash, Checksum int64
}

// Scan reads MemoryRowColumns.
func (m *MemoryRow) Scan(r sqldb.Row) error {
	return r.Scan(append(m.Dest(), &m.RowID, &m.Workspace, &m.Atlas, &m.Hash, &m.Checksum)...)
}

// DocAttributes returns the attributes that the index should hold of the memory. An invalid list of tags counts as
// none: the row is reported by itself.
func (m *MemoryRow) DocAttributes() index.DocAttributes {
	record, _ := m.Record()
	return DocAttributes(m.RowID, m.Atlas, record)
}

// Damage returns a description of the damage of a row, or "". Data derived from such a row are not rebuilt: they may be
// the only record of its former content.
func (m *MemoryRow) Damage() string {
	if _, err := sqldb.DecodeStrings[string](m.Tags); err != nil || m.Type < 0 || m.Type >= len(loci.MemoryTypes) ||
		m.Status < 0 || m.Status >= len(loci.MemoryStatuses) {
		return "its type, status or tags are invalid"
	}
	// Links are not in the checksum: a check compares both ends. The checksum of a row from before the column
	// title_derived does not cover it.
	record, _ := m.Record()
	record.TitleDerived = m.TitleDerived != nil && *m.TitleDerived
	if m.Checksum != checksum.Memory(record) {
		return "its checksum is another one: its text, title, tags, source, type, status or review is damaged"
	}
	return ""
}

// LockMemoryRow returns the row of a memory, which stays as it is until the commit.
func LockMemoryRow(t *sqldb.Tx, rowID int64) (m MemoryRow, err error) {
	err = m.Scan(t.Row(`SELECT`+MemoryRowColumns+`FROM memories e WHERE e.row_id = ?1`+
		t.LockClause("NO KEY UPDATE", "e"), rowID))
	return m, err
}
