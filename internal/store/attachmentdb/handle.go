package attachmentdb

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// Detail returns a memory in scope with its active attachments.
func Detail(h scope.Holder, id loci.ID) (loci.MemoryDetail, error) {
	t := scope.Of(h)
	list := ""
	m, err := memorydb.Scan(t, t.Row(`SELECT`+memorydb.Columns+`, `+ActiveList(t.Conn.Dialect)+`FROM`+
		memorydb.Join(t)+`WHERE e.id = ?2`, id), &list)
	out := loci.MemoryDetail{Memory: m, Attachments: []loci.Attachment{}}
	if err == nil && list != sqldb.EmptyList {
		out.Attachments, err = DecodeList(list)
	}
	return out, sqldb.MapNoRows(err)
}

// attachmentsJoin joins attachments x in scope to their memories e and their atlases.
func attachmentsJoin(t *scope.Scope) string {
	return memorydb.Join(t) + `JOIN attachments x ON x.memory = e.row_id `
}

// Active returns an active attachment in scope.
func Active(h scope.Holder, id loci.ID) (loci.Attachment, error) {
	t := scope.Of(h)
	x, err := Scan(t.Row(`SELECT`+Columns+`FROM`+attachmentsJoin(t)+
		`WHERE x.id = ?2 AND x.active`, id))
	return x.Attachment, sqldb.MapNoRows(err)
}

// Announce announces a file of the memory. Its size is reserved in the storage of the owner.
func Announce(m *memorydb.Memory, a loci.Attachment) (loci.Attachment, error) {
	t := scope.Of(m.Atlas())
	n, err := count(t, m)
	if err == nil && n >= loci.MaxAttachments {
		err = loci.Errorf(loci.CodeStateConflict, "The memory has %d files, with the uploads that are not confirmed: "+
			"delete one first.", n)
	}
	if err == nil {
		err = checkPendingUploads(t)
	}
	if err != nil {
		return a, err
	}
	a.ID, a.CreatedAt, a.CreatedBy = loci.NewID(t.Conn.Now.Std()), t.Conn.Now, t.Actor.UserID
	a.Status = loci.AttachmentPending
	if err := insert(t.Conn, m.RowID(), m.Atlas().RowID(), a); err != nil {
		return a, err
	}
	t.LinkResponse(a.ID, m.Record().ID)
	return a, m.Atlas().Workspace().CheckStorageQuota()
}

// count counts the attachments of a locked memory, without expired uploads.
func count(t *scope.Scope, m *memorydb.Memory) (n int, err error) {
	return n, t.Conn.QueryRow(`SELECT count(*) FROM attachments x WHERE x.memory = ?1
		AND (x.active OR x.created_at > ?2)`, []any{m.RowID(), scope.PendingSince(t.Conn)}, []any{&n})
}

// checkPendingUploads returns state_conflict if the actor has as many unconfirmed uploads as a user may have.
func checkPendingUploads(t *scope.Scope) error {
	n, user := 0, t.Actor.UserID
	err := t.Conn.AdvisoryLock(string(user) + "/uploads")
	if err == nil {
		err = t.Conn.QueryRow(`SELECT count(*) FROM attachments x WHERE x.created_by = ?1 AND NOT x.active
			AND x.created_at > ?2`, []any{user, scope.PendingSince(t.Conn)}, []any{&n})
	}
	if err != nil || n < loci.MaxPendingUploads {
		return err
	}
	var oldest loci.ID
	if err := t.Conn.QueryRow(`SELECT x.id FROM attachments x WHERE x.created_by = ?1 AND NOT x.active
		AND x.created_at > ?2 ORDER BY x.created_at, x.id LIMIT 1`,
		[]any{user, scope.PendingSince(t.Conn)}, []any{&oldest}); err != nil {
		return err
	}
	return loci.Errorf(loci.CodeStateConflict, "You have %d uploads that are not confirmed: confirm or delete one "+
		"first. The oldest is %s; each ends a day after its announcement.", n, oldest)
}

// An Attachment is the handle of an attachment of a memory that the actor may change. Both rows are locked until the
// commit.
type Attachment struct {
	in     *scope.Scope
	memory *memorydb.Memory
	record Record
}

// Open returns the handle of an attachment. Out of scope it is NotFound, as is an upload that has expired, and
// Forbidden where the actor may only read.
func Open(h scope.Holder, id loci.ID) (*Attachment, error) {
	t := scope.Of(h)
	var memory loci.ID
	err := t.QueryRow(`SELECT e.id FROM`+attachmentsJoin(t)+`WHERE x.id = ?2 AND (x.active OR x.created_at > ?3)`,
		[]any{id, scope.PendingSince(t.Conn)}, &memory)
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	a := &Attachment{in: t}
	if a.memory, err = memorydb.Open(t, memory, scope.InAnyState); err != nil {
		return nil, err
	}
	a.record, err = Scan(t.Conn.Row(`SELECT`+Columns+`FROM attachments x WHERE x.id = ?1`+
		t.Conn.LockClause("UPDATE", "x"), id))
	return a, sqldb.MapNoRows(err)
}

