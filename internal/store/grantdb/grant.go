package grantdb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// A Subject is the grant of a code or token, and its user. Either is empty where it is not known.
type Subject struct {
	GrantID loci.ID
	UserID  loci.ID
}

// end deletes the grants that meet a condition, with their tokens, and returns the last of them.
func (t Tx) end(condition string, args ...any) (last Subject, err error) {
	err = t.conn.Query(`DELETE FROM grants WHERE `+condition+` RETURNING id, user_id`, args, func(r sqldb.Row) error {
		err := r.Scan(&last.GrantID, &last.UserID)
		t.onChange(accountdb.Change{CredentialID: last.GrantID})
		return err
	})
	return last, err
}

// RevokeToken ends the grant of an access or refresh token of a client (RFC 7009), and returns it. An unknown token is
// no error.
func (t Tx) RevokeToken(token, clientID string) (Subject, error) {
	if !identity.ValidAccessToken(token) && !identity.ValidRefreshToken(token) {
		return Subject{}, nil
	}
	return t.end(`client_id = ?2 AND id IN (SELECT grant_id FROM grant_tokens WHERE access_hash = ?1
		UNION ALL SELECT id FROM grants WHERE family_hash = ?3)`, identity.SecretHash(token), clientID, familyHash(token))
}

// Revoke ends a grant of a user, or returns NotFound.
func (t Tx) Revoke(userID, id loci.ID) error {
	n, err := t.conn.Exec(`DELETE FROM grants WHERE id = ?1 AND user_id = ?2`, id, userID)
	if err == nil && n == 0 {
		return loci.NewError(loci.CodeNotFound)
	}
	t.onChange(accountdb.Change{CredentialID: id})
	return err
}

// Credential returns the live grant whose access token has this hash, as a credential. A grant of a disabled user is
// revoked.
func (t Tx) Credential(hash []byte) (c accountdb.Credential, err error) {
	var issued loci.Time
	var scope string
	err = t.accounts.ScanCredential(t.conn.Row(`SELECT`+accountdb.CredentialColumns+`, g.id, g.last_used_at,
		COALESCE(a.id, ''), COALESCE(a.last_seen_at, 0), p.access_secret, p.created_at, g.scope FROM grant_tokens p
		JOIN grants g ON g.id = p.grant_id JOIN users u ON u.id = g.user_id LEFT JOIN agents a ON a.grant_id = g.id
		WHERE p.access_hash = ?1 AND p.created_at > ?2 AND`+accountdb.LiveGrant("?3"), hash, t.before(accessTTL), t.conn.Now), &c, &c.ID, &c.UsedAt, &c.AgentID, &c.SeenAt,
		&c.SealedSecret, &issued, &scope)
	if err != nil {
		return c, err
	}
	c.ExpiresAt = issued + loci.Time(accessTTL.Microseconds())
	if scope == AccountScope {
		c.Kind = identity.CredentialAccount
		return c, nil
	}
	c.Kind = identity.CredentialToken
	c.Workspaces, err = t.workspacesOf(c.ID)
	return c, err
}

// AccountCredential returns the live grant of AccountScope with an id, as a credential. Another grant is NotFound.
func (t Tx) AccountCredential(id loci.ID) (c accountdb.Credential, err error) {
	c.Kind = identity.CredentialAccount
	err = t.accounts.ScanCredential(t.conn.Row(`SELECT`+accountdb.CredentialColumns+`, g.id, g.last_used_at,
		COALESCE(a.id, ''), COALESCE(a.last_seen_at, 0) FROM grants g JOIN users u ON u.id = g.user_id
		LEFT JOIN agents a ON a.grant_id = g.id WHERE g.id = ?1 AND g.scope = ?2 AND`+accountdb.LiveGrant("?3"),
		id, AccountScope, t.conn.Now), &c, &c.ID, &c.UsedAt, &c.AgentID, &c.SeenAt)
	return c, err
}

func (t Tx) workspacesOf(grant loci.ID) (list []loci.ID, err error) {
	list = []loci.ID{}
	err = t.conn.QueryFew(`SELECT w.id FROM grant_workspaces x JOIN workspaces w ON w.row_id = x.workspace
		WHERE x.grant_id = ?1 ORDER BY x.workspace`, []any{grant}, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		list = append(list, id)
		return err
	})
	return list, err
}

// maxSwept is the number of grants that a sweep ends, with their tokens: other writers of SQLite wait for it. The
// others open nothing, and go with the next sweeps.
const maxSwept = 2000

// DeleteExpired deletes what has ended: codes, grants that expired or reach nothing, pairs of tokens that were replaced
// before the lifetime of an access token, and unused clients.
func (t Tx) DeleteExpired() error {
	if _, err := t.conn.Exec(`DELETE FROM oauth_codes WHERE expires_at <= ?1`, t.conn.Now); err != nil {
		return err
	}
	var ended []loci.ID
	if err := t.conn.Query(`SELECT g.id FROM grants g WHERE NOT (`+accountdb.LiveGrant("?1")+`) LIMIT ?2`,
		[]any{t.conn.Now, maxSwept}, func(r sqldb.Row) error {
			var id loci.ID
			err := r.Scan(&id)
			ended = append(ended, id)
			return err
		}); err != nil {
		return err
	}
	if len(ended) > 0 {
		if _, err := t.end(`id IN (SELECT list.value FROM `+fmt.Sprintf(t.conn.Dialect.StringRows, 1)+`)`,
			sqldb.EncodeStrings(ended)); err != nil {
			return err
		}
	}
	if _, err := t.conn.Exec(`DELETE FROM grant_tokens WHERE replaced_at > 0 AND replaced_at <= ?1`,
		t.before(accessTTL)); err != nil {
		return err
	}
	return t.deleteUnusedClients()
}
