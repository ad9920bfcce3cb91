// Package filetoken issues and verifies the tokens with which a client uploads and downloads files: JWTs that are
// signed with Ed25519, and live for ten minutes.
package filetoken

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// Lifetime is how long a token lives.
const Lifetime = 10 * time.Minute

// audience is that of all tokens.
const audience = "files"

func init() {
	jwt.MarshalSingleStringAsArray = false // an audience is a text
}

// ErrInvalid is that of a token that is none of this server's, or has expired.
var ErrInvalid = errors.New("filetoken: invalid or expired")

// A Key signs tokens, and verifies them.
type Key struct {
	id      string
	private ed25519.PrivateKey
}

// NewKey derives a key from a secret of the server.
func NewKey(secret []byte) Key {
	seed := sha256.Sum256(append([]byte("loci file token 1\n"), secret...))
	private := ed25519.NewKeyFromSeed(seed[:])
	public := sha256.Sum256(private.Public().(ed25519.PublicKey))
	return Key{base64.RawURLEncoding.EncodeToString(public[:9]), private}
}

// Keys are the keys of a server. The first one signs, and all verify: tokens outlive a rotation.
type Keys []Key

// A Holder is the user of a token, and the credential that it was exchanged for. The token ends with the credential.
type Holder struct {
	UserID, CredentialID loci.ID
	Kind                 identity.CredentialKind
}

// claims are the claims of a token.
type claims struct {
	jwt.RegisteredClaims
	CredentialID loci.ID                 `json:"credentialId"`
	Kind         identity.CredentialKind `json:"credentialKind"`
}

// Issue returns a token, and the time of its end.
func (k Keys) Issue(h Holder, now time.Time) (token string, end time.Time, err error) {
	now = now.Truncate(time.Second) // as in the token
	end = now.Add(Lifetime)
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{jwt.RegisteredClaims{Subject: string(h.UserID),
		Audience: jwt.ClaimStrings{audience}, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(end)},
		h.CredentialID, h.Kind})
	t.Header["kid"] = k[0].id
	token, err = t.SignedString(k[0].private)
	return token, end, err
}

// Verify returns the holder of a token, or ErrInvalid.
func (k Keys) Verify(token string, now time.Time) (Holder, error) {
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		for _, key := range k {
			if t.Header["kid"] == key.id {
				return key.private.Public(), nil
			}
		}
		return nil, ErrInvalid
	}, jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithStrictDecoding())
	if err != nil || c.Subject == "" || c.CredentialID == "" {
		return Holder{}, ErrInvalid
	}
	return Holder{loci.ID(c.Subject), c.CredentialID, c.Kind}, nil
}

// LooksLike reports whether a credential has the form of a token: keys and tokens of other kinds have no dots.
func LooksLike(credential string) bool { return strings.Count(credential, ".") == 2 }
