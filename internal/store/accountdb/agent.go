package accountdb

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// AgentCredentials joins an agent g to the key k or the grant n that proves it. One with neither has ended, and
// LiveAgent is false for it.
const (
	AgentCredentials = ` LEFT JOIN api_keys k ON k.id = g.key_id LEFT JOIN grants n ON n.id = g.grant_id `
	LiveAgent        = ` (COALESCE(g.key_id, g.grant_id) IS NOT NULL) `
)

// NarrowScope is the scope of a grant that reaches some workspaces, and AccountScope that of one that reaches all.
const (
	NarrowScope  = "mcp"
	AccountScope = "mcp account"
)

// RevokedAgent returns the SQL condition that the key of an agent is revoked, or that its grant has expired at a time.
func RevokedAgent(now string) string {
	return ` COALESCE(k.revoked_at <> 0, n.expires_at <= ` + now + `) `
}

// ReachingAgent returns the SQL condition that an agent reaches a workspace of its owner: that of a narrowed grant
// reaches those of the grant.
func ReachingAgent(workspace string) string {
	return ` (g.key_id IS NOT NULL OR n.scope <> '` + NarrowScope + `' OR EXISTS (SELECT 1 FROM grant_workspaces gw
		WHERE gw.grant_id = g.grant_id AND gw.workspace = ` + workspace + `)) `
}

// AgentOf returns the agent of a live key or grant, and creates it at the first call. One that has ended meanwhile is
// Revoked.
func (t Tx) AgentOf(kind identity.CredentialKind, credential loci.ID) (id loci.ID, err error) {
	column, table, name, live := "key_id", "api_keys", "c.name", "c.revoked_at = 0"
	if kind != identity.CredentialKey {
		column, table, name, live = "grant_id", "grants", "c.client_name", "c.user_id <> ''"
	}
	from := ` FROM ` + table + ` c WHERE c.id = ?1 AND ` + live
	var one int
	err = t.conn.QueryRow(`SELECT 1`+from+t.conn.LockClause("KEY SHARE", "c"), []any{credential}, []any{&one})
	if errors.Is(err, sqldb.ErrNoRows) {
		return "", loci.NewError(loci.CodeRevoked)
	}
	if err == nil {
		_, err = t.conn.Exec(`INSERT INTO agents (id, user_id, `+column+`, name, source_name, created_at, updated_at,
			last_seen_at, last_number) SELECT ?2, c.user_id, c.id, `+name+`, '', ?3, ?3, ?3, 0`+from+
			` ON CONFLICT (`+column+`) DO NOTHING`, credential, loci.NewAgentID(t.conn.Now.Std()), t.conn.Now)
	}
	if err == nil {
		err = t.conn.QueryRow(`SELECT g.id FROM agents g WHERE g.`+column+` = ?1`, []any{credential}, []any{&id})
	}
	t.onChange(Change{CredentialID: credential}) // cached without its agent
	return id, err
}

// SetAgentSource records the source that an agent named last.
func (t Tx) SetAgentSource(id loci.ID, name string) error {
	_, err := t.conn.Exec(`UPDATE agents SET source_name = ?2, updated_at = ?3 WHERE id = ?1 AND source_name <> ?2`, id,
		name, t.conn.Now)
	return err
}
