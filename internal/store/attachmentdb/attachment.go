package attachmentdb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Record is an attachment as its row holds it.
type Record struct {
	loci.Attachment
	RowID        int64
	StoredSHA256 string // of an uploaded object, where it is known
}

// Columns are the columns of attachments x that Scan reads.
const Columns = ` x.row_id, x.id, x.file_name, x.size, x.mime_type, x.sha256, x.stored_sha256, x.created_by, x.active,
	x.created_at `

// Scan reads Columns, and further ones into more.
func Scan(r sqldb.Row, more ...any) (a Record, err error) {
	active := false
	err = r.Scan(append([]any{&a.RowID, &a.ID, &a.FileName, &a.Size, &a.MIMEType, &a.SHA256, &a.StoredSHA256,
		&a.CreatedBy, &active, &a.CreatedAt}, more...)...)
	a.Status = loci.AttachmentPending
	if active {
		a.Status = loci.AttachmentActive
	}
	return a, err
}

// ActiveList returns the SQL of the JSON list of the active attachments of memories e. A memory without any costs no
// lookup.
func ActiveList(d *sqldb.Dialect) string {
	return ` CASE WHEN e.attachments = '[]' THEN '[]' ELSE (SELECT CAST(` + fmt.Sprintf(d.GroupLists,
		`x.id, x.file_name, x.size, x.mime_type, x.sha256, x.created_by, x.created_at`) + ` AS TEXT)
		FROM attachments x WHERE x.memory = e.row_id AND x.active) END `
}

// DecodeList decodes the value of ActiveList, ordered by the ids.
func DecodeList(text string) ([]loci.Attachment, error) {
	var rows [][7]json.RawMessage
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("attachmentdb: %w", err)
	}
	list := make([]loci.Attachment, len(rows))
	for i, row := range rows {
		a, at := &list[i], int64(0)
		for j, to := range []any{&a.ID, &a.FileName, &a.Size, &a.MIMEType, &a.SHA256, &a.CreatedBy, &at} {
			if err := json.Unmarshal(row[j], to); err != nil {
				return nil, fmt.Errorf("attachmentdb: %w", err)
			}
		}
		a.CreatedAt, a.Status = loci.Time(at), loci.AttachmentActive
	}
	slices.SortFunc(list, func(a, b loci.Attachment) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// insert stores a pending attachment of a memory.
func insert(t *sqldb.Tx, memory, atlas int64, a loci.Attachment) error {
	_, err := t.Insert(`INSERT INTO attachments (id, memory, atlas, created_by, file_name, size, mime_type, sha256,
		stored_sha256, active, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9, ?10)`,
		[]any{a.ID, memory, atlas, a.CreatedBy, a.FileName, a.Size, a.MIMEType, a.SHA256, false, a.CreatedAt})
	return err
}

// SetActiveList writes the list of the active attachments of a memory.
func SetActiveList(t *sqldb.Tx, memory int64, list []loci.ID) error {
	_, err := t.Exec(`UPDATE memories SET attachments = ?2 WHERE row_id = ?1`, memory, sqldb.EncodeStrings(list))
	return err
}

// ActiveBytes is the SQL of the bytes of the active attachments in a workspace w.
const ActiveBytes = ` (SELECT CAST(COALESCE(SUM(x.size), 0) AS BIGINT) FROM atlases a JOIN attachments x
	ON x.atlas = a.row_id AND x.active WHERE a.workspace = w.row_id) `
