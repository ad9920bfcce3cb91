package grantdb

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"math"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// maxGrants is the number of grants of one user. Another one ends the least recently used.
const maxGrants = 100

// A Redemption is a client's request for the tokens of a code.
type Redemption struct {
	Code        string
	ClientID    string
	RedirectURI string
	Verifier    string // of PKCE (RFC 7636)
	Resource    string // RFC 8707; empty means that of the code
}

// Tokens are an answer of the token endpoint.
type Tokens struct {
	Access    string
	Refresh   string
	Scope     string
	ExpiresIn time.Duration // of the access token
	Subject                 // of refused ones too, for the log
}

// Redeem exchanges an authorization code for tokens. It reports false for a code that is unknown, used, expired or
// bound to other values. A code works once: a refused attempt uses it up, and a second use revokes the grant of the
// first.
func (t Tx) Redeem(r Redemption) (tokens Tokens, ok bool, err error) {
	hash := identity.SecretHash(r.Code)
	var userID loci.ID
	var c storedConsent
	err = sqldb.MapNoRows(t.conn.QueryRow(`SELECT user_id FROM oauth_codes WHERE hash = ?1`, []any{hash},
		[]any{&userID}))
	if err == nil {
		err = t.accounts.LockEnabledUser(userID) // before the code, in the order of the deletion of a user
	}
	if err == nil {
		c, err = t.takeCode(hash)
	}
	if loci.Is(err, loci.CodeNotFound) {
		tokens.Subject, err = t.end(`code_hash = ?1`, hash)
		return tokens, false, err
	}
	tokens.UserID = c.UserID
	if err != nil || !c.admits(r, t.conn.Now) {
		return tokens, false, err
	}
	return t.addGrant(c, hash)
}

// admits compares a request with the consent.
func (c storedConsent) admits(r Redemption, now loci.Time) bool {
	sum := sha256.Sum256([]byte(r.Verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	return now < c.expiresAt && r.ClientID == c.ClientID && r.RedirectURI == c.RedirectURI &&
		(r.Resource == "" || r.Resource == c.Resource) && validVerifier(r.Verifier) &&
		subtle.ConstantTimeCompare([]byte(challenge), []byte(c.Challenge)) == 1
}

// validVerifier reports whether s has the length of a code verifier. Its characters matter no more: it is hashed.
func validVerifier(s string) bool { return 43 <= len(s) && len(s) <= 128 }

// addGrant stores a grant with its first tokens. It reports false where the user has left all its workspaces since the
// consent, also where they have joined again.
func (t Tx) addGrant(c storedConsent, codeHash []byte) (tokens Tokens, ok bool, err error) {
	if err := t.lock(c.UserID); err != nil {
		return tokens, false, err
	}
	workspaces, err := t.memberships(c.UserID, c.Workspaces, c.decidedAt())
	if err != nil || len(workspaces) == 0 && c.Scope != AccountScope {
		return tokens, false, err
	}
	if err := t.endOldest(c.UserID); err != nil {
		return tokens, false, err
	}
	id, refresh := loci.NewID(t.conn.Now.Std()), identity.NewRefreshToken()
	if err := t.insertGrant(id, c.Consent, codeHash, refresh, workspaces); err != nil {
		return tokens, false, err
	}
	if err := t.touchClient(c.ClientID); err != nil {
		return tokens, false, err
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	tokens, err = t.addTokens(id, c.Scope, refresh, secret)
	tokens.Subject = Subject{id, c.UserID}
	return tokens, err == nil, err
}

// endOldest ends the least recently used grants of a user, so that another one fits.
func (t Tx) endOldest(userID loci.ID) error {
	_, err := t.end(`id IN (SELECT id FROM grants WHERE user_id = ?1
		ORDER BY CASE WHEN last_used_at > updated_at THEN last_used_at ELSE updated_at END DESC, id DESC
		LIMIT ?2 OFFSET ?3)`, userID, math.MaxInt32, maxGrants-1)
	return err
}

// insertGrant stores a grant with its workspaces.
func (t Tx) insertGrant(id loci.ID, c Consent, codeHash []byte, refresh string, workspaces []int64) error {
	if _, err := t.conn.Exec(`INSERT INTO grants (id, user_id, client_id, client_name, client_uri, redirect_uri,
		resource, scope, code_hash, family_hash, created_at, updated_at, last_used_at, expires_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, 0, ?12)`, id, c.UserID, c.ClientID, c.ClientName,
		c.ClientURI, c.RedirectURI, c.Resource, c.Scope, codeHash, familyHash(refresh), t.conn.Now,
		t.after(idleTimeout)); err != nil {
		return err
	}
	for _, w := range workspaces {
		if _, err := t.conn.Exec(`INSERT INTO grant_workspaces (grant_id, user_id, workspace) VALUES (?1, ?2, ?3)`, id,
			c.UserID, w); err != nil {
			return err
		}
	}
	return nil
}
