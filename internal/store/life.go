package store

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A Memory is the handle of a memory that the actor may change: who made it,
// and who manages its workspace. Its row stays as it is until the commit.
type Memory struct {
	t     *Tx
	rid   int64
	atlas Atlas
	was   loci.Memory

	reviewed bool
}

// Memory returns the handle of a memory. One that is out of reach is NotFound,
// one that the actor may only read Forbidden.
func (t *Tx) Memory(id string) (*Memory, error) {
	return t.memory(`WHERE e.id = ?2`, id)
}

func (t *Tx) memory(which string, args ...any) (*Memory, error) {
	m := &Memory{t: t, atlas: Atlas{t: t, workspace: Workspace{t: t}}}
	var err error
	m.was, err = t.scanMemory(scanned{func(dest ...any) error {
		return t.one(`SELECT`+memoryColumns+`, e.rid,`+handleColumns+`FROM`+t.memories()+which+t.locked("NO KEY UPDATE", "e")+t.locked("KEY SHARE", "a, m, w"),
			args, dest...)
	}}, append([]any{&m.rid}, m.atlas.scan()...)...)
	least := loci.Admin
	if m.was.CreatedBy == t.who.UserID {
		least = loci.Member
	}
	return m, m.atlas.workspace.granted(err, least)
}

// Hold keeps memories within the actor's reach as they are until the commit, in
// one order for all: of those who need the same ones nobody waits for one who
// waits for him.
func (t *Tx) Hold(ids ...string) error {
	if !t.s.db.dialect().locks {
		return nil
	}
	return t.few(`SELECT e.rid FROM memories e`+t.mine("e.workspace")+`WHERE e.id IN (SELECT jsonb_array_elements_text(CAST(?2 AS jsonb))) ORDER BY e.rid`+
		t.locked("NO KEY UPDATE", "e"), []any{texts(ids)}, func(r row) error { return r.Scan(new(int64)) })
}

// HoldLinks holds a memory with what it replaced and what replaced it: whoever
// deletes it changes all of them.
func (t *Tx) HoldLinks(id string) error {
	if !t.s.db.dialect().locks {
		return nil
	}
	var by, list string
	err := t.one(`SELECT e.superseded_by, e.supersedes FROM memories e`+t.mine("e.workspace")+`WHERE e.id = ?2`, []any{id}, &by, &list)
	if errors.Is(err, errNoRow) {
		return nil // the handle will tell
	}
	if err != nil {
		return err
	}
	ids, err := readTexts(list)
	if err != nil {
		return err
	}
	return t.Hold(append(ids, id, by)...)
}

// Record returns the memory as it stands.
func (m *Memory) Record() loci.Memory { return m.was }

// Secrets tells what the memory's workspace does with credentials.
func (m *Memory) Secrets() loci.SecretsPolicy { return m.atlas.Secrets() }

// Reviewed makes the next version say that the actor has looked at the memory.
// It is possible in every state, of archived places too.
func (m *Memory) Reviewed() { m.reviewed = true }

// Set makes next the present version, and what the memory was one that can be
// read. Only content, title, type, tags, status and what a review left change;
// where nothing does, nothing happens.
func (m *Memory) Set(next loci.Memory) (loci.Memory, error) {
	if !m.reviewed {
		if err := m.atlas.open(); err != nil {
			return next, err
		}
	}
	if m.same(next) {
		m.t.Concerns(next.ID)
		return m.was, nil
	}
	return m.set(next)
}

func (m *Memory) same(next loci.Memory) bool {
	was := m.was
	return !m.reviewed && next.Content == was.Content && next.Title == was.Title && next.Type == was.Type && next.Status == was.Status &&
		next.SupersededBy == was.SupersededBy && slices.Equal(next.Tags, was.Tags)
}

func (m *Memory) set(next loci.Memory) (loci.Memory, error) {
	t, was := m.t, m.was
	if err := m.keep(next.Content); err != nil {
		return next, err
	}
	if next.Status != was.Status {
		next.ArchivedAt = 0
		if next.Status == loci.Archived {
			next.ArchivedAt = t.now
		}
	}
	next.Version, next.UpdatedAt = was.Version+1, max(t.now, was.UpdatedAt+1)
	if m.reviewed {
		next.VerifiedAt, next.VerifiedBy = next.UpdatedAt, t.who.UserID
	}
	next.Expired = next.ValidUntil != 0 && next.ValidUntil <= t.now
	if next.Content != was.Content || next.Status != was.Status {
		if err := m.sketch(next); err != nil {
			return next, err
		}
	}
	if next.Content != was.Content || next.Title != was.Title {
		if err := m.atlas.workspace.wait(m.rid); err != nil {
			return next, err
		}
	}
	columns, args := m.columns(next)
	if _, err := t.exec(`UPDATE memories SET `+columns+` WHERE rid = ?1`, args...); err != nil {
		return next, err
	}
	t.Concerns(next.ID)
	m.was = next
	group, position := groupOf(was.Source)
	return next, m.atlas.note(change{memory: m.rid, group: group, position: position, kind: slices.Index(loci.Kinds, next.Type), status: slices.Index(loci.Statuses, next.Status), tags: texts(next.Tags),
		made: was.CreatedAt, verified: next.VerifiedAt != 0, validUntil: next.ValidUntil, bytes: len(next.Content) - len(was.Content),
		document: search.Encoded(next.Title, next.Content)})
}

