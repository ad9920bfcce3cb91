package memorydb

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/minhashdb"
	"github.com/loci-memory/loci/internal/store/record"
)

// A Memory is the handle of a memory that the actor may change. The actor is its creator or an admin of its workspace.
// Its row is locked until the commit.
type Memory struct {
	t       *scope.Scope
	rowID   int64
	atlas   scope.Atlas
	target  *scope.Atlas // to which the next update moves the memory, or nil
	current loci.Memory
	purpose scope.Purpose
}

// Open returns the handle of a memory. Out of scope it is NotFound, and Forbidden where the actor may only read.
// Another If-Match is a version_conflict, a status or a container against the purpose a state_conflict.
func Open(h scope.Holder, id loci.ID, p scope.Purpose) (*Memory, error) {
	t := scope.Of(h)
	m, err := openMemory(t, p, `WHERE e.id = ?2`, id)
	if t.Conn.Dialect.Postgres && loci.Is(err, loci.CodeNotFound) {
		// The lock may have waited for a move: the statement joined the former atlas, another one sees the new atlas.
		return openMemory(t, p, `WHERE e.id = ?2`, id)
	}
	return m, err
}

func openMemory(t *scope.Scope, p scope.Purpose, which string, args ...any) (*Memory, error) {
	m := &Memory{t: t, atlas: t.NewAtlas(), purpose: p}
	var err error
	var isFormer bool
	m.current, err = Scan(t, t.Row(`SELECT`+Columns+`, e.row_id, e.title_derived IS NULL,`+
		scope.AtlasHandleColumns+`FROM`+
		Join(t)+scope.OwnerJoin+which+t.Conn.LockClause("NO KEY UPDATE", "e")+
		t.Conn.LockClause("KEY SHARE", "a, w, m"),
		args...), append([]any{&m.rowID, &isFormer}, scope.AtlasHandleDest(&m.atlas)...)...)
	minimum := loci.RoleAdmin
	if m.current.CreatedBy == t.Actor.UserID {
		minimum = loci.RoleMember
	}
	if err = m.atlas.Workspace().Authorize(err, minimum); err == nil && isFormer {
		err = m.recognizeTitle()
	}
	if err == nil {
		err = t.CheckIfMatch(m.current.EntityTag())
	}
	if err == nil {
		err = m.Accept(p)
	}
	return m, err
}

// Accept returns state_conflict where the memory or its containers refuse a purpose.
func (m *Memory) Accept(p scope.Purpose) error {
	if p.Changes() {
		if _, err := loci.MemoryStates.Apply(m.current.Status, "changed"); err != nil {
			return err
		}
	}
	if p.Changes() || p == scope.ToMove {
		return m.atlas.Accept(scope.ToChange)
	}
	return nil
}

// recognizeTitle marks the title of a row of schema 1 as derived if it is the derived one of the first version.
// Programs of that time kept it through every change of the content.
func (m *Memory) recognizeTitle() error {
	if m.current.TitleDerived || m.current.Version == 1 {
		return nil
	}
	first, err := m.Version(1)
	if loci.Is(err, loci.CodeNotFound) {
		return nil
	}
	m.current.TitleDerived = first.TitleDerived && first.Title == m.current.Title
	return err
}

// Lock locks the rows of memories in scope in the order of row ids, so that concurrent calls cannot deadlock.
func Lock(h scope.Holder, ids ...loci.ID) error {
	t := scope.Of(h)
	if !t.Conn.Dialect.Postgres {
		return nil
	}
	return t.QueryFew(`SELECT e.row_id FROM memories e`+t.MembershipJoin("e.workspace")+
		`WHERE e.id IN (SELECT list.value FROM `+fmt.Sprintf(t.Conn.Dialect.StringRows, 2)+`) ORDER BY e.row_id`+
		t.Conn.LockClause("NO KEY UPDATE", "e"), []any{sqldb.EncodeStrings(ids)}, sqldb.ScanInts(new([]int64)))
}

