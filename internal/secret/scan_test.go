package secret

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/testenv"
)

// drawSamples draws one text for each format.
func drawSamples(seed uint64) []secrettest.Sample {
	return secrettest.RandomSamples(rand.New(rand.NewPCG(seed, 1)))
}

// scanRules returns the findings of a text in one line.
func scanRules(text string) string {
	var all []string
	for _, f := range Scan(text) {
		all = append(all, fmt.Sprintf("%s@%d:%s", f.Rule, f.Line, text[f.From:f.To]))
	}
	return strings.Join(all, " ")
}

func TestEveryRuleFindsItsSamples(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		for _, s := range drawSamples(seed) {
			for _, text := range []string{s.Text, "so: `" + s.Text + "`.", "(" + s.Text + ")", `"\n` + s.Text + `\n"`,
				"\r\n" + s.Text + "\r\n", "é" + s.Text + "é"} {
				at := strings.Index(text, s.Text)
				want := Finding{s.Rule, 1 + strings.Count(text[:at+s.From], "\n"), at + s.From, at + s.To}
				testenv.EqualSlices(t, Scan(text), []Finding{want}, text, want)
			}
		}
	}
}

// A missing byte or a byte of another class invalidates a token of fixed length. An additional letter does so only
// without a clear prefix. A value without a shape is no piece of a word.
func TestScanFindsWholeTokens(t *testing.T) {
	t.Parallel()
	has := func(text, rule string) bool {
		return slices.ContainsFunc(Scan(text), func(f Finding) bool { return f.Rule == rule })
	}
	others := drawSamples(8)
	for i, s := range drawSamples(7) {
		secret := s.Secret()
		token, prefixed := has(secret, s.Rule), markFindings(s, others[i])
		if token && !prefixed && s.Rule != "private-key" && has("x"+secret, s.Rule) {
			t.Errorf("%s: found behind a letter: x%s", s.Rule, secret)
		}
		// Some keys have a longer and a shorter form: the rest of one is the other.
		if !s.Fixed || s.Rule == "openai-api-key" && len(secret) > 100 {
			continue
		}
		n := len(secret)
		texts := map[string]string{"shorter": secret[:n-1], "of two parts": secret[:n-6] + "!" + secret[n-5:]}
		if !token || !prefixed {
			texts["longer"] = secret + secret[n-1:]
		}
		if !token {
			texts["in a word"] = secret + "_z"
		}
		for what, text := range texts {
			if text = s.WithSecret(text); has(text, s.Rule) {
				t.Errorf("%s: found although %s: %s", s.Rule, what, text)
			}
		}
	}
}

// markFindings reports whether two samples of a format begin with the same bytes, which include a mark.
func markFindings(a, b secrettest.Sample) bool {
	x, y := a.Secret(), b.Secret()
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return strings.ContainsAny(x[:n], punctuationMarks)
}

func TestEveryRuleHasASample(t *testing.T) {
	t.Parallel()
	var random []string
	for _, s := range drawSamples(1) {
		random = append(random, s.Rule)
	}
	slices.Sort(random)
	if names := Rules(); !slices.Equal(slices.Compact(random), names) || len(names) < 60 {
		t.Errorf("%d rules %v, formats for %v", len(names), names, slices.Compact(random))
	}
}

func TestScanPrefersSpecificRules(t *testing.T) {
	t.Parallel()
	token := "ghp_" + secrettest.RandomString(rand.New(rand.NewPCG(1, 1)), "0123456789abcdefghijklmnopqrstuvwxyz", 36)
	for text, want := range map[string]string{
		"api_key = " + token:                     "github-pat@1:" + token,
		"https://joe:" + token + "@host/x.git":   "github-pat@1:" + token,
		"https://joe:a-" + token + "@host/x.git": "github-pat@1:a-" + token,
		"\n\n" + token + "\r\n" + token:          "github-pat@3:" + token + " github-pat@4:" + token,
	} {
		testenv.Equal(t, scanRules(text), want, text)
	}
}