// LockMemories locks the memories of attachments in scope, in the order of memorydb.Lock.
func LockMemories(h scope.Holder, attachments []loci.ID) error {
	t := scope.Of(h)
	if !t.Conn.Dialect.Postgres {
		return nil
	}
	return t.QueryFew(`SELECT e.row_id FROM`+attachmentsJoin(t)+`WHERE x.id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.Conn.Dialect.StringRows, 2)+`) ORDER BY e.row_id`+t.Conn.LockClause("NO KEY UPDATE", "e"),
		[]any{sqldb.EncodeStrings(attachments)}, sqldb.ScanInts(new([]int64)))
}

// Record returns the record of the attachment in this transaction.
func (a *Attachment) Record() loci.Attachment {
	a.in.LinkResponse(a.record.ID, a.memory.Record().ID)
	return a.record.Attachment
}

// StoredSHA256 returns the checksum of the uploaded object, or "" where it is not known.
func (a *Attachment) StoredSHA256() string { return a.record.StoredSHA256 }

// RequireActive returns state_conflict for an attachment of a memory that cannot be changed.
func (a *Attachment) RequireActive() error { return a.memory.Accept(scope.ToChange) }

// Activate makes a pending attachment with the properties of its object a part of the memory. Over the quota of the
// owner it is refused.
func (a *Attachment) Activate(size int64, mimeType, sha256 string) (loci.Attachment, error) {
	t, m := a.in, a.memory
	r := &a.record
	r.Size, r.MIMEType, r.SHA256, r.StoredSHA256, r.Status = size, mimeType, sha256, sha256, loci.AttachmentActive
	if _, err := t.Exec(`UPDATE attachments SET size = ?2, mime_type = ?3, sha256 = ?4, stored_sha256 = ?4,
		active = ?5 WHERE row_id = ?1`, r.RowID, size, mimeType, sha256, true); err != nil {
		return r.Attachment, err
	}
	if err := SetActiveList(t.Conn, m.RowID(), append(m.Record().AttachmentIDs, r.ID)); err != nil {
		return r.Attachment, err
	}
	m.Atlas().Workspace().NoteChange(loci.KindMemory, m.Record().ID)
	return a.Record(), m.Atlas().Workspace().CheckStorageQuota()
}

// Delete deletes the attachment. A job deletes the object.
func (a *Attachment) Delete() error {
	t, m, id := a.in, a.memory, a.record.ID
	t.LinkResponse(m.Record().ID)
	if err := memorydb.DeleteAttachments(t.Conn, t.Jobs, `row_id = ?1`, a.record.RowID); err != nil {
		return err
	}
	m.Atlas().Workspace().NoteChange(loci.KindMemory, m.Record().ID)
	list := slices.Clone(m.Record().AttachmentIDs)
	if i := slices.Index(list, id); i >= 0 {
		return SetActiveList(t.Conn, m.RowID(), slices.Delete(list, i, i+1))
	}
	return nil
}

// Refuse deletes a pending attachment whose object is refused. The deletion is the only effect of the call: no response
// is stored.
func (a *Attachment) Refuse() error {
	a.in.DiscardResponse()
	return a.Delete()
}

// liveAttachments are attachments x of memories in atlases that are not deleted, in workspaces that have members.
const liveAttachments = ` attachments x JOIN memories e ON e.row_id = x.memory` + memorydb.AtlasJoin + `
	JOIN members o ON o.workspace = e.workspace AND o.role = 'owner' `

// isLive is the condition of an attachment x that is active, or whose upload has not expired.
const isLive = ` WHERE x.id = ?1 AND (x.active OR x.created_at > ?2) `

// Live returns an attachment. One of a deleted memory or place is NotFound, as is an upload that has expired.
func Live(h scope.SystemHolder, id loci.ID) (Record, error) {
	t := scope.OfSystem(h)
	x, err := Scan(t.Conn.Row(`SELECT`+Columns+`FROM`+liveAttachments+isLive, id, scope.PendingSince(t.Conn)))
	return x, sqldb.MapNoRows(err)
}

// Owner returns the owner of the workspace of an attachment that Live returns.
func Owner(h scope.SystemHolder, id loci.ID) (owner loci.ID, err error) {
	t := scope.OfSystem(h)
	err = t.Conn.Row(`SELECT o.user_id FROM`+liveAttachments+isLive, id, scope.PendingSince(t.Conn)).Scan(&owner)
	return owner, sqldb.MapNoRows(err)
}

// Any returns an attachment, whether anybody reaches it or not.
func Any(h scope.SystemHolder, id loci.ID) (Record, error) {
	t := scope.OfSystem(h)
	x, err := Scan(t.Conn.Row(`SELECT`+Columns+`FROM attachments x WHERE x.id = ?1`, id))
	return x, sqldb.MapNoRows(err)
}

// SetStored records the type and the checksum of an uploaded object, and reports whether its attachment is still
// pending. A job deletes the object of one that was deleted meanwhile.
func SetStored(h scope.SystemHolder, id loci.ID, mimeType, sha256 string) (bool, error) {
	t := scope.OfSystem(h)
	n, err := t.Exec(`UPDATE attachments SET mime_type = ?2, stored_sha256 = ?3 WHERE id = ?1 AND NOT active
		AND created_at > ?4`, id, mimeType, sha256, scope.PendingSince(t.Conn))
	if err != nil || n > 0 {
		return true, err
	}
	return false, t.AddJob(memorydb.DeleteObjectJob, id)
}

// DeleteExpiredUploads deletes the attachments whose uploads have expired. Jobs delete the objects.
func DeleteExpiredUploads(h scope.SystemHolder) error {
	t := scope.OfSystem(h)
	return memorydb.DeleteAttachments(t.Conn, t.Jobs, `NOT active AND created_at <= ?1`,
		scope.PendingSince(t.Conn))
}