// LockLinked locks a memory, its replacement and the memories that it replaced. A deletion changes all of them,
// and a restore the first two.
func LockLinked(h scope.Holder, id loci.ID) error {
	t := scope.Of(h)
	if !t.Conn.Dialect.Postgres {
		return nil
	}
	var by loci.ID
	var list string
	err := t.QueryRow(`SELECT e.superseded_by, e.supersedes FROM memories e`+t.MembershipJoin("e.workspace")+
		`WHERE e.id = ?2`, []any{id}, &by, &list)
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil // the caller opens the handle, which returns NotFound
	}
	if err != nil {
		return err
	}
	ids, err := sqldb.DecodeStrings[loci.ID](list)
	if err != nil {
		return err
	}
	return Lock(t, append(ids, id, by)...)
}

// Atlas returns the handle of the memory's atlas.
func (m *Memory) Atlas() *scope.Atlas { return &m.atlas }

// RowID returns the key of the row.
func (m *Memory) RowID() int64 { return m.rowID }

// Record returns the record of the memory in this transaction.
func (m *Memory) Record() loci.Memory { return m.current }

// Secrets returns the workspace's policy for credentials in texts.
func (m *Memory) Secrets() loci.SecretsPolicy { return m.atlas.Secrets() }

// MoveTo makes the next update move the memory to another atlas of its workspace, and returns the atlas's id.
func (m *Memory) MoveTo(id loci.ID) (loci.ID, error) {
	a, err := m.t.OpenAtlas(id, loci.RoleMember, scope.ToChange, m.t.Conn.LockClause("KEY SHARE", "a, w, m"))
	if err != nil {
		return "", err
	}
	if a.WorkspaceID() != m.current.WorkspaceID {
		return "", loci.NewError(loci.CodeAtlasWorkspaceMismatch)
	}
	if a.RowID() != m.atlas.RowID() {
		m.target = a
	}
	return a.ID(), nil
}

// move moves the memory with its files to its target. It takes the memory off the counters of its former atlas, and
// returns the change of those of the atlas that it is in now.
func (m *Memory) move(change indexdb.Counters) (indexdb.Counters, error) {
	if m.target == nil {
		return change, nil
	}
	if _, err := m.t.Exec(`UPDATE attachments SET atlas = ?2 WHERE memory = ?1`, m.rowID,
		m.target.RowID()); err != nil {
		return change, err
	}
	bytes := int64(len(m.current.Content))
	err := appendLog(&m.atlas, indexdb.Deletion(m.rowID, m.atlas.RowID(),
		indexdb.Counters{Memories: -1, Bytes: -bytes}))
	m.atlas, m.target = *m.target, nil
	return indexdb.Counters{Memories: 1, Bytes: change.Bytes + bytes}, err
}

// isReview reports whether an update records a review by the actor.
func (m *Memory) isReview() bool { return m.purpose == scope.ToReview }

// endsReview reports whether the change to next has another content than the one that was reviewed.
func (m *Memory) endsReview(next loci.Memory) bool {
	return !m.isReview() && next.Content != m.current.Content
}

// Update stores next as the present version and keeps the former version. The fields that withFixedFields keeps do not
// change. Without a difference it stores no version, except of a review. The entry is that of next's text, or nil. A
// review counts for the content that was reviewed: another content ends it, and only its version keeps it.
func (m *Memory) Update(next loci.Memory, entry *IndexEntry) (loci.Memory, error) {
	if m.endsReview(next) {
		next.VerifiedAt, next.VerifiedBy, next.Evidence, next.Confidence = 0, "", "", nil
		next.ValidUntil = m.current.ValidUntil
	}
	next = m.withFixedFields(next)
	fields, was := indexdb.FieldsOf(next), indexdb.FieldsOf(m.current)
	if !m.isReview() && m.target == nil && indexdb.MemoryTable.Equal(&fields, &was) {
		m.t.LinkResponse(shownBy(next)...)
		return m.current, nil
	}
	return m.applyUpdate(next, entry)
}

