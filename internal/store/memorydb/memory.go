package memorydb

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// Columns are the columns of memories e, their workspaces w and atlases a that Scan reads.
var Columns = indexdb.MemoryColumns + `, w.id, a.id `

// Scan reads Columns, and further ones into more.
func Scan(t *scope.Scope, r sqldb.Row, more ...any) (loci.Memory, error) {
	return newMemoryScanner(t, more...)(r)
}

// newMemoryScanner returns a function that scans rows of memories. The scan destinations are allocated once for all
// rows.
func newMemoryScanner(t *scope.Scope, more ...any) func(sqldb.Row) (loci.Memory, error) {
	var x indexdb.MemoryFields
	dest := append(append(indexdb.MemoryTable.Dest(&x), &x.WorkspaceID, &x.AtlasID), more...)
	return func(r sqldb.Row) (m loci.Memory, err error) {
		x = indexdb.MemoryFields{}
		if err = r.Scan(dest...); err != nil {
			return m, err
		}
		m, err = x.Record()
		m.Expired = m.ValidUntil != 0 && m.ValidUntil <= t.Conn.Now
		return m, err
	}
}

// AtlasJoin joins memories e to their atlases a. A deleted atlas has no workspace, and thus no memories.
const AtlasJoin = ` JOIN atlases a ON a.row_id = e.atlas AND a.workspace = e.workspace `

// Join joins memories e in scope to their atlases a.
func Join(t *scope.Scope) string {
	return ` memories e` + t.MembershipJoin("e.workspace") + AtlasJoin
}

// Record returns a memory in scope.
func Record(h scope.Holder, id loci.ID) (loci.Memory, error) {
	t := scope.Of(h)
	m, err := Scan(t, t.Row(`SELECT`+Columns+`FROM`+Join(t)+`WHERE e.id = ?2`, id))
	return m, sqldb.MapNoRows(err)
}

// CollectAuthors makes lists and searches of the transaction write the names of the authors to a map. An author without
// an account has none.
func CollectAuthors(h scope.Holder, names map[loci.ID]string) {
	t := scope.Of(h)
	t.Authors = names
}

// loadMemories calls f with the memories of rows in scope, in any order.
func loadMemories(t *scope.Scope, rowIDs []int64, f func(rowID, workspace int64, m loci.Memory)) error {
	var rowID, workspace int64
	columns, author := Columns+`, e.row_id, e.workspace `, ""
	dest := []any{&rowID, &workspace}
	if t.Authors != nil {
		columns += `, COALESCE((SELECT u.name FROM users u WHERE u.id = e.created_by), '') `
		dest = append(dest, &author)
	}
	q := `SELECT` + columns + `FROM ` +
		fmt.Sprintf(t.Conn.Dialect.JoinIDs, 2, "memories e", "e.row_id") +
		t.MembershipJoin("e.workspace") + AtlasJoin
	scan := newMemoryScanner(t, dest...)
	return t.QueryFew(q, []any{sqldb.EncodeInts(rowIDs)}, func(r sqldb.Row) error {
		m, err := scan(r)
		if err != nil {
			return err
		}
		if author != "" {
			t.Authors[m.CreatedBy] = author
		}
		f(rowID, workspace, m)
		return nil
	})
}

// ContentHash returns the key of an index over contents. Callers also compare the contents, because hashes can collide.
func ContentHash(content string) int64 {
	h := sha256.Sum256([]byte(content))
	return int64(binary.BigEndian.Uint64(h[:8]))
}

// A CreatePolicy is what Create does beside storing a memory.
type CreatePolicy struct {
	OnDuplicate loci.OnDuplicate  // "" stores a text again
	ShowSimilar bool              // finds similar memories, which the answer shows
	Neighbors   []loci.Similarity // memories with a similar meaning, which it shows if they are active
}

// Create stores a memory in the atlas, or returns or changes an existing one by the policy; e is the entry of its text.
// Without a type it is a note. An existing memory keeps type and tags where m has none.
func Create(a *scope.Atlas, m loci.NewMemory, e IndexEntry, p CreatePolicy) (out loci.CreatedMemory, err error) {
	if p.OnDuplicate == loci.OnDuplicateVersion && m.Source != nil && m.Source.URI != "" {
		if err := a.Lock(string(m.Source.Name) + "\n" + string(m.Source.URI)); err != nil {
			return out, err
		}
		h, found, err := findBySource(a, *m.Source)
		if err != nil {
			return out, err
		}
		if found {
			return createVersion(a, h, m, e, p.Neighbors)
		}
	}
	if p.OnDuplicate == loci.OnDuplicateReturn {
		if err := a.Lock(m.Content); err != nil {
			return out, err
		}
	}
	equal, found, err := findDuplicate(a, m.Content, e)
	if err != nil {
		return out, err
	}
	if found && p.OnDuplicate == loci.OnDuplicateReturn {
		equal.Unchanged = true
		m.Memory, m.Similar = equal, []loci.Similarity{}
		return loci.CreatedMemory{Memory: m, Creation: loci.Existing}, nil
	}
	m.DuplicateOf = equal.ID
	if p.ShowSimilar {
		var like loci.ID
		if m.Similar, like, err = FindSimilar(a, m.Content, e, equal.ID, p.Neighbors); err != nil {
			return out, err
		}
		if !found && like != "" {
			m.DuplicateOf = like
			m.Similar = slices.DeleteFunc(m.Similar, func(s loci.Similarity) bool { return s.ID == like })
		}
	}
	m.Memory, err = Add(a, m.Memory, e)
	return loci.CreatedMemory{Memory: m}, err
}

