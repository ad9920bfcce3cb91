package secrettest

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// A Credential is a value, and the name that a text gives it.
type Credential struct{ Format, Name, Value string }

// A Kind is a set of credentials that a detector recognizes in the same way.
type Kind struct {
	Name        string
	Credentials []Credential
}

// passwordSymbols are the symbols of password generators.
const passwordSymbols = "!@#$%^&*()-_=+[]{};:,.?~|/"

const asciiLetters = lowerLetters + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var (
	passwordNames = []string{"password", "DB_PASS", "dbPassword", "pwd", "passphrase", "smtp_pass", "passwd"}
	keyNames      = []string{"api_key", "client_secret", "access_token", "token", "apiKey", "secret"}
)

// uniformString draws n independent bytes of an alphabet, as generators do.
func uniformString(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// RandomKinds draws credentials of each format.
func RandomKinds(r *rand.Rand) []Kind {
	return []Kind{
		{"own prefix or shape", prefixedCredentials(r)},
		{"name of a provider", namedCredentials(r)},
		{"private keys, signed tokens", signedCredentials(r)},
		{"passwords with symbols", randomCredentials(r, passwordNames, passwordSymbols+digitLetters+asciiLetters, 12,
			14, 16, 20, 24, 32)},
		{"passwords of letters and digits", randomCredentials(r, passwordNames, digitLetters+asciiLetters, 12, 14, 16,
			20, 24, 32)},
		{"keys of letters and digits", append(
			randomCredentials(r, keyNames, digitLetters+asciiLetters, 20, 24, 32, 40, 64),
			randomCredentials(r, keyNames, digitLetters+lowerLetters, 20, 24, 32, 40)...)},
		{"keys of hexadecimal digits", append(randomCredentials(r, keyNames, digitLetters+"abcdef", 32, 40, 64),
			uuidCredentials(r)...)},
		{"keys with symbols", randomCredentials(r, keyNames, passwordSymbols+digitLetters+asciiLetters, 16, 20, 24, 32,
			40)},
		{"keys in base64", base64Credentials(r)},
		{"keys of letters", randomCredentials(r, keyNames, asciiLetters, 24, 32, 40)},
	}
}

func prefixedCredentials(r *rand.Rand) (all []Credential) {
	for _, f := range tokenFormats {
		if s := f.sample(r); s.Rule != "url-password" && s.Rule != "azure-sas-signature" {
			all = append(all, Credential{s.Rule, "value", s.Secret()})
		}
	}
	return all
}

func namedCredentials(r *rand.Rand) (all []Credential) {
	for _, f := range assignedFormats {
		s := f.sample(r)
		name := strings.TrimLeft(s.Text[:s.From], "\"'_")
		name = name[:strings.IndexFunc(name, func(c rune) bool {
			return !strings.ContainsRune(asciiLetters+digitLetters+"_-.", c)
		})]
		other := strings.HasPrefix(s.Rule, "generic-") || s.Rule == "authorization-header" || s.Rule == "netrc-password"
		if name != "" && !other {
			all = append(all, Credential{s.Rule, name, s.Secret()})
		}
	}
	return all
}

func signedCredentials(r *rand.Rand) (all []Credential) {
	for _, s := range keySamples(r) {
		if s.Text != s.Secret() {
			continue
		}
		all = append(all, Credential{s.Rule, "value", s.Text})
	}
	return all
}

func randomCredentials(r *rand.Rand, names []string, alphabet string, lengths ...int) (all []Credential) {
	for _, name := range names {
		for _, n := range lengths {
			all = append(all, Credential{"drawn", name, uniformString(r, alphabet, n)})
		}
	}
	return all
}

func uuidCredentials(r *rand.Rand) (all []Credential) {
	for _, name := range keyNames {
		all = append(all, Credential{"UUID", name, expand(r, "{h8}-{h4}-{h4}-{h4}-{h12}")})
	}
	return all
}

func base64Credentials(r *rand.Rand) (all []Credential) {
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