// Revise gives the memory the text of another record, whose entry is e, and its type and tags where it has some. A
// given title stays if the other one is derived.
func (m *Memory) Revise(to loci.Memory, e IndexEntry) (loci.Memory, error) {
	next, entry := m.current, &e
	next.Content = to.Content
	if to.TitleDerived && !next.TitleDerived {
		entry = nil
	} else {
		next.Title, next.TitleDerived = to.Title, to.TitleDerived
	}
	if to.Type != "" {
		next.Type = to.Type
	}
	if to.Tags != nil {
		next.Tags = to.Tags
	}
	return m.Update(next, entry)
}

// shownBy returns the ids of the memories that a record shows.
func shownBy(m loci.Memory) []loci.ID {
	return append([]loci.ID{m.ID, m.SupersededBy}, m.Supersedes...)
}

func (m *Memory) applyUpdate(next loci.Memory, entry *IndexEntry) (loci.Memory, error) {
	t, was := m.t, m.current
	index, err := m.indexUpdate(next, entry)
	if err != nil {
		return next, err
	}
	if err := m.saveVersion(next.Content); err != nil {
		return next, err
	}
	if next.Status != was.Status {
		next.ArchivedAt = 0
		if next.Status == loci.MemoryArchived {
			next.ArchivedAt = t.Conn.Now
		}
	}
	next.Version, next.UpdatedAt = was.Version+1, max(t.Conn.Now, was.UpdatedAt+1)
	if m.isReview() {
		next.VerifiedAt, next.VerifiedBy = next.UpdatedAt, t.Actor.UserID
	}
	next.Expired = next.ValidUntil != 0 && next.ValidUntil <= t.Conn.Now
	if next.SupersededBy == "" {
		if err := m.removeFromReplacement(); err != nil {
			return next, err
		}
	}
	if next.Content != was.Content || next.Status != was.Status {
		if err := m.updateBands(next, index); err != nil {
			return next, err
		}
	}
	if next.Content != was.Content || next.Title != was.Title {
		if err := m.t.Embedder.Enqueue(m.t.Conn, m.rowID); err != nil {
			return next, err
		}
	}
	if err := m.updateRow(next, index.hash); err != nil {
		return next, err
	}
	added := int64(len(next.Content) - len(was.Content))
	counters, err := m.move(indexdb.Counters{Bytes: added})
	if err != nil {
		return next, err
	}
	t.LinkResponse(shownBy(next)...)
	m.current = next
	if err = t.Index.AppendLog(t.Conn, m.atlas.Workspace().RowID(), indexdb.LogUpdate{
		DocAttributes: indexdb.DocAttributes(m.rowID, m.atlas.RowID(), next), Counters: counters,
		Document: index.document}); err == nil && added > 0 {
		err = m.atlas.Workspace().CheckStorageQuota()
	}
	return next, err
}

// An indexUpdate is the entry of the next text of a memory and the bands of its former text.
type indexUpdate struct {
	IndexEntry
	formerBands []int64
}

func (m *Memory) indexUpdate(next loci.Memory, entry *IndexEntry) (indexUpdate, error) {
	former, bytes := m.current.Content, 0
	if entry == nil {
		bytes = analysis.NormalSize(next.Title, next.Content)
	}
	if former != next.Content {
		bytes += analysis.NormalSize(former)
	}
	return scope.Compute(m.t, bytes, func() (u indexUpdate) {
		if entry != nil {
			u.IndexEntry = *entry
		} else {
			u.IndexEntry = NewIndexEntry(next.Title, next.Content)
		}
		if u.formerBands = u.bands; former != next.Content {
			u.formerBands = minhash.Bands(former)
		}
		return u
	}, next.Title, next.Content, former)
}

// updateBands replaces the bands of a memory by those of its next text. Only active memories have bands: others would
// displace them among the candidates.
func (m *Memory) updateBands(next loci.Memory, u indexUpdate) error {
	var was, now []int64
	if m.current.Status == loci.MemoryActive {
		was = u.formerBands
	}
	if next.Status == loci.MemoryActive {
		now = u.bands
	}
	return minhashdb.Replace(m.t.Conn, m.atlas.Workspace().RowID(), m.rowID, was, now)
}

