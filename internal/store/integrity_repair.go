package store

import (
	"errors"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// lockIndex keeps folds away from a workspace until the commit.
func (t *SystemTx) lockIndex(workspace int64) error {
	_, err := t.t.exec(`UPDATE keyword_indexes SET version = version + 1 WHERE workspace = ?1`, workspace)
	return err
}

// lockMemoryRow returns the row of a memory, which stays as it is until the commit.
func (t *SystemTx) lockMemoryRow(rowID int64) (m rawMemory, err error) {
	err = m.scan(sqldb.ScanFunc{Func: func(dest ...any) error {
		return t.t.conn.QueryRow(`SELECT`+rawMemoryColumns+`FROM memories e WHERE e.row_id = ?1`+
			t.t.conn.LockClause("NO KEY UPDATE", "e"), []any{rowID}, dest)
	}})
	return m, err
}

const alreadyDeleted = "nothing: it is gone meanwhile"

// reindex writes memories into the index anew: one row of the log for each, in
// place of those that are there. Of one that is gone it says so.
func (t *SystemTx) reindex(workspace int64, rowIDs ...int64) (string, error) {
	if err := t.lockIndex(workspace); err != nil {
		return "", err
	}
	for _, rowID := range rowIDs {
		if err := t.replaceLogRows(workspace, rowID); err != nil {
			return "", err
		}
	}
	return "indexed anew", nil
}

func (t *SystemTx) replaceLogRows(workspace, rowID int64) error {
	c := logUpdate{memory: rowID, tags: sqldb.EmptyList, deleted: true}
	a := &Atlas{t: t.t, workspace: Workspace{t: t.t, rowID: workspace}}
	switch m, err := t.lockMemoryRow(rowID); {
	case err == nil && m.workspace == workspace:
		a.rowID = m.atlas
		group, position := sourceGroup(&m.source)
		c = logUpdate{memory: rowID, group: group, position: position, kind: m.kind, status: m.status, tags: m.tags,
			createdAt: loci.Time(m.created), verified: m.verifiedAt != 0,
			validUntil: loci.Time(m.validUntil), document: index.AnalyzeEncoded(m.title, m.content)}
	case err != nil && !errors.Is(err, sqldb.ErrNoRows):
		return err
	}
	// What the rows add to the counters stays what it was, for each atlas.
	sums := map[int64]atlasCounters{a.rowID: {}}
	err := t.t.conn.Query(
		`SELECT atlas, CAST(SUM(memories) AS BIGINT), CAST(SUM(bytes) AS BIGINT) FROM index_log WHERE workspace = ?1
			AND memory = ?2 GROUP BY atlas`,
		[]any{workspace, rowID}, func(r sqldb.Row) error {
			var atlas int64
			var sum atlasCounters
			err := r.Scan(&atlas, &sum.memories, &sum.bytes)
			sums[atlas] = sum
			return err
		})
	if err != nil {
		return err
	}
	if _, err := t.t.exec(`DELETE FROM index_log WHERE workspace = ?1 AND memory = ?2`, workspace, rowID); err != nil {
		return err
	}
	last := a.rowID
	for _, atlas := range append(slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(x int64) bool {
		return x == last
	}), last) {
		a.rowID, c.memories, c.bytes = atlas, int(sums[atlas].memories), int(sums[atlas].bytes)
		if err := a.appendLog(c); err != nil {
			return err
		}
	}
	return nil
}

// recount counts anew what an atlas holds.
func (t *SystemTx) recount(workspace, atlas int64) (string, error) {
	if err := t.lockIndex(workspace); err != nil {
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
