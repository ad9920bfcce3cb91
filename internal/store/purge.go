package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// PurgeResult counts what a purge takes away, or would take.
type PurgeResult struct {
	Users       int64 `json:"users"`
	Keys        int64 `json:"keys"`
	Signins     int64 `json:"signins"`
	Memberships int64 `json:"memberships"`
	Invitations int64 `json:"invitations"`
	Workspaces  int64 `json:"workspaces"`
	Atlases     int64 `json:"atlases"`
	Memories    int64 `json:"memories"`
	Versions    int64 `json:"versions"`           // what the memories were before
	Answers     int64 `json:"answers"`            // kept for calls with an Idempotency-Key
	Documents   int64 `json:"documents,omitzero"` // of the keyword index that are no longer true
	// rows of the log of changes, in which words of deleted memories may be
	Changes int64 `json:"changes,omitzero"`

	deleted bool // it is about what deletions have left
}

// String lists what is not zero, for people.
func (p PurgeResult) String() string {
	var parts []string
	for _, x := range []struct {
		n         int64
		one, many string
	}{{p.Users, "user", "users"}, {p.Keys, "key", "keys"}, {p.Signins, "sign-in", "sign-ins"},
		{p.Memberships, "membership", "memberships"},
		{p.Invitations, "invitation", "invitations"}, {p.Workspaces, "workspace", "workspaces"},
		{p.Atlases, "atlas", "atlases"},
		{p.Memories, "memory", "memories"}, {p.Versions, "earlier version", "earlier versions"},
		{p.Answers, "stored answer", "stored answers"},
		{p.Documents, "document of the index", "documents of the index"},
		{p.Changes, "row of the log of changes", "rows of the log of changes"}} {
		switch x.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+x.one)
		default:
			parts = append(parts, fmt.Sprint(x.n, " ", x.many))
		}
	}
	if p.deleted {
		parts = append(parts, "words of deleted memories wherever they may be left: in stored answers, in the log of "+
			"changes, in free space")
	}
	if len(parts) == 0 {
		return "what an earlier purge had left"
	}
	return strings.Join(parts, ", ")
}

// A purgeTarget is what a purge is about: a user, a workspace, or one memory of it.
type purgeTarget struct {
	user        string // id; empty where none goes
	emailFolded string // the user's address
	workspace   int64  // rid; 0 where the user has none
	memory      int64  // rid; 0 where all of the workspace goes
	memoryID    string
	atlas       int64 // of the memory
	bytes       int64
}

// PurgeMemory erases a memory, so that no byte of its words is left in the
// database, or counts what would go where it is not for good. Unlike a deletion
// it rewrites the segments of the keyword index that hold words of dead
// documents, forgets stored answers, and clears the free space.
func (s *Store) PurgeMemory(ctx context.Context, id string, apply bool) (PurgeResult, error) {
	return s.purge(ctx, apply, func(t *SystemTx, lock string) (g purgeTarget, err error) {
		err = t.t.conn.QueryRow(
			`SELECT e.id, e.row_id, e.workspace, e.atlas, octet_length(e.content) FROM memories e WHERE e.id = ?1`+lock,
			[]any{id},
			[]any{&g.memoryID, &g.memory, &g.workspace, &g.atlas, &g.bytes})
		return g, sqldb.NotFoundMessage(err, "There is no memory with this id. What deleted ones have left goes with "+
			"--deleted.")
	})
}

// PurgeWorkspace erases a team workspace with all that is in it.
func (s *Store) PurgeWorkspace(ctx context.Context, id string, apply bool) (PurgeResult, error) {
	return s.purge(ctx, apply, func(t *SystemTx, lock string) (g purgeTarget, err error) {
		var personal bool
		err = t.t.conn.QueryRow(`SELECT w.row_id, w.personal_of IS NOT NULL FROM workspaces w WHERE w.id = ?1`+lock,
			[]any{id}, []any{&g.workspace, &personal})
		if personal {
			return g, loci.Errorf(loci.CodeStateConflict,
				"This is somebody's personal workspace: it goes with its user (loci admin user purge), or memory by "+
					"memory.")
		}
		return g, sqldb.NotFoundMessage(err, "There is no workspace with this id.")
	})
}

