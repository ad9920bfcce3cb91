package store

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
)

// MemoryDetail returns a memory in scope with its active attachments.
func (t *Tx) MemoryDetail(id loci.ID) (loci.MemoryDetail, error) {
	list := ""
	m, err := t.scanMemory(t.row(`SELECT`+memoryColumns+`, `+attachmentdb.ActiveList(t.conn.Dialect)+`FROM`+
		t.memoriesJoin()+`WHERE e.id = ?2`, id), &list)
	out := loci.MemoryDetail{Memory: m, Attachments: []loci.Attachment{}}
	if err == nil && list != sqldb.EmptyList {
		out.Attachments, err = attachmentdb.DecodeList(list)
	}
	return out, sqldb.MapNoRows(err)
}

// attachmentsJoin joins attachments x in scope to their memories e and their atlases.
func (t *Tx) attachmentsJoin() string {
	return t.memoriesJoin() + `JOIN attachments x ON x.memory = e.row_id `
}

// ActiveAttachment returns an active attachment in scope.
func (t *Tx) ActiveAttachment(id loci.ID) (loci.Attachment, error) {
	x, err := attachmentdb.Scan(t.row(`SELECT`+attachmentdb.Columns+`FROM`+t.attachmentsJoin()+
		`WHERE x.id = ?2 AND x.active`, id))
	return x.Attachment, sqldb.MapNoRows(err)
}

// AddAttachment announces a file of the memory. Its size is reserved in the storage of the owner.
func (m *Memory) AddAttachment(a loci.Attachment) (loci.Attachment, error) {
	t := m.t
	n, err := m.countAttachments()
	if err == nil && n >= loci.MaxAttachments {
		err = loci.Errorf(loci.CodeStateConflict, "The memory has %d files, with the uploads that are not confirmed: "+
			"delete one first.", n)
	}
	if err == nil {
		err = t.checkPendingUploads()
	}
	if err != nil {
		return a, err
	}
	a.ID, a.CreatedAt, a.CreatedBy = loci.NewID(t.conn.Now.Std()), t.conn.Now, t.actor.UserID
	a.Status = loci.AttachmentPending
	if err := attachmentdb.Add(t.conn, m.rowID, m.atlas.rowID, a); err != nil {
		return a, err
	}
	t.LinkResponse(a.ID, m.current.ID)
	return a, m.atlas.workspace.checkStorageQuota()
}

// countAttachments counts the attachments of a locked memory, without expired uploads.
func (m *Memory) countAttachments() (n int, err error) {
	return n, m.t.conn.QueryRow(`SELECT count(*) FROM attachments x WHERE x.memory = ?1
		AND (x.active OR x.created_at > ?2)`, []any{m.rowID, attachmentdb.PendingSince(m.t.conn)}, []any{&n})
}

// checkPendingUploads returns state_conflict if the actor has as many unconfirmed uploads as a user may have.
func (t *Tx) checkPendingUploads() error {
	n, user := 0, t.actor.UserID
	err := t.conn.AdvisoryLock(string(user) + "/uploads")
	if err == nil {
		err = t.conn.QueryRow(`SELECT count(*) FROM attachments x WHERE x.created_by = ?1 AND NOT x.active
			AND x.created_at > ?2`, []any{user, attachmentdb.PendingSince(t.conn)}, []any{&n})
	}
	if err != nil || n < loci.MaxPendingUploads {
		return err
	}
	var oldest loci.ID
	if err := t.conn.QueryRow(`SELECT x.id FROM attachments x WHERE x.created_by = ?1 AND NOT x.active
		AND x.created_at > ?2 ORDER BY x.created_at, x.id LIMIT 1`,
		[]any{user, attachmentdb.PendingSince(t.conn)}, []any{&oldest}); err != nil {
		return err
	}
	return loci.Errorf(loci.CodeStateConflict, "You have %d uploads that are not confirmed: confirm or delete one "+
		"first. The oldest is %s; each ends a day after its announcement.", n, oldest)
}

// An Attachment is the handle of an attachment of a memory that the actor may change. Both rows are locked until the
// commit.
type Attachment struct {
	memory *Memory
	record attachmentdb.Record
}

// Attachment returns the handle of an attachment. Out of scope it is NotFound, as is an upload that has expired, and
// Forbidden where the actor may only read.
func (t *Tx) Attachment(id loci.ID) (*Attachment, error) {
	var memory loci.ID
	err := t.queryRow(`SELECT e.id FROM`+t.attachmentsJoin()+`WHERE x.id = ?2 AND (x.active OR x.created_at > ?3)`,
		[]any{id, attachmentdb.PendingSince(t.conn)}, &memory)
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	a := &Attachment{}
	if a.memory, err = t.Memory(memory, InAnyState); err != nil {
		return nil, err
	}
	a.record, err = attachmentdb.Scan(t.conn.Row(`SELECT`+attachmentdb.Columns+`FROM attachments x WHERE x.id = ?1`+
		t.conn.LockClause("UPDATE", "x"), id))
	return a, sqldb.MapNoRows(err)
}

