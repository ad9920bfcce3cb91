package store

import (
	"errors"
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/title"
)

// VersionColumns are the columns of a VersionRow, of table versions as v.
const VersionColumns = ` v.version, v.title, v.content, v.prefix_len, v.type, v.tags, v.status,
	v.verified_at, v.verified_by, v.evidence, v.confidence,
	v.valid_until, v.created_by, v.created_at, v.title_derived `

// A VersionRow is a version as it is stored. It holds its own content, or the length of the prefix of the next
// version's content. It holds neither if both contents are equal.
type VersionRow struct {
	loci.MemoryVersion
	StoredContent *string
	Prefix        *int
	StoredDerived *bool // nil in a row from before the column
}

func (v *VersionRow) scan(r sqldb.Row) error {
	var typeIndex, status int
	var tags string
	err := r.Scan(&v.Version, &v.Title, &v.StoredContent, &v.Prefix, &typeIndex, &tags, &status, &v.VerifiedAt,
		&v.VerifiedBy, &v.Evidence, &v.Confidence, &v.ValidUntil, &v.CreatedBy, &v.CreatedAt,
		&v.StoredDerived)
	if err != nil {
		return err
	}
	v.Type, v.Status = loci.MemoryTypeAt(typeIndex), loci.MemoryStatusAt(status)
	v.Tags, err = sqldb.DecodeStrings[string](tags)
	return err
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
func (t *Tx) Versions(id loci.ID, p Page) (list List[loci.MemoryVersion], err error) {
	var rowID int64
	var by loci.ID
	var m loci.Memory
	err = t.conn.RepeatableRead(func() (err error) {
		list = newList[loci.MemoryVersion](p)
		m, err = t.scanMemory(t.row(`SELECT`+memoryColumns+`, e.row_id, e.updated_by FROM`+t.memoriesJoin()+
			`WHERE e.id = ?2`, id), &rowID, &by)
		if err != nil {
			return sqldb.MapNoRows(err)
		}
		above, text := m.Version, m.Content
		if p.After == (PageKey{}) {
			if err := list.add(currentVersion(m, by)); err != nil {
				return err
			}
		} else {
			above = int(p.After.At)
			if text, err = t.contentAt(rowID, above, m.Content); err != nil {
				return err
			}
		}
		return t.walkVersions(rowID, above, text, p.Limit+1-len(list.Items), list.add)
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
func (t *Tx) walkVersions(rowID int64, below int, text string, limit int, f func(loci.MemoryVersion) error) error {
	return t.conn.Query(`SELECT`+VersionColumns+
		`FROM versions v WHERE v.memory = ?1 AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3`,
		[]any{rowID, below, limit}, func(r sqldb.Row) error {
			var v VersionRow
			if err := v.scan(r); err != nil {
				return err
			}
			v.ResolveContent(text)
			text = v.Content
			return f(v.MemoryVersion)
		})
}

// contentAt returns the content of a version. It is a prefix of the content of the next version that stores its own, or
// of the present one. The shortest prefix_len up to there is its length.
func (t *Tx) contentAt(rowID int64, version int, present string) (string, error) {
	text, whole := present, math.MaxInt32
	err := t.conn.QueryRow(
		`SELECT v.version, v.content FROM versions v WHERE v.memory = ?1 AND v.version >= ?2 AND v.content IS NOT NULL
			ORDER BY v.version LIMIT 1`,
		[]any{rowID, version}, []any{&whole, &text})
	if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
		return "", err
	}
	var shortest *int
	err = t.conn.QueryRow(
		`SELECT min(v.prefix_len) FROM versions v WHERE v.memory = ?1 AND v.version >= ?2 AND v.version < ?3`,
		[]any{rowID, version, whole}, []any{&shortest})
	if err == nil && shortest != nil {
		text = text[:min(*shortest, len(text))]
	}
	return text, err
}

// Version returns a version of the memory. The present one is without its author.
func (m *Memory) Version(n int) (v loci.MemoryVersion, err error) {
	switch {
	case n == m.current.Version:
		return currentVersion(m.current, ""), nil
	case n > m.current.Version: // the number may exceed the range of the column
		return v, loci.Errorf(loci.CodeNotFound, "The memory has no version %d.", n)
	}
	text, err := m.t.contentAt(m.rowID, n, m.current.Content)
	if err != nil {
		return v, err
	}
	found := false
	err = m.t.walkVersions(m.rowID, n+1, text, 1, func(one loci.MemoryVersion) error {
		v, found = one, one.Version == n
		return nil
	})
	if err == nil && !found {
		return v, loci.Errorf(loci.CodeNotFound, "The memory has no version %d.", n)
	}
	return v, err
}
