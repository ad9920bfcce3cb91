package indexdb

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A LogUpdate is the change of one memory in the log.
type LogUpdate struct {
	index.DocAttributes
	Counters        // added to those of the atlas
	Deleted  bool   // with no attributes but Memory and Atlas
	Document []byte // of package index; empty if Deleted
}

// Deletion returns the update that deletes the document of a memory.
func Deletion(rowID, atlas int64, added Counters) LogUpdate {
	return LogUpdate{DocAttributes: index.DocAttributes{Memory: rowID, Atlas: atlas}, Counters: added, Deleted: true}
}

// DocAttributes returns the attributes of a memory in the index.
func DocAttributes(rowID, atlas int64, m loci.Memory) index.DocAttributes {
	group, position := sourceGroup(m.Source)
	return index.DocAttributes{Memory: rowID, Atlas: atlas, Created: int64(m.CreatedAt),
		ValidUntil: int64(m.ValidUntil), Type: uint8(slices.Index(loci.MemoryTypes, m.Type)),
		Status: uint8(slices.Index(loci.MemoryStatuses, m.Status)), Verified: m.VerifiedAt != 0, Tags: m.Tags,
		Group: group, Position: position}
}

// sourceGroup returns the place of a memory in its source: a number for the group, or zero, and the position.
func sourceGroup(s *loci.Source) (group, position int64) {
	if s == nil || s.Group == "" || s.Position == nil {
		return 0, 0
	}
	h := sha256.Sum256([]byte(string(s.Name) + "\x00" + string(s.Group)))
	return int64(binary.BigEndian.Uint64(h[:8])) | 1, int64(*s.Position)
}

// AppendLog writes a change to the log. Once it is committed, the workspace is flushed where that is due.
func (x *Index) AppendLog(t *sqldb.Tx, workspace int64, u LogUpdate) error {
	if u.Document == nil {
		u.Document = []byte{}
	}
	_, err := t.Exec(
		`INSERT INTO index_log (workspace, memory, atlas, type, status, tags, created_at, deleted, verified,
			valid_until, memories, bytes, document, group_id, position)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`, workspace, u.Memory,
		u.Atlas, u.Type, u.Status, sqldb.EncodeStrings(u.Tags), u.Created, u.Deleted,
		u.Verified, u.ValidUntil, u.Memories, u.Bytes, u.Document, u.Group, u.Position)
	t.OnCommit(func() { x.compactor.noteUpdate(workspace) })
	return err
}

const logColumns = ` seq, memory, atlas, type, status, tags, created_at, deleted, verified,
	valid_until, document, group_id, position `

// ReadLog reads rows of the log.
func ReadLog(t *sqldb.Tx, workspace int64, seqs []int64) (list []index.DocUpdate, err error) {
	q := `SELECT` + logColumns + `FROM index_log WHERE workspace = ?1 AND ` +
		fmt.Sprintf(t.Dialect.InList, "seq", 2) + ` ORDER BY seq`
	list = make([]index.DocUpdate, 0, len(seqs))
	err = t.Query(q, []any{workspace, sqldb.EncodeInts(seqs)}, func(r sqldb.Row) error {
		c, err := scanLogRow(r)
		list = append(list, c)
		return err
	})
	return list, err
}

func scanLogRow(r sqldb.Row, more ...any) (c index.DocUpdate, err error) {
	var tags string
	var document []byte
	if err = r.Scan(append([]any{&c.Seq, &c.Memory, &c.Atlas, &c.Type, &c.Status, &tags, &c.Created, &c.Deleted,
		&c.Verified, &c.ValidUntil, &document, &c.Group, &c.Position}, more...)...); err != nil {
		return c, err
	}
	if c.Tags, err = sqldb.DecodeStrings[string](tags); err != nil {
		return c, index.ErrCorrupt
	}
	if c.Deleted {
		return c, nil
	}
	c.Document, err = index.DecodeDocument(document)
	return c, err
}
