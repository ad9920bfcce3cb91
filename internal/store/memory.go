package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

var memoryColumns = indexdb.MemoryColumns + `, w.id, a.id `

func (t *Tx) scanMemory(r sqldb.Row, more ...any) (loci.Memory, error) {
	return t.newMemoryScanner(more...)(r)
}

// newMemoryScanner returns a function that scans rows of memories. The scan destinations are allocated once for all
// rows.
func (t *Tx) newMemoryScanner(more ...any) func(sqldb.Row) (loci.Memory, error) {
	var x indexdb.MemoryFields
	dest := append(append(indexdb.MemoryTable.Dest(&x), &x.WorkspaceID, &x.AtlasID), more...)
	return func(r sqldb.Row) (m loci.Memory, err error) {
		x = indexdb.MemoryFields{}
		if err = r.Scan(dest...); err != nil {
			return m, err
		}
		m, err = x.Record()
		m.Expired = m.ValidUntil != 0 && m.ValidUntil <= t.conn.Now
		return m, err
	}
}

// atlasJoin joins memories e to their atlases a. A deleted atlas has no workspace, and thus no memories.
const atlasJoin = ` JOIN atlases a ON a.row_id = e.atlas AND a.workspace = e.workspace `

// memoriesJoin joins memories e in scope to their atlases a.
func (t *Tx) memoriesJoin() string {
	return ` memories e` + t.membershipJoin("e.workspace") + atlasJoin
}

// MemoryRecord returns a memory in scope.
func (t *Tx) MemoryRecord(id loci.ID) (loci.Memory, error) {
	m, err := t.scanMemory(t.row(`SELECT`+memoryColumns+`FROM`+t.memoriesJoin()+`WHERE e.id = ?2`, id))
	return m, sqldb.MapNoRows(err)
}

// CollectAuthors makes lists and searches of the transaction write the names of the authors to a map. An author without
// an account has none.
func (t *Tx) CollectAuthors(names map[loci.ID]string) { t.authors = names }