// updateRow stores the columns that the change to next changes; hash is that of its content.
func (m *Memory) updateRow(next loci.Memory, hash int64) error {
	u := record.Update{Args: []any{m.rowID}}
	fields, was := indexdb.FieldsOf(next), indexdb.FieldsOf(m.current)
	if next.Content == was.Content && next.Title == was.Title && next.TitleDerived == m.current.TitleDerived {
		fields.TitleDerived = was.TitleDerived // a row of schema 1 has none until its text changes
	}
	indexdb.MemoryTable.Assign(&u, &fields, &was, m.changedGroups(next)...)
	if next.Content != m.current.Content {
		u.Set("hash", hash)
	}
	if m.target != nil {
		u.Set("atlas", m.target.RowID())
	}
	u.Set("updated_by", m.t.Actor.UserID)
	m.atlas.Workspace().NoteChange(loci.KindMemory, next.ID)
	_, err := m.t.Exec(`UPDATE memories SET `+u.Clause()+` WHERE row_id = ?1`, u.Args...)
	return err
}

// changedGroups returns the groups of columns that a change to next stores.
func (m *Memory) changedGroups(next loci.Memory) (groups []record.When) {
	if m.isReview() || m.endsReview(next) {
		groups = append(groups, indexdb.OnReview)
	}
	if next.Status != m.current.Status {
		groups = append(groups, indexdb.OnStatus)
	}
	return groups
}

// withFixedFields returns next with the present values of the fields that the change to next does not store. Those of
// a status differ only with the status.
func (m *Memory) withFixedFields(next loci.Memory) loci.Memory {
	f, was := indexdb.MemoryFields{Memory: next}, indexdb.MemoryFields{Memory: m.current}
	indexdb.MemoryTable.Keep(&f, &was, m.changedGroups(next)...)
	f.Memory.Source, f.AttachmentIDs = was.Memory.Source, was.AttachmentIDs
	return f.Memory
}

// insertVersion copies the row of a memory to versions, beside what saveVersion chooses.
var insertVersion = `INSERT INTO versions (memory, content, prefix_len, created_by, created_at,
	title_derived,` + versionTable.List("", copied) + `) SELECT e.row_id, ?2, ?3, e.updated_by, e.updated_at, ?4,` +
	versionTable.List("e.", copied) + `FROM memories e WHERE e.row_id = ?1`

// saveVersion inserts the present version into the former versions. It stores the text only if the next one differs. If
// the next one begins with it, its length is enough.
func (m *Memory) saveVersion(next string) error {
	was := m.current
	var content *string
	var prefix *int
	switch n := len(was.Content); {
	case next == was.Content:
	case strings.HasPrefix(next, was.Content):
		prefix = &n
	default:
		content = &was.Content
	}
	_, err := m.t.Exec(insertVersion, m.rowID, content, prefix, was.TitleDerived)
	return err
}

// Replacement locks and returns the memory that is to replace this one. Out of scope it is NotFound, in another
// workspace invalid.
func (m *Memory) Replacement(id loci.ID) (*Memory, error) {
	t := m.t
	r := &Memory{t: t}
	var err error
	r.current, err = Scan(t, t.Row(`SELECT`+Columns+`, e.row_id FROM`+Join(t)+`WHERE e.id = ?2`+
		t.Conn.LockClause("NO KEY UPDATE", "e")+t.Conn.LockClause("KEY SHARE", "a"), id), &r.rowID)
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	if r.current.WorkspaceID != m.current.WorkspaceID {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "replacementMemoryId must name a memory of the same workspace")
	}
	return r, nil
}

