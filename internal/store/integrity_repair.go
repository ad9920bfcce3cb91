package store

import "github.com/loci-memory/loci/internal/store/indexdb"

// Results of repairs.
const (
	alreadyDeleted = "nothing: it is gone meanwhile"
	reindexed      = "indexed anew"
)

// recount counts anew what an atlas holds.
func (t *SystemTx) recount(workspace, atlas int64) (string, error) {
	if err := indexdb.Lock(t.t.conn, workspace); err != nil {
		return "", err
	}
	const log = `FROM index_log c WHERE c.workspace = ?2 AND c.atlas = ?1`
	_, err := t.t.exec(`UPDATE atlases SET
			memories = (SELECT count(*) FROM memories e WHERE e.atlas = ?1) - (SELECT CAST(COALESCE(SUM(c.memories),
			0) AS BIGINT) `+log+`),
			bytes = (SELECT CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e
				WHERE e.atlas = ?1) - (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) `+log+`)
		WHERE row_id = ?1`, atlas, workspace)
	return "counted anew", err
}