// The values are random; words between name and value are prose.
func TestScanFindsPasswordsInProse(t *testing.T) {
	t.Parallel()
	const value = "Nnz5k" + "Pq8rT2w"
	for _, before := range []string{"wifi password of the office is ", "The password for Joe is: ", "my password ",
		"user app password ", "Das Passwort für den Drucker ist ", "Das WLAN-Passwort lautet ",
		"passphrase of the backup is "} {
		testenv.Equal(t, scanRules(before+value+"."), "generic-password@1:"+value, before)
	}
	for _, text := range []string{"password\n" + value, "the pass " + value, "password of the office, " + value,
		"the password that one two three four five six is " + value} {
		testenv.Equal(t, scanRules(text), "", text)
	}
}

func TestScanTreatsEscapesAsBoundaries(t *testing.T) {
	t.Parallel()
	token := "LTAI" + secrettest.RandomString(rand.New(rand.NewPCG(2, 1)), "0123456789abcdefghijklmnopqrstuvwxyz", 20)
	for before, ok := range map[string]bool{
		`\n`: true, `\t`: true, "%3D": true, `\u003d`: true, "/": true, "-": true, ".": true, "日本": true, "\xff": true,
		"_": true,
		"n": false, "3D": false, "u003d": false, "%3": false, `\q`: false,
	} {
		testenv.Equal(t, scanRules(before+token) != "", ok, "found behind", before)
	}
}

func TestScanIgnoresNonSecrets(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	some := func(n int) string { return secrettest.RandomString(r, "0123456789abcdef", n) }
	uuid := some(8) + "-" + some(4) + "-" + some(4) + "-" + some(4) + "-" + some(12)
	picture := make([]byte, 100<<10)
	for i := range picture {
		picture[i] = byte(r.Uint32())
	}
	texts := []string{
		"AKIA" + "IOSFODNN7EXAMPLE", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
		"ghp_" + strings.Repeat("x", 36), "ghp_" + strings.Repeat("a", 36), "sk_live_" + "your_api_key_here",
		"sk-ant-api03-" + "your-api-key",
		"api_key = your-api-key-0123", "password: ${DB_PASSWORD_2}", "token=<your token 1>", "GITHUB_TOKEN=${TOKEN}",
		"secret_key = os.environ['SECRET_KEY_1']",
		"api_key = \"" + strings.Repeat("0", 32) + "\"", "access_token = getAccessTokenFromStore2(ctx)",
		"secret: projects/p1/secrets/s2/versions/3",
		"img/favico-" + some(32) + ".png", "the glrt-" + "runner-config-template-file of a host",
		"msg_shelf_" + strings.Repeat("someLongCamelCase", 2), "aghp_" + strings.Repeat("refreshTokensOfUsers", 2),
		"const sm_pat_" + "configurationOptionsOfIt = 1",
		"a.tk-us-this-is-a-slug-of-many-words-that-people-use-to-link-pages-with",
		"studio-u-" + strings.Repeat("another-word-", 6), "k_AKIA" + strings.Repeat("WORD", 4) + "S",
		"loci_live_" + strings.Repeat("0", 43), "loci_ort_" + strings.Repeat("0", 43),
		"AIza" + "SyabcdefghijklmnopqrstuvwxyzABCDEFG1234",
		"https://user:password@host", "postgres://loci:loci@localhost/loci", "https://u:<password>@host",
		"https://u:${PASS_1}@host", "https://user:xxxxxxxx@h",
		"mailto:joe@example.com", "http://host:8080/@x", "git@github.com:a/b.git", "see https://a.b/c:d@e",
		uuid, some(32), some(40), some(64), some(96), some(128), "id: " + uuid, "heroku release " + uuid,
		"sha256:" + some(64), "sentry release: " + some(40),
		"commit " + some(40), "\tindex " + some(40) + ".." + some(40) + " 100644", "key: " + some(64),
		"etag = \"" + some(32) + "\"", "cache_key=" + some(40),
		"golang.org/x/text v0.43.0 h1:" + base64.StdEncoding.EncodeToString(picture[:32]) +
			"\ngolang.org/x/text v0.43.0/go.mod h1:" + base64.StdEncoding.EncodeToString(picture[32:64]),
		`"integrity": "sha512-` + base64.StdEncoding.EncodeToString(picture[64:128]) + `",`,
		"data:image/png;base64," + base64.StdEncoding.EncodeToString(picture),
		"data:image/png;base64," + base64.URLEncoding.EncodeToString(picture),
		"-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"a `-----BEGIN PRIVATE KEY-----` line and what comes after it in the file",
		"-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(picture[:480]) +
			"\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\n" + base64.StdEncoding.EncodeToString(picture[:90]) + "\n-----END PUBLIC KEY-----",
	}
	for _, text := range texts {
		testenv.Equal(t, scanRules(text), "", text)
	}
}

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
		"cut off, JSON":       {`{"key":"` + strings.ReplaceAll(cut(key, 3), "\n", `\n`) + `\n..."}`, `{"key":"*\n..."}`},
		"cut off, two":        {cut(key, 4) + "\n" + key, "*\n*"},
		"cut off at its end":  {strings.TrimSuffix(key, "-----END RSA PRIVATE KEY-----"), "*\n"},
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

