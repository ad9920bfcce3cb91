package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// Purged counts what a purge takes away, or would take.
type Purged struct {
	Users       int64 `json:"users"`
	Keys        int64 `json:"keys"`
	Signins     int64 `json:"signins"`
	Memberships int64 `json:"memberships"`
	Invitations int64 `json:"invitations"`
	Workspaces  int64 `json:"workspaces"`
	Atlases     int64 `json:"atlases"`
	Memories    int64 `json:"memories"`
	Versions    int64 `json:"versions"` // what the memories were before
	Answers     int64 `json:"answers"`  // kept for calls with an Idempotency-Key
}

// String lists what is not zero, for people.
func (p Purged) String() string {
	var parts []string
	for _, x := range []struct {
		n         int64
		one, many string
	}{{p.Users, "user", "users"}, {p.Keys, "key", "keys"}, {p.Signins, "sign-in", "sign-ins"}, {p.Memberships, "membership", "memberships"},
		{p.Invitations, "invitation", "invitations"}, {p.Workspaces, "workspace", "workspaces"}, {p.Atlases, "atlas", "atlases"},
		{p.Memories, "memory", "memories"}, {p.Versions, "earlier version", "earlier versions"}, {p.Answers, "stored answer", "stored answers"}} {
		switch x.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+x.one)
		default:
			parts = append(parts, fmt.Sprint(x.n, " ", x.many))
		}
	}
	if len(parts) == 0 {
		return "what an earlier purge had left"
	}
	return strings.Join(parts, ", ")
}

// A grave is what a purge is about: a user, a workspace, or one memory of it.
type grave struct {
	user      string // id; empty where none goes
	folded    string // the user's address
	workspace int64  // rid; 0 where the user has none
	memory    int64  // rid; 0 where all of the workspace goes
	memoryID  string
	atlas     int64 // of the memory
	bytes     int64
}

// PurgeMemory erases a memory, so that no byte of its words is left in the
// database, or counts what would go where it is not for good. Unlike a deletion
// it rewrites the segments of the keyword index that hold words of dead
// documents, forgets stored answers, and clears the free space.
func (s *Store) PurgeMemory(ctx context.Context, id string, forGood bool) (Purged, error) {
	return s.purge(ctx, forGood, func(t *SystemTx, lock string) (g grave, err error) {
		err = t.t.c.one(`SELECT e.id, e.rid, e.workspace, e.atlas, octet_length(e.content) FROM memories e WHERE e.id = ?1`+lock, []any{id},
			[]any{&g.memoryID, &g.memory, &g.workspace, &g.atlas, &g.bytes})
		return g, missing(err, "There is no memory with this id.")
	})
}

// PurgeWorkspace erases a team workspace with all that is in it.
func (s *Store) PurgeWorkspace(ctx context.Context, id string, forGood bool) (Purged, error) {
	return s.purge(ctx, forGood, func(t *SystemTx, lock string) (g grave, err error) {
		var personal bool
		err = t.t.c.one(`SELECT w.rid, w.personal_of IS NOT NULL FROM workspaces w WHERE w.id = ?1`+lock, []any{id}, []any{&g.workspace, &personal})
		if personal {
			return g, loci.Fail(loci.StateConflict, "This is somebody's personal workspace: it goes with its user (loci admin user purge), or memory by memory.")
		}
		return g, missing(err, "There is no workspace with this id.")
	})
}

// PurgeUser erases a user: keys, sign-ins, invitations to the address,
// memberships, and the personal workspace with all that is in it. One who owns
// teams is a conflict. What the user wrote in the teams of others stays theirs.
func (s *Store) PurgeUser(ctx context.Context, email loci.Email, forGood bool) (Purged, error) {
	return s.purge(ctx, forGood, func(t *SystemTx, lock string) (g grave, err error) {
		g.folded = email.Fold()
		if err := t.t.c.one(`SELECT u.id FROM users u WHERE u.folded = ?1`+lock, []any{g.folded}, []any{&g.user}); err != nil {
			return g, missing(err, "There is no user with this address.")
		}
		if err := t.ownsNoTeam(g.user); err != nil {
			return g, err
		}
		err = t.t.c.one(`SELECT w.rid FROM workspaces w WHERE w.personal_of = ?1`+lock, []any{g.user}, []any{&g.workspace})
		if errors.Is(err, errNoRow) {
			err = nil
		}
		return g, err
	})
}

