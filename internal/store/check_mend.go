package store

import (
	"errors"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// hold keeps folds away from a workspace until the commit.
func (t *SystemTx) hold(workspace int64) error {
	_, err := t.t.exec(`UPDATE indexes SET version = version + 1 WHERE workspace = ?1`, workspace)
	return err
}

// row returns the row of a memory, which stays as it is until the commit.
func (t *SystemTx) row(rid int64) (m inspectedRow, err error) {
	err = m.scan(scanned{func(dest ...any) error {
		return t.t.c.one(`SELECT`+inspectedColumns+`FROM memories e WHERE e.rid = ?1`+t.t.locked("NO KEY UPDATE", "e"), []any{rid}, dest)
	}})
	return m, err
}

const mendedMeanwhile = "nothing: it is gone meanwhile"

// reindex writes memories into the index anew: one row of the log for each, in
// place of those that are there. Of one that is gone it says so.
func (t *SystemTx) reindex(workspace int64, rids ...int64) (string, error) {
	if err := t.hold(workspace); err != nil {
		return "", err
	}
	for _, rid := range rids {
		if err := t.relog(workspace, rid); err != nil {
			return "", err
		}
	}
	return "indexed anew", nil
}

func (t *SystemTx) relog(workspace, rid int64) error {
	c := change{memory: rid, tags: noTexts, gone: true}
	a := &Atlas{t: t.t, workspace: Workspace{t: t.t, rid: workspace}}
	switch m, err := t.row(rid); {
	case err == nil && m.workspace == workspace:
		a.rid = m.atlas
		group, position := groupOf(&m.source)
		c = change{memory: rid, group: group, position: position, kind: m.kind, status: m.status, tags: m.tags, made: loci.Time(m.created), verified: m.verifiedAt != 0,
			validUntil: loci.Time(m.validUntil), document: search.Encoded(m.title, m.content)}
	case err != nil && !errors.Is(err, errNoRow):
		return err
	}
	// What the rows add to the counters stays what it was, for each atlas.
	sums := map[int64]tally{a.rid: {}}
	err := t.t.c.each(`SELECT atlas, CAST(SUM(memories) AS BIGINT), CAST(SUM(bytes) AS BIGINT) FROM changes WHERE workspace = ?1 AND memory = ?2 GROUP BY atlas`,
		[]any{workspace, rid}, func(r row) error {
			var atlas int64
			var sum tally
			err := r.Scan(&atlas, &sum.memories, &sum.bytes)
			sums[atlas] = sum
			return err
		})
	if err != nil {
		return err
	}
	if _, err := t.t.exec(`DELETE FROM changes WHERE workspace = ?1 AND memory = ?2`, workspace, rid); err != nil {
		return err
	}
	last := a.rid
	for _, atlas := range append(slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(x int64) bool { return x == last }), last) {
		a.rid, c.memories, c.bytes = atlas, int(sums[atlas].memories), int(sums[atlas].bytes)
		if err := a.note(c); err != nil {
			return err
		}
	}
	return nil
}

// recount counts anew what an atlas holds.
func (t *SystemTx) recount(workspace, atlas int64) (string, error) {
	if err := t.hold(workspace); err != nil {
		return "", err
	}
	const log = `FROM changes c WHERE c.workspace = ?2 AND c.atlas = ?1`
	_, err := t.t.exec(`UPDATE atlases SET
			memories = (SELECT count(*) FROM memories e WHERE e.atlas = ?1) - (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) `+log+`),
			bytes = (SELECT CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e WHERE e.atlas = ?1) - (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) `+log+`)
		WHERE rid = ?1`, atlas, workspace)
	return "counted anew", err
}
