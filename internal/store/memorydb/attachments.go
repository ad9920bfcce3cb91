package memorydb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/jobdb"
)

// DeleteObjectJob is the kind of the jobs that delete the objects of attachments. Their subject is the id.
const DeleteObjectJob = "delete_object"

// DeleteAttachments deletes the attachments that meet a condition and the stored responses that show them, and adds the
// jobs that delete their objects.
func DeleteAttachments(t *sqldb.Tx, jobs *jobdb.Queue, condition string, args ...any) error {
	var ids []loci.ID
	err := t.Query(`DELETE FROM attachments WHERE `+condition+` RETURNING id`, args, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := scope.DeleteResponses(t, ids...); err != nil {
		return err
	}
	return jobs.AddAll(t, DeleteObjectJob, ids)
}