// createVersion stores the text of a source again, as a version of its memory if it differs.
func createVersion(a *scope.Atlas, h *Memory, m loci.NewMemory, e IndexEntry,
	neighbors []loci.Similarity) (out loci.CreatedMemory, err error) {
	if m.Similar, _, err = FindSimilar(a, m.Content, e, h.current.ID, neighbors); err != nil {
		return out, err
	}
	next, before := m.Memory, h.current.Version
	if next.Content == h.current.Content {
		next = h.current
	}
	m.Memory, err = h.Revise(next, e)
	m.Unchanged = m.Version == before
	return loci.CreatedMemory{Memory: m, Creation: loci.Existing}, err
}

// findDuplicate returns the oldest active memory of the atlas with a content, whose entry is e. The first statement
// reads the row id alone, because usually there is no duplicate.
func findDuplicate(a *scope.Atlas, content string, e IndexEntry) (m loci.Memory, found bool, err error) {
	var rowID int64
	err = scope.Of(a).Conn.QueryRow(
		`SELECT e.row_id FROM memories e WHERE e.atlas = ?1 AND e.hash = ?2 AND e.content = ?3 AND e.status = 0
			ORDER BY e.row_id LIMIT 1`,
		[]any{a.RowID(), e.hash, content}, []any{&rowID})
	if err == nil {
		m, err = Scan(scope.Of(a), scope.Of(a).Row(`SELECT`+Columns+`FROM`+Join(scope.Of(a))+
			`WHERE e.row_id = ?2 AND e.status = 0`, rowID))
	}
	if errors.Is(err, sqldb.ErrNoRows) {
		return m, false, nil
	}
	scope.Of(a).LinkResponse(shownBy(m)...)
	return m, err == nil, err
}

// An IndexEntry holds the document of a text for the keyword index, its LSH bands and its content hash.
type IndexEntry struct {
	document []byte
	bands    []int64
	hash     int64
}

// NewIndexEntry returns the entry of a memory with that title and content.
func NewIndexEntry(title, content string) IndexEntry {
	return IndexEntry{index.AnalyzeEncoded(title, content), minhash.Bands(content), ContentHash(content)}
}

// ComputeIndexEntry returns the index entry of a text. It analyzes a long text outside of the transaction.
func ComputeIndexEntry(h scope.Holder, title, content string) (IndexEntry, error) {
	return scope.Compute(h, analysis.NormalSize(title, content), func() IndexEntry {
		return NewIndexEntry(title, content)
	}, title, content)
}

// computeBands returns the LSH bands of a text, for a long one outside of the transaction. They cost less than an index
// entry.
func computeBands(h scope.Holder, content string) ([]int64, error) {
	size := analysis.NormalSize(content)
	if size <= analysis.LongText {
		return minhash.Bands(content), nil
	}
	return scope.Compute(h, size, func() []int64 { return minhash.Bands(content) }, content)
}

var insertMemory = indexdb.MemoryTable.Insert("memories", "workspace", "atlas", "hash", "updated_by")

// Add stores a memory in the atlas; e is the entry of its text. Its creator is the actor, unless another one
// is given.
func Add(a *scope.Atlas, m loci.Memory, e IndexEntry) (loci.Memory, error) {
	if err := a.Accept(scope.ToChange); err != nil {
		return m, err
	}
	if m.Type == "" {
		m.Type = loci.TypeNote
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	t := scope.Of(a)
	m.ID, m.WorkspaceID, m.AtlasID = loci.NewID(t.Conn.Now.Std()), a.WorkspaceID(), a.ID()
	m.Status, m.Version, m.CreatedAt, m.UpdatedAt = loci.MemoryActive, 1, t.Conn.Now, t.Conn.Now
	if m.CreatedBy == "" {
		m.CreatedBy, m.AgentID = t.Actor.UserID, cmp.Or(m.AgentID, t.Actor.AgentID)
	}
	fields := indexdb.FieldsOf(m)
	rowID, err := t.Conn.Insert(insertMemory, indexdb.MemoryTable.Values(&fields,
		a.Workspace().RowID(), a.RowID(), e.hash, m.CreatedBy))
	if err != nil {
		return m, err
	}
	t.LinkResponse(m.ID)
	a.Workspace().NoteChange(loci.KindMemory, m.ID)
	if err := minhashdb.Insert(scope.Of(a).Conn, a.Workspace().RowID(), rowID, e.bands); err != nil {
		return m, err
	}
	if err := scope.Of(a).Embedder.Enqueue(scope.Of(a).Conn, rowID); err != nil {
		return m, err
	}
	if err := activateReferral(t, m); err != nil {
		return m, err
	}
	return m, appendLog(a, indexdb.LogUpdate{DocAttributes: indexdb.DocAttributes(rowID, a.RowID(), m),
		Counters: indexdb.Counters{Memories: 1, Bytes: int64(len(m.Content))}, Document: e.document})
}

// activateReferral activates the referral of the creator if the new memory qualifies. Few actors have an open referral;
// for the others it sends no statement.
func activateReferral(t *scope.Scope, m loci.Memory) error {
	isOwn := m.CreatedBy == t.Actor.UserID
	if isOwn && !t.Actor.OpenReferral || utf8.RuneCountInString(m.Content) < loci.MinQualifyingLength {
		return nil
	}
	return t.Accounts().ActivateReferral(m.CreatedBy)
}

// appendLog appends a change to the log of the keyword index, and checks the storage quota of the owner.
func appendLog(a *scope.Atlas, u indexdb.LogUpdate) error {
	err := scope.Of(a).Index.AppendLog(scope.Of(a).Conn, a.Workspace().RowID(), u)
	if err == nil && u.Bytes > 0 {
		err = a.Workspace().CheckStorageQuota()
	}
	return err
}
