package integrity

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// checkCounters compares the memories and bytes of each atlas with its counters.
func (w *workspaceCheck) checkCounters() error {
	if !w.canScanAll() {
		return nil
	}
	type atlas struct {
		rowID int64
		id    loci.ID
		have  indexdb.Counters
	}
	var list []atlas
	err := w.t.Query(
		`SELECT a.row_id, a.id, a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c
			WHERE c.workspace = ?1 AND c.atlas = a.row_id),
		a.bytes + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c WHERE c.workspace = ?1
			AND c.atlas = a.row_id)
		FROM atlases a WHERE a.workspace = ?1 ORDER BY a.row_id`, []any{w.workspace}, func(r sqldb.Row) error {
			var a atlas
			err := r.Scan(&a.rowID, &a.id, &a.have.Memories, &a.have.Bytes)
			list = append(list, a)
			return err
		})
	for _, a := range list {
		var want indexdb.Counters
		if err == nil {
			err = w.t.QueryRow(
				`SELECT count(*), CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e
					WHERE e.atlas = ?1`, []any{a.rowID}, []any{&want.Memories, &want.Bytes})
		}
		if err == nil && want != a.have {
			w.report(InconsistentCounters, a.id, func(t *sqldb.Tx) (string, error) {
				return recount(t, w.workspace, a.rowID)
			},
				"the atlas counts %d memories of %d bytes and has %d of %d", a.have.Memories, a.have.Bytes,
				want.Memories,
				want.Bytes)
		}
	}
	return err
}

// recount counts the memories and bytes of an atlas again.
func recount(t *sqldb.Tx, workspace, atlas int64) (string, error) {
	if err := indexdb.RaiseVersion(t, workspace); err != nil {
		return "", err
	}
	const log = `FROM index_log c WHERE c.workspace = ?2 AND c.atlas = ?1`
	_, err := t.Exec(`UPDATE atlases SET
			memories = (SELECT count(*) FROM memories e WHERE e.atlas = ?1) - (SELECT CAST(COALESCE(SUM(c.memories),
			0) AS BIGINT) `+log+`),
			bytes = (SELECT CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e
				WHERE e.atlas = ?1) - (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) `+log+`)
		WHERE row_id = ?1`, atlas, workspace)
	return "counted again", err
}
