package store

import (
	"errors"
	"math"

	"github.com/loci-memory/loci"
)

const versionColumns = ` v.version, v.title, v.content, v.prefix, v.kind, v.tags, v.status, v.verified_at, v.verified_by, v.evidence, v.confidence,
	v.valid_until, v.created_by, v.created_at `

// versionRow is a version as it is stored: its text, or as much of the next one's,
// or all of that.
type versionRow struct {
	loci.MemoryVersion
	content *string
	prefix  *int
}

func (v *versionRow) scan(r row) error {
	var kind, status int
	var tags string
	err := r.Scan(&v.Version, &v.Title, &v.content, &v.prefix, &kind, &tags, &status, &v.VerifiedAt, &v.VerifiedBy, &v.Evidence, &v.Confidence,
		&v.ValidUntil, &v.CreatedBy, &v.CreatedAt)
	if err != nil {
		return err
	}
	v.Type, v.Status = loci.KindAt(kind), loci.StatusAt(status)
	v.Tags, err = readTexts(tags)
	return err
}

// text gives the version its text, where next is that of the version after it.
func (v *versionRow) text(next string) {
	switch {
	case v.content != nil:
		v.Content = *v.content
	case v.prefix != nil:
		v.Content = next[:min(*v.prefix, len(next))]
	default:
		v.Content = next
	}
}

// Versions returns a page of what a memory was, newest first; the first of all
// is the present one. Page.After.At is the number of the version before.
func (t *Tx) Versions(id string, p Page) (list List[loci.MemoryVersion], err error) {
	var rid int64
	var by string
	var m loci.Memory
	err = t.snapshot(func() (err error) {
		list = newList[loci.MemoryVersion](p)
		m, err = t.scanMemory(scanned{func(dest ...any) error {
			return t.one(`SELECT`+memoryColumns+`, e.rid, e.updated_by FROM`+t.memories()+`WHERE e.id = ?2`, []any{id}, dest...)
		}}, &rid, &by)
		if err != nil {
			return notFound(err)
		}
		above, text := m.Version, m.Content
		if p.After == (Mark{}) {
			if err := list.add(present(m, by)); err != nil {
				return err
			}
		} else {
			above = int(p.After.At)
			if text, err = t.textOf(rid, above, m.Content); err != nil {
				return err
			}
		}
		return t.versions(rid, above, text, p.Limit+1-len(list.Items), list.add)
	})
	return list, err
}

// present is the version that the memory is.
func present(m loci.Memory, by string) loci.MemoryVersion {
	return loci.MemoryVersion{Version: m.Version, Title: m.Title, Content: m.Content, Type: m.Type, Tags: m.Tags, Status: m.Status, VerifiedAt: m.VerifiedAt,
		VerifiedBy: m.VerifiedBy, Evidence: m.Evidence, Confidence: m.Confidence, ValidUntil: m.ValidUntil, CreatedBy: by, CreatedAt: m.UpdatedAt}
}

// versions calls f with the versions below one whose text is known.
func (t *Tx) versions(rid int64, below int, text string, limit int, f func(loci.MemoryVersion) error) error {
	return t.c.each(`SELECT`+versionColumns+`FROM versions v WHERE v.memory = ?1 AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3`,
		[]any{rid, below, limit}, func(r row) error {
			var v versionRow
			if err := v.scan(r); err != nil {
				return err
			}
			v.text(text)
			text = v.Content
			return f(v.MemoryVersion)
		})
}

// textOf returns the text of a version. The nearest one from there on that was
// kept whole, or the present one, has it, cut where texts went on from it.
func (t *Tx) textOf(rid int64, version int, present string) (string, error) {
	text, whole := present, math.MaxInt32
	err := t.c.one(`SELECT v.version, v.content FROM versions v WHERE v.memory = ?1 AND v.version >= ?2 AND v.content IS NOT NULL ORDER BY v.version LIMIT 1`,
		[]any{rid, version}, []any{&whole, &text})
	if err != nil && !errors.Is(err, errNoRow) {
		return "", err
	}
	var shortest *int
	err = t.c.one(`SELECT min(v.prefix) FROM versions v WHERE v.memory = ?1 AND v.version >= ?2 AND v.version < ?3`, []any{rid, version, whole}, []any{&shortest})
	if err == nil && shortest != nil {
		text = text[:min(*shortest, len(text))]
	}
	return text, err
}

// Version returns what the memory was in a version.
func (m *Memory) Version(n int) (v loci.MemoryVersion, err error) {
	switch {
	case n == m.was.Version:
		return present(m.was, ""), nil
	case n > m.was.Version: // it may be more than the column holds
		return v, loci.Fail(loci.NotFound, "The memory has no version %d.", n)
	}
	text, err := m.t.textOf(m.rid, n, m.was.Content)
	if err != nil {
		return v, err
	}
	found := false
	err = m.t.versions(m.rid, n+1, text, 1, func(one loci.MemoryVersion) error {
		v, found = one, one.Version == n
		return nil
	})
	if err == nil && !found {
		return v, loci.Fail(loci.NotFound, "The memory has no version %d.", n)
	}
	v.Content = text
	return v, err
}