// columns names what the row gets. An index is written where a column of its own
// is named, even if the value stays: so the rarer ones are named only where they
// change.
func (m *Memory) columns(next loci.Memory) (string, []any) {
	var set []string
	args := []any{m.rid}
	to := func(column string, v any) {
		args = append(args, v)
		set = append(set, column+" = ?"+strconv.Itoa(len(args)))
	}
	to("version", next.Version)
	to("title", next.Title)
	if next.Type != m.was.Type { // a kind that this version does not know stays
		to("kind", slices.Index(loci.Kinds, next.Type))
	}
	to("tags", texts(next.Tags))
	to("updated_at", next.UpdatedAt)
	to("updated_by", m.t.who.UserID)
	if m.reviewed {
		to("verified_at", next.VerifiedAt)
		to("verified_by", next.VerifiedBy)
		to("evidence", next.Evidence)
		to("confidence", next.Confidence)
		to("valid_until", next.ValidUntil)
	}
	if next.Status != m.was.Status {
		to("status", slices.Index(loci.Statuses, next.Status))
		to("archived_at", next.ArchivedAt)
		to("superseded_by", next.SupersededBy)
	}
	if next.Content != m.was.Content {
		to("content", next.Content)
		to("hash", contentHash(next.Content))
	}
	to("checksum", memoryChecksum(m.written(next)))
	return strings.Join(set, ", "), args
}

// written returns the memory as its row says after a change to next.
func (m *Memory) written(next loci.Memory) loci.Memory {
	was := m.was
	next.ID, next.CreatedBy, next.CreatedAt, next.Source = was.ID, was.CreatedBy, was.CreatedAt, was.Source
	if !m.reviewed {
		next.VerifiedAt, next.VerifiedBy, next.Evidence = was.VerifiedAt, was.VerifiedBy, was.Evidence
		next.Confidence, next.ValidUntil = was.Confidence, was.ValidUntil
	}
	if next.Status == was.Status {
		next.ArchivedAt = was.ArchivedAt
	}
	return next
}

// keep makes a version of what the memory is. Its text is kept only where the
// next one is another: as a length where the next one goes on from it.
func (m *Memory) keep(next string) error {
	was := m.was
	var content *string
	var prefix *int
	switch n := len(was.Content); {
	case next == was.Content:
	case strings.HasPrefix(next, was.Content):
		prefix = &n
	default:
		content = &was.Content
	}
	_, err := m.t.exec(`INSERT INTO versions (memory, version, title, content, prefix, kind, tags, status, verified_at, verified_by, evidence, confidence, valid_until,
		created_by, created_at, checksum) SELECT e.rid, e.version, e.title, ?2, ?3, e.kind, e.tags, e.status, e.verified_at, e.verified_by, e.evidence, e.confidence,
		e.valid_until, e.updated_by, e.updated_at, ?4 FROM memories e WHERE e.rid = ?1`, m.rid, content, prefix, versionChecksum(present(was, "")))
	return err
}

// Replacement finds the memory that may take this one's place, and holds it. One
// that is out of reach is NotFound, one of another workspace a mistake.
func (m *Memory) Replacement(id string) (*Memory, error) {
	t := m.t
	r := &Memory{t: t}
	var err error
	r.was, err = t.scanMemory(scanned{func(dest ...any) error {
		return t.one(`SELECT`+memoryColumns+`, e.rid FROM`+t.memories()+`WHERE e.id = ?2`+t.locked("NO KEY UPDATE", "e"), []any{id}, dest...)
	}}, &r.rid)
	if err != nil {
		return nil, notFound(err)
	}
	if r.was.WorkspaceID != m.was.WorkspaceID {
		return nil, loci.Fail(loci.InvalidQuery, "replacementMemoryId must name a memory of the same workspace")
	}
	return r, nil
}

// Supersede puts r in the memory's place. Both are active, so that no circle
// can come about: what is replaced never replaces.
func (m *Memory) Supersede(r *Memory) (loci.Memory, error) {
	next := m.was
	next.Status, next.SupersededBy = loci.Superseded, r.was.ID
	out, err := m.Set(next)
	if err != nil {
		return out, err
	}
	return out, m.t.replaces(r.was.ID, append(r.was.Supersedes, m.was.ID))
}

func (t *Tx) replaces(id string, list []string) error {
	_, err := t.exec(`UPDATE memories SET supersedes = ?2 WHERE id = ?1`, id, texts(list))
	return err
}

// Delete removes the memory with all its versions. What it replaced has no
// replacement then, and may be restored.
func (m *Memory) Delete() error {
	t, was := m.t, m.was
	for _, old := range was.Supersedes {
		if _, err := t.exec(`UPDATE memories SET superseded_by = '' WHERE id = ?1`, old); err != nil {
			return err
		}
	}
	if was.SupersededBy != "" {
		var list string
		err := t.c.one(`SELECT e.supersedes FROM memories e WHERE e.id = ?1`+t.locked("NO KEY UPDATE", "e"), []any{was.SupersededBy}, []any{&list})
		if err != nil {
			return err
		}
		ids, err := readTexts(list)
		if err != nil {
			return err
		}
		if err := t.replaces(was.SupersededBy, slices.DeleteFunc(ids, func(id string) bool { return id == was.ID })); err != nil {
			return err
		}
	}
	if was.Status == loci.Active { // only these have one
		if err := m.atlas.workspace.dropSketch(m.rid, search.Sketch(was.Content)); err != nil {
			return err
		}
	}
	if err := t.forget(was.ID); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM memories WHERE id = ?1`, was.ID); err != nil {
		return err
	}
	return m.atlas.note(change{memory: m.rid, made: was.CreatedAt, tags: noTexts, gone: true, memories: -1, bytes: -len(was.Content)})
}