// PurgeUser erases a user: keys, sign-ins, invitations to the address,
// memberships, and the personal workspace with all its records. An owner of
// teams is a conflict. Memories in the teams of others stay.
func (s *Store) PurgeUser(ctx context.Context, email loci.Email, apply bool) (PurgeResult, error) {
	return s.purge(ctx, apply, func(t *SystemTx, lock string) (g purgeTarget, err error) {
		g.emailFolded = FoldEmail(email)
		if err := t.t.conn.QueryRow(`SELECT u.id FROM users u WHERE u.email_folded = ?1`+lock, []any{g.emailFolded},
			[]any{&g.user}); err != nil {
			return g, sqldb.NotFoundMessage(err, "There is no user with this address.")
		}
		if err := t.checkOwnsNoTeam(g.user); err != nil {
			return g, err
		}
		err = t.t.conn.QueryRow(`SELECT w.row_id FROM workspaces w WHERE w.personal_of = ?1`+lock, []any{g.user},
			[]any{&g.workspace})
		if errors.Is(err, sqldb.ErrNoRows) {
			err = nil
		}
		return g, err
	})
}

func (t *SystemTx) checkOwnsNoTeam(user string) error {
	var teams []string
	err := t.t.conn.QueryFew(`SELECT w.name, w.id FROM members m JOIN workspaces w ON w.row_id = m.workspace
		WHERE m.user_id = ?1 AND m.role = 'owner' AND w.personal_of IS NULL ORDER BY w.created_at, w.id`, []any{user},
		func(r sqldb.Row) error {
			var name, id string
			err := r.Scan(&name, &id)
			teams = append(teams, fmt.Sprintf("%q (%s)", name, id))
			return err
		})
	if err != nil || len(teams) == 0 {
		return err
	}
	them := "them"
	if len(teams) == 1 {
		them = "it"
	}
	return loci.Errorf(loci.CodeStateConflict, "The user owns %s: purge %s first (loci admin workspace purge ID).",
		strings.Join(teams, ", "), them)
}

// purge finds what a purge is about, under a lock where it is for good, and
// erases it in one transaction. Then the database is cleared of what only
// looks gone; where that is cut off, the next purge makes up for it.
func (s *Store) purge(ctx context.Context, apply bool,
	find func(t *SystemTx, lock string) (purgeTarget, error)) (PurgeResult, error) {
	var g purgeTarget
	out, err := SystemRead(ctx, s, "count what a purge would erase", func(t *SystemTx) (out PurgeResult, err error) {
		if g, err = find(t, ""); err != nil {
			return out, err
		}
		return t.countTarget(g)
	})
	if !apply {
		return out, err
	}
	if err == nil && g.memory != 0 {
		// The log of changes holds words of what was deleted before.
		err = s.index.Flush(ctx, g.workspace)
	}
	if err == nil {
		out, err = System(ctx, s, "purge as the operator", func(t *SystemTx) (out PurgeResult, err error) {
			if err := t.beginSecureDelete(); err != nil {
				return out, err
			}
			defer t.endSecureDelete()
			g, err := find(t, forUpdateClause(t.t.conn.Dialect))
			if err != nil {
				return out, err
			}
			if out, err = t.countTarget(g); err != nil {
				return out, err
			}
			return out, t.eraseTarget(g)
		})
		s.invalidate(g.workspace)
	}
	if loci.Is(err, loci.CodeNotFound) {
		if due, late := s.purgePending(ctx); late != nil || !due {
			return out, err
		}
	} else if err != nil {
		return out, err
	}
	return out, s.finishPurge(ctx)
}

func forUpdateClause(d *sqldb.Dialect) string {
	if d.RowLocks {
		return " FOR UPDATE"
	}
	return ""
}
