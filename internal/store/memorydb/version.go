package memorydb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/record"
	"github.com/loci-memory/loci/internal/title"
)

// A VersionRow is a version as it is stored. It holds its own content, or the length of the prefix of the next
// version's content. It holds neither if both contents are equal.
type VersionRow struct {
	loci.MemoryVersion
	Type, Status  int // indexes in loci.MemoryTypes and loci.MemoryStatuses
	Tags          string
	StoredContent *string
	Prefix        *int
	StoredDerived *bool // nil in a row from before the column
}

// copied are the columns that a version takes from the row of its memory.
const copied = record.Group

var versionTable = record.Table[VersionRow]{
	record.Of("version", copied, func(v *VersionRow) *int { return &v.Version }),
	record.Of("title", copied, func(v *VersionRow) *string { return &v.Title }),
	record.Of("content", record.Inserted, func(v *VersionRow) **string { return &v.StoredContent }),
	record.Of("prefix_len", record.Inserted, func(v *VersionRow) **int { return &v.Prefix }),
	record.Of("type", copied, func(v *VersionRow) *int { return &v.Type }),
	record.Of("tags", copied, func(v *VersionRow) *string { return &v.Tags }),
	record.Of("status", copied, func(v *VersionRow) *int { return &v.Status }),
	record.Of("verified_at", copied, func(v *VersionRow) *loci.Time { return &v.VerifiedAt }),
	record.Of("verified_by", copied, func(v *VersionRow) *loci.ID { return &v.VerifiedBy }),
	record.Of("evidence", copied, func(v *VersionRow) *string { return &v.Evidence }),
	record.Of("confidence", copied, func(v *VersionRow) **loci.Confidence { return &v.Confidence }),
	record.Of("valid_until", copied, func(v *VersionRow) *loci.Time { return &v.ValidUntil }),
	record.Of("created_by", record.Inserted, func(v *VersionRow) *loci.ID { return &v.CreatedBy }),
	record.Of("created_at", record.Inserted, func(v *VersionRow) *loci.Time { return &v.CreatedAt }),
	record.Of("title_derived", record.Inserted, func(v *VersionRow) **bool { return &v.StoredDerived }),
}

// versionColumns are the columns that VersionRow.scan reads from versions v.
var versionColumns = versionTable.List("v.")

func (v *VersionRow) scan(r sqldb.Row) error { return r.Scan(versionTable.Dest(v)...) }

// Record returns the version. With an error of its tags, the other fields are complete.
func (v *VersionRow) Record() (m loci.MemoryVersion, err error) {
	m = v.MemoryVersion
	m.Type, m.Status = loci.MemoryTypeAt(v.Type), loci.MemoryStatusAt(v.Status)
	m.Tags, err = sqldb.DecodeStrings[string](v.Tags)
	return m, err
}

// ResolveContent sets the fields that depend on the content of the version, where next is that of the next version.
func (v *VersionRow) ResolveContent(next string) {
	switch {
	case v.StoredContent != nil:
		v.Content = *v.StoredContent
	case v.Prefix != nil:
		v.Content = next[:min(*v.Prefix, len(next))]
	default:
		v.Content = next
	}
	v.TitleDerived = title.IsDerived(v.StoredDerived, v.Title, v.Content)
}

// Versions returns a page of the versions of a memory, newest first, beginning with the present one. Page.After.At is
// the number of a version.
func Versions(h scope.Holder, id loci.ID, p page.Request) (list page.List[loci.MemoryVersion], err error) {
	t := scope.Of(h)
	var rowID int64
	var by loci.ID
	var m loci.Memory
	add := func(v loci.MemoryVersion) error { return scope.AddTo(&list, v) }
	err = t.Conn.RepeatableRead(func() (err error) {
		list = page.NewList[loci.MemoryVersion](p)
		m, err = Scan(t, t.Row(`SELECT`+Columns+`, e.row_id, e.updated_by FROM`+Join(t)+
			`WHERE e.id = ?2`, id), &rowID, &by)
		if err != nil {
			return sqldb.MapNoRows(err)
		}
		above, text := m.Version, m.Content
		if p.After == (page.Key{}) {
			if err := add(currentVersion(m, by)); err != nil {
				return err
			}
		} else {
			above = int(p.After.At)
			if text, err = t.ContentAt(rowID, above, m.Content); err != nil {
				return err
			}
		}
		return walkVersions(t, rowID, above, text, p.Limit+1-len(list.Items), add)
	})
	return list, err
}

// currentVersion returns the present version of a memory.
func currentVersion(m loci.Memory, by loci.ID) loci.MemoryVersion {
	return loci.MemoryVersion{Version: m.Version, Title: m.Title, TitleDerived: m.TitleDerived, Content: m.Content,
		Type: m.Type, Tags: m.Tags, Status: m.Status, VerifiedAt: m.VerifiedAt,
		VerifiedBy: m.VerifiedBy, Evidence: m.Evidence, Confidence: m.Confidence, ValidUntil: m.ValidUntil,
		CreatedBy: by, CreatedAt: m.UpdatedAt}
}

// walkVersions calls f with the versions below a number, newest first. The text is the content of the version with that
// number. Without such a version it is that of the first one below.
func walkVersions(t *scope.Scope, rowID int64, below int, text string, limit int,
	f func(loci.MemoryVersion) error) error {
	return t.Conn.Query(`SELECT`+versionColumns+
		`FROM versions v WHERE v.memory = ?1 AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3`,
		[]any{rowID, below, limit}, func(r sqldb.Row) error {
			var v VersionRow
			if err := v.scan(r); err != nil {
				return err
			}
			v.ResolveContent(text)
			text = v.Content
			m, err := v.Record()
			if err != nil {
				return err
			}
			return f(m)
		})
}

// Version returns a version of the memory. The present one is without its author.
func (m *Memory) Version(n int) (v loci.MemoryVersion, err error) {
	switch {
	case n == m.current.Version:
		return currentVersion(m.current, ""), nil
	case n > m.current.Version: // the number may exceed the range of the column
		return v, loci.Errorf(loci.CodeNotFound, "The memory has no version %d.", n)
	}
	text, err := m.t.ContentAt(m.rowID, n, m.current.Content)
	if err != nil {
		return v, err
	}
	found := false
	err = walkVersions(m.t, m.rowID, n+1, text, 1, func(one loci.MemoryVersion) error {
		v, found = one, one.Version == n
		return nil
	})
	if err == nil && !found {
		return v, loci.Errorf(loci.CodeNotFound, "The memory has no version %d.", n)
	}
	return v, err
}
