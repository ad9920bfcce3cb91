package store

import (
	"slices"

	"github.com/loci-memory/loci/internal/search"
)

// count counts what goes with a grave.
func (t *SystemTx) count(g grave) (n Purged, err error) {
	if err := t.t.c.one(`SELECT count(*) FROM onces WHERE `+answers, []any{g.workspace, g.memoryID, g.folded}, []any{&n.Answers}); err != nil {
		return n, err
	}
	if g.memory != 0 {
		n.Memories = 1
		return n, t.t.c.one(`SELECT count(*) FROM versions WHERE memory = ?1`, []any{g.memory}, []any{&n.Versions})
	}
	err = t.t.c.one(`SELECT (SELECT count(*) FROM workspaces WHERE rid = ?1), (SELECT count(*) FROM atlases WHERE workspace = ?1), (SELECT count(*) FROM memories WHERE workspace = ?1),
			(SELECT count(*) FROM versions v JOIN memories e ON e.rid = v.memory WHERE e.workspace = ?1),
			(SELECT count(*) FROM members WHERE workspace = ?1 OR user_id = ?2), (SELECT count(*) FROM invitations WHERE workspace = ?1 OR folded = ?3),
			(SELECT count(*) FROM users WHERE id = ?2), (SELECT count(*) FROM api_keys WHERE user_id = ?2), (SELECT count(*) FROM signins WHERE user_id = ?2)`,
		[]any{g.workspace, g.user, g.folded},
		[]any{&n.Workspaces, &n.Atlases, &n.Memories, &n.Versions, &n.Memberships, &n.Invitations, &n.Users, &n.Keys, &n.Signins})
	return n, err
}

// answers are the stored answers that may hold words of what goes: those that
// concern it, those that concern nothing by name (searches and lists), and, to
// be certain, all of whoever belongs to the workspace ?1. They are sealed, so
// nobody can look. ?2 is the id of the memory, empty where all goes. ?3 is the
// folded address of a user: answers of workspaces that invited it hold address and link.
const answers = ` resource IN ('', CAST(?2 AS TEXT)) OR (CAST(?2 AS TEXT) = '' AND resource IN (SELECT id FROM workspaces WHERE rid = ?1
		UNION ALL SELECT id FROM atlases WHERE workspace = ?1 UNION ALL SELECT id FROM memories WHERE workspace = ?1))
	OR credential IN (SELECT k.id FROM api_keys k JOIN members m ON m.user_id = k.user_id WHERE m.workspace = ?1
		UNION ALL SELECT s.id FROM signins s JOIN members m ON m.user_id = s.user_id WHERE m.workspace = ?1
		UNION ALL SELECT m.user_id FROM members m WHERE m.workspace = ?1)
	OR resource IN (SELECT w.id FROM invitations i JOIN workspaces w ON w.rid = i.workspace WHERE i.folded = ?3) `

// erase removes the rows of a grave, and what is derived from them.
func (t *SystemTx) erase(g grave) error {
	run := func(q string, args ...any) (err error) {
		_, err = t.t.exec(q, args...)
		return err
	}
	err := t.beginPurge()
	if err == nil {
		err = run(`DELETE FROM onces WHERE `+answers, g.workspace, g.memoryID, g.folded)
	}
	switch {
	case err != nil:
		return err
	case g.memory != 0:
		return t.eraseMemory(g)
	}
	if err := run(`DELETE FROM sketches WHERE workspace = ?1`, g.workspace); err != nil {
		return err
	}
	if err := run(`DELETE FROM workspaces WHERE rid = ?1`, g.workspace); err != nil || g.user == "" {
		return err
	}
	if err := run(`DELETE FROM invitations WHERE folded = ?1`, g.folded); err != nil {
		return err
	}
	return run(`DELETE FROM users WHERE id = ?1`, g.user)
}

func (t *SystemTx) eraseMemory(g grave) error {
	// First the index, which a fold then leaves alone until the commit.
	if err := t.hold(g.workspace); err != nil {
		return err
	}
	if err := t.rewrite(g.workspace, []int64{g.memory}); err != nil {
		return err
	}
	if err := t.unlink(g.workspace, g.memoryID); err != nil {
		return err
	}
	_, err := t.t.exec(`UPDATE atlases SET
			memories = memories - 1 + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM changes c WHERE c.workspace = ?2 AND c.memory = ?3),
			bytes = bytes - CAST(?4 AS BIGINT) + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM changes c WHERE c.workspace = ?2 AND c.memory = ?3)
		WHERE rid = ?1`, g.atlas, g.workspace, g.memory, g.bytes)
	if err != nil {
		return err
	}
	for _, q := range []string{`DELETE FROM changes WHERE workspace = ?1 AND memory = ?2`, `DELETE FROM sketches WHERE workspace = ?1 AND memory = ?2`,
		`DELETE FROM memories WHERE workspace = ?1 AND rid = ?2`} {
		if _, err := t.t.exec(q, g.workspace, g.memory); err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes every segment anew that holds a dead document, with these
// memories dead: the words of the dead are not in it.
func (t *SystemTx) rewrite(workspace int64, gone []int64) error {
	segments, err := t.t.segments(workspace)
	if err != nil {
		return err
	}
	for _, s := range segments {
		s, _ = s.Kill(gone)
		if s.Live() == s.Docs() {
			continue
		}
		blob, err := search.Merge(t.t.ctx, t.t.page, []*search.Segment{s})
		if err != nil {
			return err
		}
		if err := t.dropSegment(s.ID()); err != nil {
			return err
		}
		if err := t.addSegment(workspace, blob); err != nil {
			return err
		}
	}
	return nil
}

func (t *SystemTx) dropSegment(rid int64) error {
	if _, err := t.t.exec(`DELETE FROM pages WHERE segment = ?1`, rid); err != nil {
		return err
	}
	_, err := t.t.exec(`DELETE FROM segments WHERE rid = ?1`, rid)
	return err
}

// unlink takes a memory out of the links of others, whichever of both ends
// knows of it.
func (t *SystemTx) unlink(workspace int64, id string) error {
	if _, err := t.t.exec(`UPDATE memories SET superseded_by = '' WHERE workspace = ?1 AND superseded_by = ?2`, workspace, id); err != nil {
		return err
	}
	lists := map[int64]string{}
	err := t.t.c.each(`SELECT rid, supersedes FROM memories WHERE workspace = ?1 AND supersedes LIKE ?2`, []any{workspace, "%" + id + "%"}, func(r row) error {
		var rid int64
		var list string
		err := r.Scan(&rid, &list)
		lists[rid] = list
		return err
	})
	for rid, list := range lists {
		var ids []string
		if ids, err = readTexts(list); err != nil {
			return err
		}
		if _, err = t.t.exec(`UPDATE memories SET supersedes = ?2 WHERE rid = ?1`, rid, texts(slices.DeleteFunc(ids, func(x string) bool { return x == id }))); err != nil {
			return err
		}
	}
	return err
}
