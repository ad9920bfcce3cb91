package secret

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/secret/secrettest"
)

func TestScanFindsPrivateKeysInAllEncodings(t *testing.T) {
	t.Parallel()
	key := secrettest.RandomPEM(rand.New(rand.NewPCG(1, 1)), "RSA PRIVATE KEY", 6, "\n")
	sealed := strings.Replace(key, "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\n", 1)
	cut := func(text string, lines int) string { return strings.Join(strings.Split(text, "\n")[:lines], "\n") }
	for name, c := range map[string]struct{ text, left string }{
		"plain":               {"a\n" + key + "\nb", "a\n*\nb"},
		"CRLF":                {strings.ReplaceAll(key, "\n", "\r\n") + "\r\nb", "*\r\nb"},
		"JSON":                {`{"key":"` + strings.ReplaceAll(key, "\n", `\n`) + `\n","b":1}`, `{"key":"*\n","b":1}`},
		"one line":            {"KEY='" + strings.ReplaceAll(key, "\n", " ") + "'", "KEY='*'"},
		"indented":            {"  " + strings.ReplaceAll(key, "\n", "\n  ") + "\n  b", "  *\n  b"},
		"quoted":              {"> " + strings.ReplaceAll(key, "\n", "\n> "), "> *"},
		"joined":              {`"` + strings.ReplaceAll(key, "\n", "\\n\" +\n\"") + `"`, `"*"`},
		"sealed":              {sealed + "\n", "*\n"},
		"two":                 {key + "\n" + key, "*\n*"},
		"a certificate after": {cut(key, 4) + "\n-----BEGIN CERTIFICATE-----", "*\n-----BEGIN CERTIFICATE-----"},
		"cut off":             {cut(key, 4), "*"},
		"cut off in a line":   {key[:300], "*"},
		"cut off, with words": {cut(key, 4) + "\nand so on", "*\nand so on"},
		"cut off, sealed":     {cut(sealed, 7), "*"},
		"cut off, JSON": {`{"key":"` + strings.ReplaceAll(cut(key, 3), "\n", `\n`) + `\n..."}`,
			`{"key":"*\n..."}`},
		"cut off, two":       {cut(key, 4) + "\n" + key, "*\n*"},
		"cut off at its end": {strings.TrimSuffix(key, "-----END RSA PRIVATE KEY-----"), "*\n"},
	} {
		want := strings.ReplaceAll(c.left, "*", "[REDACTED:private-key]")
		if got, _ := Redact(c.text); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestScanFindsPasswordsInURLs(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"postgres://app:", "s3cr3tPa55", "@db:5432/x?y=1"},
		{"see <https://joe:", "p@ss@w0rd", "@example.com>"},
		{"redis://:", "Zm9vYmFyMTIz", "@cache:6379"},
		{`"amqp://u:`, "%21abcde9", `@mq/%2f"`},
		{"postgres://app:", "x7KeyQd2LmVz", "@db"}, // random, although it contains an example's word
	} {
		text := c[0] + c[1] + c[2]
		if got, want := scanRules(text), "url-password@1:"+c[1]; got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