// Restore makes an archived or superseded memory active. The link to a replacement is removed on both sides; LockLinked
// comes before.
func (m *Memory) Restore() (loci.Memory, error) {
	next, err := m.current, error(nil)
	if next.Status, err = loci.MemoryStates.Apply(next.Status, "restored"); err != nil {
		return next, err
	}
	next.SupersededBy = ""
	return m.Update(next, nil)
}

// maxSuperseded bounds the list of memories that one memory has superseded. Each response shows the list.
const maxSuperseded = 100

// Supersede links the memory to its replacement r. Both must be active, so the links have no cycle: a superseded memory
// never replaces another one.
func (m *Memory) Supersede(r *Memory) (loci.Memory, error) {
	if _, err := loci.MemoryStates.Apply(m.current.Status, "superseded"); err != nil {
		return m.current, err
	}
	if _, err := loci.MemoryStates.Apply(r.current.Status, "a replacement"); err != nil {
		return m.current, err
	}
	if len(r.current.Supersedes) >= maxSuperseded {
		return m.current, loci.Errorf(loci.CodeStateConflict, "A memory can replace at most %d others: choose another "+
			"replacement.", maxSuperseded)
	}
	next := m.current
	next.Status, next.SupersededBy = loci.MemorySuperseded, r.current.ID
	out, err := m.Update(next, nil)
	if err != nil {
		return out, err
	}
	m.atlas.Workspace().NoteChange(loci.KindMemory, r.current.ID)
	return out, SetSupersedes(m.t.Conn, r.current.ID, append(r.current.Supersedes, m.current.ID))
}

// SetSupersedes writes the list of memories that a memory has superseded.
func SetSupersedes(t *sqldb.Tx, id loci.ID, list []loci.ID) error {
	_, err := t.Exec(`UPDATE memories SET supersedes = ?2 WHERE id = ?1`, id, sqldb.EncodeStrings(list))
	return err
}

// removeFromReplacement removes the memory from the list of those that its replacement supersedes. Without a row of the
// replacement there is no list.
func (m *Memory) removeFromReplacement() error {
	t, was := m.t, m.current
	if was.SupersededBy == "" {
		return nil
	}
	var list string
	err := t.Conn.QueryRow(`SELECT e.supersedes FROM memories e WHERE e.id = ?1`+
		t.Conn.LockClause("NO KEY UPDATE", "e"), []any{was.SupersededBy}, []any{&list})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	ids, err := sqldb.DecodeStrings[loci.ID](list)
	if err != nil {
		return err
	}
	m.atlas.Workspace().NoteChange(loci.KindMemory, was.SupersededBy)
	return SetSupersedes(t.Conn, was.SupersededBy, slices.DeleteFunc(ids, func(id loci.ID) bool {
		return id == was.ID
	}))
}

// Delete deletes the memory with all its versions. The memories that it replaced lose their replacement and can be
// restored.
func (m *Memory) Delete() error {
	t, was := m.t, m.current
	for _, old := range was.Supersedes {
		if _, err := t.Exec(`UPDATE memories SET superseded_by = '' WHERE id = ?1`, old); err != nil {
			return err
		}
		m.atlas.Workspace().NoteChange(loci.KindMemory, old)
	}
	if err := m.removeFromReplacement(); err != nil {
		return err
	}
	m.atlas.Workspace().NoteChange(loci.KindMemory, was.ID)
	if was.Status == loci.MemoryActive { // others have no bands
		bands, err := computeBands(t, was.Content)
		if err == nil {
			err = minhashdb.Delete(t.Conn, m.atlas.Workspace().RowID(), m.rowID, bands)
		}
		if err != nil {
			return err
		}
	}
	if err := scope.DeleteResponses(t.Conn, was.ID); err != nil {
		return err
	}
	if err := DeleteAttachments(t.Conn, t.Jobs, `memory = ?1`, m.rowID); err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM memories WHERE id = ?1`, was.ID); err != nil {
		return err
	}
	return appendLog(&m.atlas, indexdb.Deletion(m.rowID, m.atlas.RowID(),
		indexdb.Counters{Memories: -1, Bytes: -int64(len(was.Content))}))
}
