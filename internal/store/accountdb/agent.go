package accountdb

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// AgentOfKey returns the agent of a live key, and creates it at the first call. A key that was revoked meanwhile is
// Revoked.
func (t Tx) AgentOfKey(key loci.ID) (id loci.ID, err error) {
	if _, err = t.conn.Exec(`INSERT INTO agents (id, user_id, key_id, name, source_name, created_at, updated_at,
			last_seen_at, last_number) SELECT ?2, k.user_id, k.id, k.name, '', ?3, ?3, ?3, 0 FROM api_keys k
		WHERE k.id = ?1 AND k.revoked_at = 0
		ON CONFLICT (key_id) DO NOTHING`, key, loci.NewAgentID(t.conn.Now.Std()), t.conn.Now); err != nil {
		return "", err
	}
	err = t.conn.QueryRow(`SELECT g.id FROM agents g JOIN api_keys k ON k.id = g.key_id
		WHERE g.key_id = ?1 AND k.revoked_at = 0`, []any{key}, []any{&id})
	if errors.Is(err, sqldb.ErrNoRows) {
		return "", loci.NewError(loci.CodeRevoked)
	}
	t.onChange(Change{CredentialID: key}) // cached without its agent
	return id, err
}

// SetAgentSource records the source that an agent named last.
func (t Tx) SetAgentSource(id loci.ID, name string) error {
	_, err := t.conn.Exec(`UPDATE agents SET source_name = ?2, updated_at = ?3 WHERE id = ?1 AND source_name <> ?2`, id,
		name, t.conn.Now)
	return err
}
