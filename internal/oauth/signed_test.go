package oauth

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// testSigner returns a signer and the control of its clock.
func testSigner(secret string) (s signer, pass func(time.Duration)) {
	now := loci.Time(1_800_000_000_000_000)
	return signer{func() []byte { return []byte(secret) }, func() loci.Time { return now }},
		func(d time.Duration) { now += loci.Time(d.Microseconds()) }
}

func sealed(t *testing.T, s signer, r request) string {
	t.Helper()
	return testenv.Must(s.seal(r))(t)
}

func TestSignedRequestKeepsEveryByte(t *testing.T) {
	t.Parallel()
	s, _ := testSigner("instance")
	want := request{ClientID: "c", ClientName: "Ü <b>", RedirectURI: "cursor://x", Challenge: "ch",
		State: []byte("\x00\xff&=+% \r\n\"")}
	got, err := s.open(sealed(t, s, want), "")
	if err != nil || !bytes.Equal(got.State, want.State) || got.ClientName != want.ClientName ||
		got.RedirectURI != want.RedirectURI || got.Challenge != want.Challenge || got.ClientID != want.ClientID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSignedRequestExpires(t *testing.T) {
	t.Parallel()
	s, pass := testSigner("instance")
	text := sealed(t, s, request{ClientID: "c"})
	pass(requestTTL - time.Microsecond)
	if _, err := s.open(text, ""); err != nil {
		t.Errorf("before its end: %v", err)
	}
	pass(time.Microsecond)
	if _, err := s.open(text, ""); err != errExpired {
		t.Errorf("at its end: %v", err)
	}
}

func TestSignedRequestIsBoundToOneSignIn(t *testing.T) {
	t.Parallel()
	s, _ := testSigner("instance")
	bound := sealed(t, s, request{ClientID: "c", SignIn: "ann"})
	if _, err := s.open(bound, "ann"); err != nil {
		t.Error(err)
	}
	for _, other := range []loci.ID{"", "bob", "an"} {
		if _, err := s.open(bound, other); err != errOtherSignIn {
			t.Errorf("%q: %v", other, err)
		}
	}
	if _, err := s.open(sealed(t, s, request{}), "ann"); err != errOtherSignIn {
		t.Errorf("an unbound one: %v", err)
	}
}

func TestSignedRequestCannotBeChanged(t *testing.T) {
	t.Parallel()
	s, _ := testSigner("instance")
	other, _ := testSigner("another instance")
	text := sealed(t, s, request{ClientID: "c"})
	body, signature, _ := strings.Cut(text, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"client":"d","expires":9000000000000000}`))
	for name, changed := range map[string]string{"empty": "", "no signature": body, "empty signature": body + ".",
		"other body": forged + "." + signature, "cut": text[:len(text)-1], "longer": text + "A",
		"new line":     text + "\n",
		"other secret": sealed(t, other, request{ClientID: "c"}), "body of nothing": "." + signature,
		"other text": strings.Replace(text, body[:1], "f", 1)} {
		if _, err := s.open(changed, ""); err != errNotSigned {
			t.Errorf("%s: %v", name, err)
		}
	}
}
