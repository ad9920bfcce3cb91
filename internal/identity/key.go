package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"

	"github.com/loci-memory/loci"
)

const (
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	keyRandomLen   = 37 // characters: 220 bits
	keyChecksumLen = 6  // characters: a CRC-32, so that a mistyped key costs no query
	keyPreviewLen  = 6
	familyLen      = 18 // characters of a refresh token: 107 bits
)

// NewKey returns a new API key: the prefix, 37 random characters and their checksum, in base62.
func NewKey() string { return loci.KeyPrefix + NewSecret() }

// NewAccessToken returns a new access token, in the form of a key with a prefix of its own.
func NewAccessToken() string { return loci.AccessTokenPrefix + NewSecret() }

// NewRefreshToken returns a new refresh token, in the form of a key with a prefix of its own.
func NewRefreshToken() string { return loci.RefreshTokenPrefix + NewSecret() }

// NextRefreshToken returns a new refresh token of the family of another one.
func NextRefreshToken(last string) string {
	random := RefreshFamily(last)[len(loci.RefreshTokenPrefix):] + NewSecret()[:keyRandomLen-familyLen]
	return loci.RefreshTokenPrefix + random + keyChecksum(random)
}

// RefreshFamily returns the part of a refresh token that the tokens of its family share. It recognizes a token that
// was used long ago, of which nothing else is kept.
func RefreshFamily(token string) string { return token[:len(loci.RefreshTokenPrefix)+familyLen] }

// NewSecret returns a random secret of 43 characters, with a checksum.
func NewSecret() string {
	b := make([]byte, 0, keyRandomLen)
	for len(b) < keyRandomLen {
		var random [64]byte
		rand.Read(random[:])
		for _, c := range random {
			if c &= 63; c < 62 && len(b) < keyRandomLen {
				b = append(b, base62[c])
			}
		}
	}
	return string(b) + keyChecksum(string(b))
}

// keyChecksum writes the CRC-32 (IEEE) of s in base62.
func keyChecksum(s string) string {
	n := big.NewInt(int64(crc32.ChecksumIEEE([]byte(s))))
	digits := n.Text(62) // 0-9a-zA-Z
	digits = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, digits)
	return strings.Repeat("0", keyChecksumLen-len(digits)) + digits
}

// ValidKey reports whether s has the form of an API key, checksum included.
func ValidKey(s string) bool { return hasForm(s, loci.KeyPrefix) }

// ValidAccessToken reports whether s has the form of an access token, checksum included.
func ValidAccessToken(s string) bool { return hasForm(s, loci.AccessTokenPrefix) }

// ValidRefreshToken reports whether s has the form of a refresh token, checksum included.
func ValidRefreshToken(s string) bool { return hasForm(s, loci.RefreshTokenPrefix) }

func hasForm(s, prefix string) bool {
	s, ok := strings.CutPrefix(s, prefix)
	return ok && len(s) == keyRandomLen+keyChecksumLen && keyChecksum(s[:keyRandomLen]) == s[keyRandomLen:]
}

// KeyPreview returns the characters of a key that a list shows.
func KeyPreview(key string) string {
	return key[len(loci.KeyPrefix) : len(loci.KeyPrefix)+keyPreviewLen]
}

// SecretHash returns the hash that is stored of a key or another random secret.
// It needs no salt and no stretching: the secret has more than 100 random bits.
func SecretHash(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}
