package grantdb

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store/seal"
)

// Lifetimes of tokens.
const (
	accessTTL   = time.Hour
	idleTimeout = 60 * 24 * time.Hour // of a grant without a refresh
	replayTTL   = 120 * time.Second   // in which a refresh token that was used returns the same tokens
)

// maxPairs is the number of pairs of a grant. A pair is needed while its access token or the repetition of its refresh
// token can be.
const maxPairs = 200

// Labels of the keys that a token derives.
const (
	secretLabel = "loci grant secret"
	nextLabel   = "loci next tokens"
)

// sealingKey derives a key from a token. It reveals neither the token nor its stored hash.
func sealingKey(token, label string) [32]byte {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte(label))
	return [32]byte(m.Sum(nil))
}

// Secret opens the secret of a grant with one of its access tokens.
func Secret(token string, sealed []byte) ([]byte, error) { return openWith(token, secretLabel, sealed) }

func openWith(token, label string, sealed []byte) ([]byte, error) {
	text, err := seal.Open(sealingKey(token, label), sealed)
	if err != nil {
		return nil, fmt.Errorf("grantdb: open what a token seals: %w", err)
	}
	return text, nil
}

// familyHash returns the hash of what the refresh tokens of a grant share.
func familyHash(refresh string) []byte { return identity.SecretHash(identity.RefreshFamily(refresh)) }

// addTokens stores a new pair of tokens of a grant. The user must be locked, or the grant.
func (t Tx) addTokens(grant loci.ID, scope, refresh string, secret []byte) (Tokens, error) {
	k := newTokens(identity.NewAccessToken(), refresh, scope)
	_, err := t.conn.Exec(`INSERT INTO grant_tokens (grant_id, access_hash, access_secret, refresh_hash, refresh_secret,
		created_at, replaced_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)`, grant, identity.SecretHash(k.Access),
		seal.Seal(sealingKey(k.Access, secretLabel), secret), identity.SecretHash(k.Refresh),
		seal.Seal(sealingKey(k.Refresh, secretLabel), secret), t.conn.Now)
	return k, err
}

func newTokens(access, refresh, scope string) Tokens {
	return Tokens{Access: access, Refresh: refresh, Scope: scope, ExpiresIn: accessTTL}
}

// sealNext seals the tokens that follow a refresh token.
func sealNext(refresh string, k Tokens) []byte {
	return seal.Seal(sealingKey(refresh, nextLabel), []byte(k.Access+" "+k.Refresh))
}

// openNext reverses sealNext.
func openNext(refresh, scope string, sealed []byte) (k Tokens, err error) {
	text, err := openWith(refresh, nextLabel, sealed)
	if err != nil {
		return k, err
	}
	access, next, _ := strings.Cut(string(text), " ")
	return newTokens(access, next, scope), nil
}

// deleteOldTokens deletes the pairs of a grant beyond maxPairs.
func (t Tx) deleteOldTokens(grant loci.ID) error {
	_, err := t.conn.Exec(`DELETE FROM grant_tokens WHERE row_id IN (SELECT row_id FROM grant_tokens WHERE grant_id = ?1
		ORDER BY created_at DESC, row_id DESC LIMIT ?2 OFFSET ?3)`, grant, math.MaxInt32, maxPairs)
	return err
}
