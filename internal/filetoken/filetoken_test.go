package filetoken

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/loci-memory/loci/internal/identity"
)

var (
	keys   = Keys{NewKey([]byte("the present secret")), NewKey([]byte("the former secret"))}
	holder = Holder{"01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002",
		identity.CredentialKey}
	now = time.Unix(1_800_000_000, 999)
)

func issue(t testing.TB, k Keys) string {
	t.Helper()
	token, end, err := k.Issue(holder, now)
	if err != nil || !end.Equal(time.Unix(1_800_000_600, 0)) {
		t.Fatal(end, err)
	}
	return token
}

func TestTokenIsVerifiedUntilItsEnd(t *testing.T) {
	t.Parallel()
	again := Keys{NewKey([]byte("the present secret"))}
	for name, k := range map[string]Keys{"present": keys, "former": keys[1:], "derived again": again} {
		token := issue(t, k)
		if got, err := keys.Verify(token, now.Add(Lifetime-time.Second)); err != nil || got != holder ||
			!LooksLike(token) {
			t.Errorf("%s key: %+v, %v", name, got, err)
		}
		if _, err := keys.Verify(token, now.Add(Lifetime)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s key, after the end: %v", name, err)
		}
	}
	if _, err := keys[:1].Verify(issue(t, keys[1:]), now); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key that is forgotten: %v", err)
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	token := issue(t, keys)
	parts := strings.Split(token, ".")
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	kid, public := keys[0].id, keys[0].private.Public().(ed25519.PublicKey)
	sign := func(method jwt.SigningMethod, key any, change func(*jwt.Token, *claims)) string {
		c := claims{jwt.RegisteredClaims{Subject: string(holder.UserID), Audience: jwt.ClaimStrings{audience},
			ExpiresAt: jwt.NewNumericDate(now.Add(time.Minute))}, holder.CredentialID, holder.Kind}
		made := jwt.NewWithClaims(method, &c)
		made.Header["kid"] = kid
		change(made, &c)
		text, err := made.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	unchanged := func(*jwt.Token, *claims) {}
	with := func(change func(*claims)) string {
		return sign(jwt.SigningMethodEdDSA, keys[0].private, func(_ *jwt.Token, c *claims) { change(c) })
	}
	if _, err := keys.Verify(sign(jwt.SigningMethodEdDSA, keys[0].private, unchanged), now); err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]string{
		"nothing":         "",
		"no signature":    parts[0] + "." + parts[1] + ".",
		"without a part":  parts[0] + "." + parts[1],
		"a further part":  token + ".x",
		"another payload": parts[0] + "." + encode(`{"sub":"x","aud":"files","exp":2000000000}`) + "." + parts[2],
		"another header":  encode(`{"alg":"EdDSA","kid":"`+kid+`","x":1}`) + "." + parts[1] + "." + parts[2],
		"algorithm none":  sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, unchanged),
		"HMAC of the key": sign(jwt.SigningMethodHS256, []byte(public), unchanged),
		"a foreign key":   sign(jwt.SigningMethodEdDSA, NewKey([]byte("foreign")).private, unchanged),
		"an unknown key": sign(jwt.SigningMethodEdDSA, keys[0].private,
			func(made *jwt.Token, _ *claims) { made.Header["kid"] = "other" }),
		"another audience": with(func(c *claims) { c.Audience = jwt.ClaimStrings{"api"} }),
		"no audience":      with(func(c *claims) { c.Audience = nil }),
		"no end":           with(func(c *claims) { c.ExpiresAt = nil }),
		"no user":          with(func(c *claims) { c.Subject = "" }),
		"no credential":    with(func(c *claims) { c.CredentialID = "" }),
		"an API key":       "loci_live_" + strings.Repeat("x", 43),
	} {
		if got, err := keys.Verify(forged, now); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(issue(f, keys))
	f.Add("e30.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		if got, err := keys.Verify(token, now); err == nil && got != holder {
			t.Errorf("%q is a token of %+v", token, got)
		}
	})
}
