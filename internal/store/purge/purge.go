package purge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// A Result counts the rows that a purge deletes, or would delete.
type Result struct {
	Users       int64 `json:"users"`
	Keys        int64 `json:"keys"`
	Signins     int64 `json:"signins"`
	Grants      int64 `json:"grants"`
	Memberships int64 `json:"memberships"`
	Invitations int64 `json:"invitations"`
	Workspaces  int64 `json:"workspaces"`
	Atlases     int64 `json:"atlases"`
	Memories    int64 `json:"memories"`
	Versions    int64 `json:"versions"` // earlier versions of the memories
	Responses   int64 `json:"answers"`  // stored for calls with an Idempotency-Key
	Sessions    int64 `json:"sessions,omitzero"`
	Messages    int64 `json:"messages,omitzero"`   // between agents; of a memory those that lose their texts
	Candidates  int64 `json:"candidates,omitzero"` // of sessions, with the text of a purged memory
	Documents   int64 `json:"documents,omitzero"`  // deleted documents in the keyword index
	Attachments int64 `json:"attachments,omitzero"`
	Changes     int64 `json:"changes,omitzero"` // rows of the log, which may hold words of deleted memories

	deleted bool // of PurgeDeleted
}

// String lists the counts that are not zero.
func (p Result) String() string {
	var parts []string
	for _, x := range []struct {
		n         int64
		one, many string
	}{{p.Users, "user", "users"}, {p.Keys, "key", "keys"}, {p.Signins, "sign-in", "sign-ins"},
		{p.Grants, "grant", "grants"},
		{p.Memberships, "membership", "memberships"},
		{p.Invitations, "invitation", "invitations"}, {p.Workspaces, "workspace", "workspaces"},
		{p.Atlases, "atlas", "atlases"},
		{p.Memories, "memory", "memories"}, {p.Versions, "earlier version", "earlier versions"},
		{p.Attachments, "attachment", "attachments"},
		{p.Responses, "stored response", "stored responses"},
		{p.Sessions, "session", "sessions"}, {p.Messages, "message between agents", "messages between agents"},
		{p.Candidates, "candidate of sessions", "candidates of sessions"},
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
		parts = append(parts, "words of deleted memories wherever they may be left: in stored responses, in the log "+
			"of changes, in free space")
	}
	if len(parts) == 0 {
		return "what an earlier purge had left"
	}
	return strings.Join(parts, ", ")
}

// A target is a user, a workspace, or one memory of a workspace.
type target struct {
	user        loci.ID // empty if none is purged
	emailFolded string  // address of the user
	workspace   int64   // row id; 0 if the user has none
	memory      int64   // row id; 0 purges the whole workspace
	memoryID    loci.ID
	atlas       int64 // of the memory
	bytes       int64
}

// PurgeMemory erases a memory, so that no byte of its text is left in the database. Without apply it only counts.
// Unlike a deletion it rewrites segments with deleted documents, deletes stored responses and what sessions keep of the
// memory, and vacuums.
func (p *Purger) PurgeMemory(ctx context.Context, id loci.ID, apply bool) (Result, error) {
	return p.purge(ctx, apply, func(t *sqldb.Tx, lock string) (g target, err error) {
		err = t.QueryRow(
			`SELECT e.id, e.row_id, e.workspace, e.atlas, octet_length(e.content) FROM memories e WHERE e.id = ?1`+lock,
			[]any{id},
			[]any{&g.memoryID, &g.memory, &g.workspace, &g.atlas, &g.bytes})
		return g, sqldb.NotFoundMessage(err, "There is no memory with this id. --deleted erases the remains of "+
			"deleted memories.")
	})
}

// PurgeWorkspace erases a team workspace with all its records.
func (p *Purger) PurgeWorkspace(ctx context.Context, id loci.ID, apply bool) (Result, error) {
	return p.purge(ctx, apply, func(t *sqldb.Tx, lock string) (g target, err error) {
		var personal bool
		err = t.QueryRow(`SELECT w.row_id, w.personal_of IS NOT NULL FROM workspaces w WHERE w.id = ?1`+lock,
			[]any{id}, []any{&g.workspace, &personal})
		if personal {
			return g, loci.Errorf(loci.CodeStateConflict,
				"This is somebody's personal workspace: purge its user (loci admin user purge), or its memories one "+
					"by one.")
		}
		return g, sqldb.NotFoundMessage(err, "There is no workspace with this id.")
	})
}

