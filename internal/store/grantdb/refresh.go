package grantdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// Refresh replaces a refresh token by new tokens. It reports false for one that is unknown, expired or of another
// client. A token that was replaced returns the same tokens for replayTTL; later it was stolen, and the grant ends.
// That needs no row of the token, which a thief could push out by many refreshes.
func (t Tx) Refresh(token, clientID string) (tokens Tokens, ok bool, err error) {
	if !identity.ValidRefreshToken(token) {
		return tokens, false, nil
	}
	hash := identity.SecretHash(token)
	g, err := t.lockGrant(hash)
	switch {
	case loci.Is(err, loci.CodeNotFound):
		tokens.Subject, err = t.end(`family_hash = ?1 AND client_id = ?2
			AND NOT EXISTS (SELECT 1 FROM grant_tokens p WHERE p.refresh_hash = ?3)`, familyHash(token), clientID, hash)
		return tokens, false, err
	case err == nil && g.clientID != clientID:
		return Tokens{Subject: g.Subject}, false, nil
	}
	if err != nil {
		return tokens, false, err
	}
	switch {
	case g.replacedAt == 0:
		tokens, err = t.rotate(g, token)
	case g.replacedAt > t.before(replayTTL):
		tokens, err = openNext(token, g.scope, g.next)
	default:
		tokens.Subject, err = t.end(`id = ?1`, g.GrantID)
		return tokens, false, err
	}
	tokens.Subject = g.Subject
	return tokens, err == nil, err
}

// A lockedGrant is a live grant with one of its pairs of tokens.
type lockedGrant struct {
	Subject
	clientID   string
	scope      string
	secret     []byte // sealed by the refresh token
	next       []byte
	replacedAt loci.Time
}

// lockGrant locks the live grant of a refresh token until the commit, so that its token is replaced once. A grant that
// has expired or reaches nothing is NotFound, as that of a disabled user.
func (t Tx) lockGrant(hash []byte) (g lockedGrant, err error) {
	if err = t.conn.QueryRow(`SELECT grant_id FROM grant_tokens WHERE refresh_hash = ?1`, []any{hash},
		[]any{&g.GrantID}); err != nil {
		return g, sqldb.MapNoRows(err)
	}
	if err = t.conn.QueryRow(`SELECT g.user_id, g.client_id, g.scope FROM grants g JOIN users u ON u.id = g.user_id
		WHERE g.id = ?1 AND NOT u.disabled AND`+accountdb.LiveGrant("?2")+t.conn.LockClause("NO KEY UPDATE", "g"),
		[]any{g.GrantID, t.conn.Now}, []any{&g.UserID, &g.clientID, &g.scope}); err != nil {
		return g, sqldb.MapNoRows(err)
	}
	// The lock may have waited for another refresh, so the pair is read after it.
	err = t.conn.QueryRow(`SELECT refresh_secret, next, replaced_at FROM grant_tokens WHERE refresh_hash = ?1`,
		[]any{hash}, []any{&g.secret, &g.next, &g.replacedAt})
	return g, sqldb.MapNoRows(err)
}

// rotate makes the tokens that follow a refresh token.
func (t Tx) rotate(g lockedGrant, token string) (tokens Tokens, err error) {
	secret, err := openWith(token, secretLabel, g.secret)
	if err != nil {
		return tokens, err
	}
	if tokens, err = t.addTokens(g.GrantID, g.scope, identity.NextRefreshToken(token), secret); err != nil {
		return tokens, err
	}
	if _, err = t.conn.Exec(`UPDATE grant_tokens SET next = ?2, replaced_at = ?3 WHERE refresh_hash = ?1`,
		identity.SecretHash(token), sealNext(token, tokens), t.conn.Now); err != nil {
		return tokens, err
	}
	if err = t.deleteOldTokens(g.GrantID); err != nil {
		return tokens, err
	}
	if _, err = t.conn.Exec(`UPDATE grants SET expires_at = ?2, updated_at = CASE WHEN updated_at < ?3 THEN ?3
		ELSE updated_at + 1 END WHERE id = ?1`, g.GrantID, t.after(idleTimeout), t.conn.Now); err != nil {
		return tokens, err
	}
	return tokens, t.touchClient(g.clientID)
}
