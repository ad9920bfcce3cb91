package secrettest

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// A Credential is a value, and the name that a text gives it.
type Credential struct{ Format, Name, Value string }

// A Kind is a set of credentials that a detector knows in the same way.
type Kind struct {
	Name        string
	Credentials []Credential
}

// symbols are those that generators of passwords draw from.
const symbols = "!@#$%^&*()-_=+[]{};:,.?~|/"

const letters = small + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var (
	passwordNames = []string{"password", "DB_PASS", "dbPassword", "pwd", "passphrase", "smtp_pass", "passwd"}
	keyNames      = []string{"api_key", "client_secret", "access_token", "token", "apiKey", "secret"}
)

// uniform draws n bytes of an alphabet, each without regard to the others, as
// generators do.
func uniform(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// Kinds draws credentials of each format.
func Kinds(r *rand.Rand) []Kind {
	return []Kind{
		{"own prefix or shape", own(r)},
		{"name of a provider", named(r)},
		{"private keys, signed tokens", signed(r)},
		{"passwords with symbols", drawn(r, passwordNames, symbols+digits+letters, 12, 14, 16, 20, 24, 32)},
		{"passwords of letters and digits", drawn(r, passwordNames, digits+letters, 12, 14, 16, 20, 24, 32)},
		{"keys of letters and digits", append(
			drawn(r, keyNames, digits+letters, 20, 24, 32, 40, 64),
			drawn(r, keyNames, digits+small, 20, 24, 32, 40)...)},
		{"keys of hexadecimal digits", append(drawn(r, keyNames, digits+"abcdef", 32, 40, 64), uuids(r)...)},
		{"keys with symbols", drawn(r, keyNames, symbols+digits+letters, 16, 20, 24, 32, 40)},
		{"keys in base64", encoded(r)},
		{"keys of letters", drawn(r, keyNames, letters, 24, 32, 40)},
	}
}

func own(r *rand.Rand) (all []Credential) {
	for _, f := range tokens {
		if s := f.draw(r); s.Rule != "url-password" && s.Rule != "azure-sas-signature" {
			all = append(all, Credential{s.Rule, "value", s.Secret()})
		}
	}
	return all
}

func named(r *rand.Rand) (all []Credential) {
	for _, f := range assigned {
		s := f.draw(r)
		name := strings.TrimLeft(s.Text[:s.From], "\"'_")
		name = name[:strings.IndexFunc(name, func(c rune) bool { return !strings.ContainsRune(letters+digits+"_-.", c) })]
		other := strings.HasPrefix(s.Rule, "generic-") || s.Rule == "authorization-header" || s.Rule == "netrc-password"
		if name != "" && !other {
			all = append(all, Credential{s.Rule, name, s.Secret()})
		}
	}
	return all
}

func signed(r *rand.Rand) (all []Credential) {
	for _, s := range keys(r) {
		if s.Text != s.Secret() {
			continue
		}
		all = append(all, Credential{s.Rule, "value", s.Text})
	}
	return all
}

func drawn(r *rand.Rand, names []string, alphabet string, lengths ...int) (all []Credential) {
	for _, name := range names {
		for _, n := range lengths {
			all = append(all, Credential{"drawn", name, uniform(r, alphabet, n)})
		}
	}
	return all
}

func uuids(r *rand.Rand) (all []Credential) {
	for _, name := range keyNames {
		all = append(all, Credential{"UUID", name, fill(r, "{h8}-{h4}-{h4}-{h4}-{h12}")})
	}
	return all
}

func encoded(r *rand.Rand) (all []Credential) {
	for _, name := range keyNames {
		for _, n := range []int{18, 24, 32, 48, 64} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			all = append(all,
				Credential{"base64", name, base64.StdEncoding.EncodeToString(b)},
				Credential{"base64url", name, base64.RawURLEncoding.EncodeToString(b)})
		}
	}
	return all
}
