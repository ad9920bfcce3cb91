package grantdb

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// codeTTL is the lifetime of an authorization code.
const codeTTL = 60 * time.Second

// Limits for one user, and for one consent.
const (
	maxCodes      = 20 // not redeemed; another one removes the oldest
	MaxWorkspaces = 200
)

// A Consent is the decision of a user to let a client use some workspaces, or with AccountScope everything.
type Consent struct {
	ClientID    string
	ClientName  string
	ClientURI   string
	RedirectURI string
	Challenge   string // S256 of the verifier (RFC 7636)
	Resource    string
	Scope       string
	UserID      loci.ID
	SignInID    loci.ID   // of the browser in which the user decided
	Workspaces  []loci.ID // of MCPScope
}

// AddCode stores a consent and returns the authorization code that stands for it, once and for codeTTL. A workspace
// that the user is no member of is NotFound, a sign-in that has ended is Revoked.
func (t Tx) AddCode(c Consent) (code string, err error) {
	if err := t.lockSigner(c.UserID); err != nil {
		return "", err
	}
	if err := t.accounts.RequireLiveCredential(c.UserID, identity.CredentialCookie, c.SignInID); err != nil {
		return "", err
	}
	if err := t.requireMember(&c); err != nil {
		return "", err
	}
	if _, err := t.conn.Exec(`DELETE FROM oauth_codes WHERE row_id IN (SELECT row_id FROM oauth_codes
		WHERE user_id = ?1 ORDER BY row_id DESC LIMIT ?2 OFFSET ?3)`, c.UserID, math.MaxInt32, maxCodes-1); err != nil {
		return "", err
	}
	code = identity.NewSecret()
	_, err = t.conn.Exec(`INSERT INTO oauth_codes (hash, user_id, sign_in, client_id, client_name, client_uri,
		redirect_uri, challenge, resource, scope, workspaces, expires_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`, identity.SecretHash(code), c.UserID, c.SignInID,
		c.ClientID, c.ClientName, c.ClientURI, c.RedirectURI, c.Challenge, c.Resource, c.Scope,
		sqldb.EncodeStrings(c.Workspaces), t.after(codeTTL))
	return code, err
}

// lockSigner locks a user, who is not disabled, before the rest: in the order of the deletion of a user.
func (t Tx) lockSigner(userID loci.ID) error {
	err := t.accounts.LockEnabledUser(userID)
	if loci.Is(err, loci.CodeNotFound) {
		return loci.NewError(loci.CodeRevoked) // all sign-ins end with the user
	}
	if err != nil {
		return err
	}
	return t.lock(userID)
}

// requireMember checks the workspaces of a consent, and names each once.
func (t Tx) requireMember(c *Consent) error {
	if c.Scope == AccountScope {
		c.Workspaces = nil
		return nil
	}
	slices.Sort(c.Workspaces)
	c.Workspaces = slices.Compact(c.Workspaces)
	if n := len(c.Workspaces); n < 1 || n > MaxWorkspaces {
		return loci.Errorf(loci.CodeInvalidQuery, "Choose 1 to %d workspaces.", MaxWorkspaces)
	}
	members, err := t.memberships(c.UserID, c.Workspaces, math.MaxInt64)
	if err == nil && len(members) < len(c.Workspaces) {
		err = loci.NewError(loci.CodeNotFound)
	}
	return err
}

// memberships returns those of some workspaces that a user has joined by a time. It keeps the memberships until the
// commit.
func (t Tx) memberships(userID loci.ID, workspaces []loci.ID, by loci.Time) (rows []int64, err error) {
	err = t.conn.Query(`SELECT m.workspace FROM members m JOIN workspaces w ON w.row_id = m.workspace
		WHERE m.user_id = ?1 AND m.joined_at <= ?3 AND
			w.id IN (SELECT list.value FROM `+fmt.Sprintf(t.conn.Dialect.StringRows, 2)+`)
		ORDER BY m.workspace`+t.conn.LockClause("KEY SHARE", "m"),
		[]any{userID, sqldb.EncodeStrings(workspaces), by}, sqldb.ScanInts(&rows))
	return rows, err
}

// storedConsent is a code that was taken from the table.
type storedConsent struct {
	Consent
	expiresAt loci.Time
}

// decidedAt returns when the user gave the consent.
func (c storedConsent) decidedAt() loci.Time { return c.expiresAt - loci.Time(codeTTL.Microseconds()) }

// takeCode deletes a code and returns its consent. Of concurrent calls one succeeds, for the others the code is
// NotFound.
func (t Tx) takeCode(hash []byte) (c storedConsent, err error) {
	var workspaces string
	err = t.conn.QueryRow(`DELETE FROM oauth_codes WHERE hash = ?1 RETURNING user_id, client_id, client_name,
		client_uri, redirect_uri, challenge, resource, scope, workspaces, expires_at`, []any{hash},
		[]any{&c.UserID, &c.ClientID, &c.ClientName, &c.ClientURI, &c.RedirectURI, &c.Challenge, &c.Resource, &c.Scope,
			&workspaces, &c.expiresAt})
	if err != nil {
		return c, sqldb.MapNoRows(err)
	}
	c.Workspaces, err = sqldb.DecodeStrings[loci.ID](workspaces)
	return c, err
}