// LockMemoriesOf locks the memories of attachments in scope, in the order of LockMemories.
func (t *Tx) LockMemoriesOf(attachments []loci.ID) error {
	if !t.conn.Dialect.Postgres {
		return nil
	}
	return t.queryFew(`SELECT e.row_id FROM`+t.attachmentsJoin()+`WHERE x.id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.conn.Dialect.StringRows, 2)+`) ORDER BY e.row_id`+t.conn.LockClause("NO KEY UPDATE", "e"),
		[]any{sqldb.EncodeStrings(attachments)}, sqldb.ScanInts(new([]int64)))
}

// Record returns the record of the attachment in this transaction.
func (a *Attachment) Record() loci.Attachment {
	a.memory.t.LinkResponse(a.record.ID, a.memory.current.ID)
	return a.record.Attachment
}

// StoredSHA256 returns the checksum of the uploaded object, or "" where it is not known.
func (a *Attachment) StoredSHA256() string { return a.record.StoredSHA256 }

// RequireActive returns state_conflict for an attachment of a memory that cannot be changed.
func (a *Attachment) RequireActive() error { return a.memory.accept(ToChange) }

// Activate makes a pending attachment with the properties of its object a part of the memory. Over the quota of the
// owner it is refused.
func (a *Attachment) Activate(size int64, mimeType, sha256 string) (loci.Attachment, error) {
	t, m := a.memory.t, a.memory
	r := &a.record
	r.Size, r.MIMEType, r.SHA256, r.StoredSHA256, r.Status = size, mimeType, sha256, sha256, loci.AttachmentActive
	if _, err := t.exec(`UPDATE attachments SET size = ?2, mime_type = ?3, sha256 = ?4, stored_sha256 = ?4,
		active = ?5 WHERE row_id = ?1`, r.RowID, size, mimeType, sha256, true); err != nil {
		return r.Attachment, err
	}
	m.current.AttachmentIDs = append(m.current.AttachmentIDs, r.ID)
	if err := attachmentdb.SetActiveList(t.conn, m.rowID, m.current.AttachmentIDs); err != nil {
		return r.Attachment, err
	}
	return a.Record(), m.atlas.workspace.checkStorageQuota()
}

// Delete deletes the attachment. A job deletes the object.
func (a *Attachment) Delete() error {
	t, m, id := a.memory.t, a.memory, a.record.ID
	t.LinkResponse(m.current.ID)
	if err := attachmentdb.Delete(t.conn, t.store.jobs, `row_id = ?1`, a.record.RowID); err != nil {
		return err
	}
	if i := slices.Index(m.current.AttachmentIDs, id); i >= 0 {
		m.current.AttachmentIDs = slices.Delete(m.current.AttachmentIDs, i, i+1)
		return attachmentdb.SetActiveList(t.conn, m.rowID, m.current.AttachmentIDs)
	}
	return nil
}

// Refuse deletes a pending attachment whose object is refused. The deletion is the only effect of the call: no response
// is stored.
func (a *Attachment) Refuse() error {
	a.memory.t.discardResponse()
	return a.Delete()
}

// liveAttachments are attachments x of memories in atlases that are not deleted, in workspaces that have members.
const liveAttachments = ` attachments x JOIN memories e ON e.row_id = x.memory` + atlasJoin + `
	JOIN members o ON o.workspace = e.workspace AND o.role = 'owner' `

// LiveAttachment returns an attachment. One of a deleted memory or place is NotFound, as is an upload that has expired.
func (t *SystemTx) LiveAttachment(id loci.ID) (attachmentdb.Record, error) {
	x, err := attachmentdb.Scan(t.t.conn.Row(`SELECT`+attachmentdb.Columns+`FROM`+liveAttachments+`WHERE x.id = ?1
		AND (x.active OR x.created_at > ?2)`, id, attachmentdb.PendingSince(t.t.conn)))
	return x, sqldb.MapNoRows(err)
}

// AnyAttachment returns an attachment, whether anybody reaches it or not.
func (t *SystemTx) AnyAttachment(id loci.ID) (attachmentdb.Record, error) {
	x, err := attachmentdb.Scan(t.t.conn.Row(`SELECT`+attachmentdb.Columns+`FROM attachments x WHERE x.id = ?1`, id))
	return x, sqldb.MapNoRows(err)
}

// SetStored records the type and the checksum of an uploaded object, and reports whether its attachment is still
// pending. A job deletes the object of one that was deleted meanwhile.
func (t *SystemTx) SetStored(id loci.ID, mimeType, sha256 string) (bool, error) {
	n, err := t.t.exec(`UPDATE attachments SET mime_type = ?2, stored_sha256 = ?3 WHERE id = ?1 AND NOT active
		AND created_at > ?4`, id, mimeType, sha256, attachmentdb.PendingSince(t.t.conn))
	if err != nil || n > 0 {
		return true, err
	}
	return false, t.AddJob(attachmentdb.DeleteObjectJob, id)
}

// DeleteExpiredUploads deletes the attachments whose uploads have expired. Jobs delete the objects.
func (t *SystemTx) DeleteExpiredUploads() error {
	return attachmentdb.Delete(t.t.conn, t.t.store.jobs, `NOT active AND created_at <= ?1`,
		attachmentdb.PendingSince(t.t.conn))
}