// PurgeUser erases a user with keys, sign-ins, memberships, sessions, policies, agents with their inboxes, invitations
// to the address, and the personal workspace. The owner of a team is a conflict. Memories and messages in the teams of
// others stay.
func (p *Purger) PurgeUser(ctx context.Context, email loci.Email, apply bool) (Result, error) {
	return p.purge(ctx, apply, func(t *sqldb.Tx, lock string) (target, error) {
		g, err := findUser(t, email, lock)
		if err == nil {
			err = checkOwnsNoTeam(t, g.user)
		}
		return g, err
	})
}

// CountUser counts the rows that go with the account of a user. A deletion keeps stored responses until they expire.
func (p *Purger) CountUser(ctx context.Context, email loci.Email) (Result, error) {
	n, err := p.purge(ctx, false, func(t *sqldb.Tx, lock string) (target, error) {
		return findUser(t, email, lock)
	})
	n.Responses = 0
	return n, err
}

// findUser returns the user with an address and the personal workspace.
func findUser(t *sqldb.Tx, email loci.Email, lock string) (g target, err error) {
	g.emailFolded = accountdb.FoldEmail(email)
	if err := t.QueryRow(`SELECT u.id FROM users u WHERE u.email_folded = ?1`+lock, []any{g.emailFolded},
		[]any{&g.user}); err != nil {
		return g, sqldb.NotFoundMessage(err, "There is no user with this address.")
	}
	err = t.QueryRow(`SELECT w.row_id FROM workspaces w WHERE w.personal_of = ?1`+lock, []any{g.user},
		[]any{&g.workspace})
	if errors.Is(err, sqldb.ErrNoRows) {
		err = nil
	}
	return g, err
}

// checkOwnsNoTeam returns a conflict that lists the teams of a user.
func checkOwnsNoTeam(t *sqldb.Tx, user loci.ID) error {
	teams, n, err := accountdb.OwnedTeams(t, user)
	if err != nil || n == 0 {
		return err
	}
	them := "them"
	if n == 1 {
		them = "it"
	}
	return loci.Errorf(loci.CodeStateConflict, "The user owns %s: purge %s first (loci admin workspace purge ID).",
		teams, them)
}

// purge erases a target in one transaction, and then vacuums the database. If that is interrupted, the next purge does
// it. find locks the rows of the target in the transaction.
func (p *Purger) purge(ctx context.Context, apply bool,
	find func(t *sqldb.Tx, lock string) (target, error)) (Result, error) {
	var g target
	out, err := sqldb.SystemRead(ctx, p.db, "count what a purge would erase",
		func(t *sqldb.Tx) (out Result, err error) {
			err = t.ReadWithoutTimeout(func() error {
				if g, err = find(t, ""); err == nil {
					out, err = countTarget(t, g)
				}
				return err
			})
			return out, err
		})
	var traces *memoryTraces
	if err == nil && g.memory != 0 {
		traces, err = p.findTraces(ctx, g, &out)
	}
	if !apply {
		return out, err
	}
	if err == nil && g.memory != 0 {
		// The log holds words of deleted memories.
		err = p.index.Flush(ctx, g.workspace)
	}
	if err == nil {
		out, err = sqldb.System(ctx, p.db, "purge as the operator", func(t *sqldb.Tx) (out Result, err error) {
			if err := beginSecureDelete(t); err != nil {
				return out, err
			}
			defer endSecureDelete(t)
			lock := ""
			if t.Dialect.Postgres {
				lock = " FOR UPDATE"
			}
			g, err := find(t, lock)
			if err != nil {
				return out, err
			}
			if out, err = countTarget(t, g); err != nil {
				return out, err
			}
			if g.memory != 0 {
				if err = traces.erase(t, &out); err != nil {
					return out, err
				}
			}
			return out, p.eraseTarget(t, g)
		})
		p.invalidate(g.workspace)
	}
	if loci.Is(err, loci.CodeNotFound) {
		if mark, late := p.Pending(ctx); late != nil || mark == "" {
			return out, err
		}
	} else if err != nil {
		return out, err
	}
	return out, p.Finish(ctx)
}