func TestScanFindsTokensInAnyContext(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		for _, s := range drawSamples(seed) {
			for _, a := range secrettest.Surroundings {
				if s.Rule == "generic-api-key" && a.Behind == "..." {
					continue // dots replace the rest of a value
				}
				in := a.Wrap(s)
				got := Scan(in.Text)
				if len(got) == 1 && a.IsAmbiguous(s) {
					got[0].To = min(got[0].To, in.To)
				}
				want := Finding{s.Rule, 1 + strings.Count(in.Text[:in.From], "\n"), in.From, in.To}
				testenv.EqualSlices(t, got, []Finding{want}, in.Text, want)
			}
		}
	}
}

// Two adjacent credentials leave no byte of either.
func TestScanFindsAdjacentTokens(t *testing.T) {
	t.Parallel()
	left, right := drawSamples(21), drawSamples(22)
	for _, a := range left {
		if a.Rule == "url-password" {
			continue // a host is between them
		}
		for _, b := range right {
			if b.Text != b.Secret() {
				continue
			}
			text := a.Text + b.Text
			all := Scan(text)
			for _, s := range []Finding{{From: a.From, To: a.To},
				{From: len(a.Text) + b.From, To: len(text) - len(b.Text) + b.To}} {
				at := s.From
				for _, f := range all {
					if f.From <= at && at < f.To {
						at = f.To
					}
				}
				if at < s.To {
					t.Errorf("%s, %s: %q leaves %q", a.Rule, b.Rule, text, text[at:s.To])
				}
			}
		}
	}
}

// A prefix that ends no word marks a token even between letters, which stay in the text.
func TestScanFindsPrefixedTokensBetweenLetters(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(10) {
		others := drawSamples(seed + 10)
		for i, s := range drawSamples(seed) {
			// Groups of five letters do not look random.
			if !s.Fixed || s.Text != s.Secret() || !markFindings(s, others[i]) || s.Rule == "1password-secret-key" {
				continue
			}
			found++
			for _, a := range []secrettest.Surrounding{{Before: "X"}, {Before: "the2"}, {Behind: "x"},
				{Before: "X", Behind: "9"}, {Behind: "Gword"}} {
				in := a.Wrap(s)
				if clean, _ := Redact(in.Text); clean != a.Before+"[REDACTED:"+s.Rule+"]"+a.Behind {
					t.Errorf("%q: redacted to %q", in.Text, clean)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d tokens have a prefix", found)
	}
}
