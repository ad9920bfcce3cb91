package purge

import (
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// countTarget counts the rows that are deleted with a target.
func countTarget(t *sqldb.Tx, g target) (n Result, err error) {
	if err := t.QueryRow(`SELECT count(*) FROM idempotency_keys WHERE `+responseCondition,
		[]any{g.workspace, g.memoryID, g.emailFolded, g.user}, []any{&n.Responses}); err != nil {
		return n, err
	}
	if g.memory != 0 {
		n.Memories = 1
		return n, t.QueryRow(`SELECT (SELECT count(*) FROM versions WHERE memory = ?1),
			(SELECT count(*) FROM attachments WHERE memory = ?1)`, []any{g.memory}, []any{&n.Versions, &n.Attachments})
	}
	err = t.QueryRow(
		`SELECT (SELECT count(*) FROM workspaces WHERE row_id = ?1), (SELECT count(*) FROM atlases
			WHERE workspace = ?1), (SELECT count(*) FROM memories WHERE workspace = ?1),
			(SELECT count(*) FROM versions v JOIN memories e ON e.row_id = v.memory WHERE e.workspace = ?1),
			(SELECT count(*) FROM members WHERE workspace = ?1 OR user_id = ?2), (SELECT count(*) FROM invitations
			WHERE workspace = ?1 OR email_folded = ?3),
			(SELECT count(*) FROM users WHERE id = ?2), (SELECT count(*) FROM api_keys
			WHERE user_id = ?2), (SELECT count(*) FROM sign_ins WHERE user_id = ?2),
			(SELECT count(*) FROM grants WHERE user_id = ?2),
			(SELECT count(*) FROM sessions WHERE workspace = ?1 OR user_id = ?2),
			(SELECT count(*) FROM messages WHERE workspace = ?1), (SELECT count(*) FROM attachments x
			JOIN memories e ON e.row_id = x.memory WHERE e.workspace = ?1)`,
		[]any{g.workspace, g.user, g.emailFolded},
		[]any{&n.Workspaces, &n.Atlases, &n.Memories, &n.Versions, &n.Memberships, &n.Invitations, &n.Users, &n.Keys,
			&n.Signins, &n.Grants, &n.Sessions, &n.Messages, &n.Attachments})
	return n, err
}

// readCondition is the condition of the stored responses of reads, and of those that no record links to. They may hold
// words of any memory, such as corrections of a query.
const readCondition = ` row_id IN (SELECT response FROM idempotency_records WHERE record LIKE '` +
	scope.ReadRecord + `%') OR NOT EXISTS (SELECT 1 FROM idempotency_records r
	WHERE r.response = idempotency_keys.row_id) `

// responseCondition is the condition of the stored responses that may hold words of a purge target. It holds for those
// that show its records and for those of reads. As responses are encrypted, it holds for all of the members of the
// workspace ?1. Parameter ?2 is the id of the memory, empty for a whole workspace. Parameter ?3 is the folded address
// of a user. Responses of workspaces that invited it hold address and link. Parameter ?4 is the id of the user, whose
// sessions managers of teams read. Former members may have responses with the texts of sessions and messages of the
// workspace.
const responseCondition = readCondition + `OR row_id IN (SELECT r.response FROM idempotency_records r
	WHERE r.record = CAST(?2 AS TEXT) OR (CAST(?2 AS TEXT) = '' AND r.record IN (SELECT id FROM workspaces
		WHERE row_id = ?1 UNION ALL SELECT id FROM atlases WHERE workspace = ?1
		UNION ALL SELECT id FROM memories WHERE workspace = ?1))
	OR r.record IN (SELECT x.id FROM memories e JOIN attachments x ON x.memory = e.row_id
		WHERE e.id = CAST(?2 AS TEXT) OR CAST(?2 AS TEXT) = '' AND e.workspace = ?1)
	OR r.record IN (SELECT w.id FROM invitations i JOIN workspaces w ON w.row_id = i.workspace
		WHERE i.email_folded = ?3)
	OR r.record IN (SELECT id FROM sessions WHERE workspace = ?1 UNION ALL SELECT id FROM sessions
		WHERE user_id = ?4 UNION ALL SELECT id FROM messages WHERE workspace = ?1))
	OR owner IN (SELECT u.row_id FROM users u WHERE u.id IN (SELECT m.user_id FROM members m WHERE m.workspace = ?1
		UNION ALL SELECT g.user_id FROM grants g JOIN grant_workspaces x ON x.grant_id = g.id
		WHERE x.workspace = ?1)) `

// eraseTarget deletes the rows of a target and the data derived from them.
func (p *Purger) eraseTarget(t *sqldb.Tx, g target) error {
	run := func(q string, args ...any) (err error) {
		_, err = t.Exec(q, args...)
		return err
	}
	err := markPending(t)
	if err == nil && g.user != "" {
		err = accountdb.LockMemberships(t, g.user)
	}
	if err == nil {
		err = run(`DELETE FROM idempotency_keys WHERE `+responseCondition, g.workspace, g.memoryID, g.emailFolded,
			g.user)
	}
	switch {
	case err != nil:
		return err
	case g.memory != 0:
		return p.eraseMemory(t, g)
	}
	if err := run(`DELETE FROM minhash_bands WHERE workspace = ?1`, g.workspace); err != nil {
		return err
	}
	if err := p.eraseAttachments(t, g.workspace); err != nil {
		return err
	}
	if err := run(`DELETE FROM changes WHERE workspace = ?1 OR record LIKE ?2`, g.workspace, "% "+g.user); err != nil {
		return err
	}
	if err := run(`DELETE FROM workspaces WHERE row_id = ?1`, g.workspace); err != nil {
		return err
	}
	// Deleted atlases have no workspace.
	if err := run(`DELETE FROM atlases WHERE workspace IS NULL AND NOT EXISTS (SELECT 1 FROM memories e
		WHERE e.atlas = atlases.row_id)`); err != nil || g.user == "" {
		return err
	}
	if err := run(`DELETE FROM invitations WHERE email_folded = ?1`, g.emailFolded); err != nil {
		return err
	}
	_, err = accountdb.DeleteUserRow(t, g.user)
	return err
}

// eraseAttachments deletes the attachments of a locked workspace. Its locked memories get no further ones.
func (p *Purger) eraseAttachments(t *sqldb.Tx, workspace int64) error {
	if t.Dialect.Postgres {
		if err := t.Query(`SELECT 1 FROM memories e WHERE e.workspace = ?1 ORDER BY e.row_id FOR UPDATE`,
			[]any{workspace}, func(sqldb.Row) error { return nil }); err != nil {
			return err
		}
	}
	return memorydb.DeleteAttachments(t, p.jobs, `memory IN (SELECT e.row_id FROM memories e WHERE e.workspace = ?1)`,
		workspace)
}

// eraseMemory deletes the rows of one memory and the data derived from them.
func (p *Purger) eraseMemory(t *sqldb.Tx, g target) error {
	// The raised version prevents a flush until the commit.
	if err := indexdb.RaiseVersion(t, g.workspace); err != nil {
		return err
	}
	if err := p.index.RewriteSegments(t, g.workspace, []int64{g.memory}); err != nil {
		return err
	}
	if err := removeLinks(t, g.workspace, g.memoryID); err != nil {
		return err
	}
	if err := memorydb.DeleteAttachments(t, p.jobs, `memory = ?1`, g.memory); err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM changes WHERE record = ?1`, string(loci.KindMemory)+" "+string(g.memoryID)); err != nil {
		return err
	}
	_, err := t.Exec(`UPDATE atlases SET
			memories = memories - 1 + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c
			WHERE c.workspace = ?2 AND c.memory = ?3),
			bytes = bytes - CAST(?4 AS BIGINT) + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c
			WHERE c.workspace = ?2 AND c.memory = ?3)
		WHERE row_id = ?1`, g.atlas, g.workspace, g.memory, g.bytes)
	if err != nil {
		return err
	}
	for _, q := range []string{`DELETE FROM index_log WHERE workspace = ?1 AND memory = ?2`,
		`DELETE FROM minhash_bands WHERE workspace = ?1 AND memory = ?2`,
		`DELETE FROM memories WHERE workspace = ?1 AND row_id = ?2`} {
		if _, err := t.Exec(q, g.workspace, g.memory); err != nil {
			return err
		}
	}
	return nil
}

// removeLinks removes a memory from the links of others.
func removeLinks(t *sqldb.Tx, workspace int64, id loci.ID) error {
	if _, err := t.Exec(`UPDATE memories SET superseded_by = '' WHERE workspace = ?1 AND superseded_by = ?2`,
		workspace, id); err != nil {
		return err
	}
	lists := map[int64]string{}
	err := t.Query(`SELECT row_id, supersedes FROM memories WHERE workspace = ?1 AND supersedes LIKE ?2
		ORDER BY row_id`+t.LockClause("NO KEY UPDATE", "memories"),
		[]any{workspace, "%" + id + "%"}, func(r sqldb.Row) error {
			var rowID int64
			var list string
			err := r.Scan(&rowID, &list)
			lists[rowID] = list
			return err
		})
	if err != nil {
		return err
	}
	for rowID, list := range lists {
		var ids []loci.ID
		if ids, err = sqldb.DecodeStrings[loci.ID](list); err != nil {
			return err
		}
		if _, err = t.Exec(`UPDATE memories SET supersedes = ?2 WHERE row_id = ?1`, rowID,
			sqldb.EncodeStrings(slices.DeleteFunc(ids, func(x loci.ID) bool { return x == id }))); err != nil {
			return err
		}
	}
	return nil
}

// memoryTraces are what sessions and messages keep of a memory.
type memoryTraces struct {
	sessions *sessiondb.MemoryTraces
	messages messagedb.Search
}

// findTraces finds the traces of a memory in its workspace, and counts them.
func (p *Purger) findTraces(ctx context.Context, g target, n *Result) (*memoryTraces, error) {
	texts, err := sqldb.SystemRead(ctx, p.db, "read the texts of a memory to purge",
		func(t *sqldb.Tx) ([]string, error) { return memoryTexts(t, g.memory) })
	if err != nil {
		return nil, err
	}
	var f memoryTraces
	if f.sessions, err = sessiondb.FindTraces(ctx, p.db, sessiondb.PurgedMemory{RowID: g.memory,
		Workspace: g.workspace, ID: g.memoryID, Texts: texts}); err != nil {
		return nil, err
	}
	f.messages = messagedb.Search{Workspace: g.workspace, Matches: f.sessions.Matches}
	err = f.messages.Run(ctx, p.db)
	n.Candidates, n.Messages = f.sessions.Candidates(), f.messages.Found()
	return &f, err
}

// erase erases the traces, and counts them.
func (f *memoryTraces) erase(t *sqldb.Tx, n *Result) (err error) {
	if n.Candidates, err = f.sessions.Erase(t); err != nil {
		return err
	}
	err = f.messages.Purge(t, sessiondb.PurgedText)
	n.Messages = f.messages.Found()
	return err
}

// memoryTexts returns the contents of a memory and of its versions.
func memoryTexts(t *sqldb.Tx, memory int64) (texts []string, err error) {
	var text string
	if err = t.QueryRow(`SELECT e.content FROM memories e WHERE e.row_id = ?1`, []any{memory},
		[]any{&text}); err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	texts = append(texts, text)
	err = t.Query(`SELECT v.content, v.prefix_len FROM versions v WHERE v.memory = ?1 ORDER BY v.version DESC`,
		[]any{memory}, func(r sqldb.Row) error {
			var v memorydb.VersionRow
			err := r.Scan(&v.StoredContent, &v.Prefix)
			v.ResolveContent(text)
			if text = v.Content; text != texts[len(texts)-1] {
				texts = append(texts, text)
			}
			return err
		})
	return texts, err
}