// loadMemories calls f with the memories of rows in scope, in any order.
func (t *Tx) loadMemories(rowIDs []int64, f func(rowID, workspace int64, m loci.Memory)) error {
	var rowID, workspace int64
	columns, author := memoryColumns+`, e.row_id, e.workspace `, ""
	dest := []any{&rowID, &workspace}
	if t.authors != nil {
		columns += `, COALESCE((SELECT u.name FROM users u WHERE u.id = e.created_by), '') `
		dest = append(dest, &author)
	}
	q := `SELECT` + columns + `FROM ` +
		fmt.Sprintf(t.conn.Dialect.JoinIDs, 2, "memories e", "e.row_id") +
		t.membershipJoin("e.workspace") + atlasJoin
	scan := t.newMemoryScanner(dest...)
	return t.queryFew(q, []any{sqldb.EncodeInts(rowIDs)}, func(r sqldb.Row) error {
		m, err := scan(r)
		if err != nil {
			return err
		}
		if author != "" {
			t.authors[m.CreatedBy] = author
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
	OnDuplicate loci.OnDuplicate // "" stores a text again
	ShowSimilar bool             // finds similar memories, which the answer shows
}

// Create stores a memory in the atlas, or returns or changes an existing one by the policy; e is the entry of its text.
// Without a type it is a note. An existing memory keeps type and tags where m has none.
func (a *Atlas) Create(m loci.NewMemory, e IndexEntry, p CreatePolicy) (out loci.CreatedMemory, err error) {
	if p.OnDuplicate == loci.OnDuplicateVersion && m.Source != nil && m.Source.URI != "" {
		if err := a.lock(string(m.Source.Name) + "\n" + string(m.Source.URI)); err != nil {
			return out, err
		}
		h, found, err := a.findBySource(*m.Source)
		if err != nil {
			return out, err
		}
		if found {
			return a.createVersion(h, m, e)
		}
	}
	if p.OnDuplicate == loci.OnDuplicateReturn {
		if err := a.lock(m.Content); err != nil {
			return out, err
		}
	}
	equal, found, err := a.findDuplicate(m.Content, e)
	if err != nil {
		return out, err
	}
	if found && p.OnDuplicate == loci.OnDuplicateReturn {
		m.Memory, m.Similar = equal, []loci.Similarity{}
		return loci.ExistingMemory(m), nil
	}
	m.DuplicateOf = equal.ID
	if p.ShowSimilar {
		if m.Similar, err = a.FindSimilar(m.Content, e, equal.ID); err != nil {
			return out, err
		}
	}
	m.Memory, err = a.AddMemory(m.Memory, e)
	return loci.CreatedMemory{Memory: m}, err
}

// createVersion stores the text of a source again, as a version of its memory if it differs.
func (a *Atlas) createVersion(h *Memory, m loci.NewMemory, e IndexEntry) (out loci.CreatedMemory, err error) {
	if m.Similar, err = a.FindSimilar(m.Content, e, h.current.ID); err != nil {
		return out, err
	}
	next := m.Memory
	if next.Content == h.current.Content {
		next = h.current
	}
	m.Memory, err = h.Revise(next, e)
	return loci.ExistingMemory(m), err
}

// findDuplicate returns the oldest active memory of the atlas with a content, whose entry is e. The first statement
// reads the row id alone, because usually there is no duplicate.
func (a *Atlas) findDuplicate(content string, e IndexEntry) (m loci.Memory, found bool, err error) {
	var rowID int64
	err = a.t.conn.QueryRow(
		`SELECT e.row_id FROM memories e WHERE e.atlas = ?1 AND e.hash = ?2 AND e.content = ?3 AND e.status = 0
			ORDER BY e.row_id LIMIT 1`,
		[]any{a.rowID, e.hash, content}, []any{&rowID})
	if err == nil {
		m, err = a.t.scanMemory(a.t.row(`SELECT`+memoryColumns+`FROM`+a.t.memoriesJoin()+
			`WHERE e.row_id = ?2 AND e.status = 0`, rowID))
	}
	if errors.Is(err, sqldb.ErrNoRows) {
		return m, false, nil
	}
	a.t.LinkResponse(shownBy(m)...)
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

var insertMemory = indexdb.MemoryTable.Insert("memories", "workspace", "atlas", "hash", "updated_by", "checksum")

// AddMemory stores a memory in the atlas; e is the entry of its text. Its creator is the actor, unless another one
// is given.
func (a *Atlas) AddMemory(m loci.Memory, e IndexEntry) (loci.Memory, error) {
	if err := a.accept(ToChange); err != nil {
		return m, err
	}
	if m.Type == "" {
		m.Type = loci.TypeNote
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	t := a.t
	m.ID, m.WorkspaceID, m.AtlasID = loci.NewID(t.conn.Now.Std()), a.workspace.id, a.id
	m.Status, m.Version, m.CreatedAt, m.UpdatedAt = loci.MemoryActive, 1, t.conn.Now, t.conn.Now
	if m.CreatedBy == "" {
		m.CreatedBy, m.AgentID = t.actor.UserID, cmp.Or(m.AgentID, t.actor.AgentID)
	}
	fields := indexdb.FieldsOf(m)
	rowID, err := t.conn.Insert(insertMemory, indexdb.MemoryTable.Values(&fields,
		a.workspace.rowID, a.rowID, e.hash, m.CreatedBy, checksum.Memory(m)))
	if err != nil {
		return m, err
	}
	t.LinkResponse(m.ID)
	if err := minhashdb.Insert(a.t.conn, a.workspace.rowID, rowID, e.bands); err != nil {
		return m, err
	}
	if err := a.t.store.embedder.Enqueue(a.t.conn, rowID); err != nil {
		return m, err
	}
	if err := t.activateReferral(m); err != nil {
		return m, err
	}
	return m, a.appendLog(indexdb.LogUpdate{DocAttributes: indexdb.DocAttributes(rowID, a.rowID, m),
		Counters: indexdb.Counters{Memories: 1, Bytes: int64(len(m.Content))}, Document: e.document})
}

// activateReferral activates the referral of the creator if the new memory qualifies. Few actors have an open referral;
// for the others it sends no statement.
func (t *Tx) activateReferral(m loci.Memory) error {
	isOwn := m.CreatedBy == t.actor.UserID
	if isOwn && !t.actor.OpenReferral || utf8.RuneCountInString(m.Content) < loci.MinQualifyingLength {
		return nil
	}
	return t.accounts().ActivateReferral(m.CreatedBy)
}

// appendLog appends a change to the log of the keyword index, and checks the storage quota of the owner.
func (a *Atlas) appendLog(u indexdb.LogUpdate) error {
	err := a.t.store.index.AppendLog(a.t.conn, a.workspace.rowID, u)
	if err == nil && u.Bytes > 0 {
		err = a.workspace.checkStorageQuota()
	}
	return err
}
