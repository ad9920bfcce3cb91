package integrity

import (
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/erasedb"
)

// checkDeleted reports the deleted atlases, workspaces and sessions that no job erases.
func (c *Checker) checkDeleted(t *sqldb.Tx) (found []Inconsistency, err error) {
	list, err := erasedb.WithoutJob(t)
	for _, d := range list {
		found = append(found, Inconsistency{Kind: InconsistentRows, ID: string(d.ID),
			Detail: "no background job erases " + d.String(),
			repair: func(t *sqldb.Tx) (string, error) {
				return "added the job: a server erases it", c.eraser.AddJob(t, d)
			}})
	}
	return found, err
}

// listDeleted lists the memories of deleted atlases. The keyword index and the counters do not have them any more, and
// their links may end.
func (w *workspaceCheck) listDeleted() error {
	w.deleted = map[int64]bool{}
	return w.t.Query(`SELECT e.row_id FROM atlases a JOIN memories e ON e.atlas = a.row_id AND e.workspace = ?1
		WHERE a.workspace IS NULL`, []any{w.workspace}, func(r sqldb.Row) error {
		var rowID int64
		err := r.Scan(&rowID)
		w.deleted[rowID] = true
		return err
	})
}