func missing(err error, text string) error {
	if errors.Is(err, errNoRow) {
		return loci.Fail(loci.NotFound, "%s", text)
	}
	return err
}

func (t *SystemTx) ownsNoTeam(user string) error {
	var teams []string
	err := t.t.c.few(`SELECT w.name, w.id FROM members m JOIN workspaces w ON w.rid = m.workspace
		WHERE m.user_id = ?1 AND m.role = 'owner' AND w.personal_of IS NULL ORDER BY w.created_at, w.id`, []any{user}, func(r row) error {
		var name, id string
		err := r.Scan(&name, &id)
		teams = append(teams, fmt.Sprintf("%q (%s)", name, id))
		return err
	})
	if err != nil || len(teams) == 0 {
		return err
	}
	return loci.Fail(loci.StateConflict, "The user owns %s: purge them first (loci admin workspace purge ID), or let another member own them.", strings.Join(teams, ", "))
}

// purge finds what a purge is about, under a lock where it is for good, and
// erases it in one transaction. Then the database is cleared of what only
// looks gone; where that is cut off, the next purge makes up for it.
func (s *Store) purge(ctx context.Context, forGood bool, find func(t *SystemTx, lock string) (grave, error)) (Purged, error) {
	var g grave
	out, err := SystemRead(ctx, s, "count what a purge would erase", func(t *SystemTx) (out Purged, err error) {
		if g, err = find(t, ""); err != nil {
			return out, err
		}
		return t.count(g)
	})
	if !forGood {
		return out, err
	}
	if err == nil && g.memory != 0 {
		// The log of changes holds words of what was deleted before.
		err = s.fold(ctx, g.workspace, 1)
	}
	if err == nil {
		out, err = System(ctx, s, "purge as the operator", func(t *SystemTx) (out Purged, err error) {
			if err := t.prepare(); err != nil {
				return out, err
			}
			defer t.unprepare()
			g, err := find(t, forUpdate(t.t.s.db.dialect()))
			if err != nil {
				return out, err
			}
			if out, err = t.count(g); err != nil {
				return out, err
			}
			return out, t.erase(g)
		})
		s.indexes.drop(g.workspace)
	}
	if loci.Is(err, loci.NotFound) {
		if due, late := s.unfinished(ctx); late != nil || !due {
			return out, err
		}
	} else if err != nil {
		return out, err
	}
	return out, s.finishPurge(ctx)
}

func forUpdate(d *dialect) string {
	if d.locks {
		return " FOR UPDATE"
	}
	return ""
}

// count counts what goes with a grave.
func (t *SystemTx) count(g grave) (n Purged, err error) {
	if err := t.t.c.one(`SELECT count(*) FROM onces WHERE `+answers, []any{g.workspace, g.memoryID}, []any{&n.Answers}); err != nil {
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
// nobody can look. ?2 is the id of the memory, empty where all goes.
const answers = ` resource IN ('', CAST(?2 AS TEXT)) OR (CAST(?2 AS TEXT) = '' AND resource IN (SELECT id FROM workspaces WHERE rid = ?1
		UNION ALL SELECT id FROM atlases WHERE workspace = ?1 UNION ALL SELECT id FROM memories WHERE workspace = ?1))
	OR credential IN (SELECT k.id FROM api_keys k JOIN members m ON m.user_id = k.user_id WHERE m.workspace = ?1
		UNION ALL SELECT s.id FROM signins s JOIN members m ON m.user_id = s.user_id WHERE m.workspace = ?1
		UNION ALL SELECT m.user_id FROM members m WHERE m.workspace = ?1) `

// erase removes the rows of a grave, and what is derived from them.
func (t *SystemTx) erase(g grave) error {
	run := func(q string, args ...any) (err error) {
		_, err = t.t.exec(q, args...)
		return err
	}
	err := run(`INSERT INTO instance (name, value) VALUES (?1, 'unfinished') ON CONFLICT (name) DO NOTHING`, purgeMark)
	if err == nil {
		err = run(`DELETE FROM onces WHERE `+answers, g.workspace, g.memoryID)
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
	if _, err := t.t.exec(`UPDATE indexes SET version = version + 1 WHERE workspace = ?1`, g.workspace); err != nil {
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
