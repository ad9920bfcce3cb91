package secret

import (
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/testenv"
)

// checkFindings checks the guarantees of Scan and Redact for a text.
func checkFindings(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) {
	t.Helper()
	clean, all := Redact(text)
	at, rest := 0, clean
	for _, f := range all {
		if f.From < at || f.To <= f.From || f.To > len(text) || f.Line != 1+strings.Count(text[:f.From], "\n") {
			t.Fatalf("%q: finding %+v is out of place", text, f)
		}
		mark := text[at:f.From] + "[REDACTED:" + f.Rule + "]"
		if !strings.HasPrefix(rest, mark) {
			t.Fatalf("%q: redacted to %q, which lacks %q", text, clean, mark)
		}
		at, rest = f.To, rest[len(mark):]
	}
	testenv.RequireEqual(t, rest, text[at:], text, clean)
	testenv.RequireEqual(t, scanRules(clean), "", text, clean)
}

// Secrets that are joined, cut, and nested leave nothing.
func TestRedactLeavesNoSecret(t *testing.T) {
	t.Parallel()
	all := drawSamples(11)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			text := rapid.SampledFrom(all).Draw(t, "sample").Text
			if n := len(text); rapid.Bool().Draw(t, "cut") {
				text = text[:rapid.IntRange(0, n).Draw(t, "to")]
			}
			b.WriteString(text)
			b.WriteString(rapid.SampledFrom([]string{"", "", "-", "=", ".", "/", "_", "+", "\n", " ", `\n`, "%3D", ":",
				"@", "xoxb", "key=",
				"pwd=", "\"", "' password='", "!#", "&", "]", "--pass ", " is ", "Bearer "}).Draw(t, "glue"))
		}
		checkFindings(t, b.String())
	})
}

func TestScanAcceptsAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkFindings(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))) })
}

// countReads returns the bytes of runs that a scan of a piece, repeated to a size, reads.
func countReads(piece string, size int) (n int) {
	readBytes = &n
	defer func() { readBytes = nil }()
	Scan(strings.Repeat(piece, size/len(piece)))
	return n
}

// checkLinear fails unless a scan reads four times the bytes of a text that is four times as long.
func checkLinear(t *testing.T, piece string) {
	t.Helper()
	const few, many = 16 << 10, 64 << 10
	if a, b := countReads(piece, few), countReads(piece, many); b > 5*a+many {
		t.Errorf("%q: %d bytes are read in %d, and %d in %d", piece, a, few, b, many)
	}
}

// It does not run in parallel: no other scan is counted.
func TestScanIsLinearForHostileText(t *testing.T) {
	for _, piece := range []string{
		"eyJ", "ZXlK", "AKIA", "EAAM", "ABSK", "eyJrIjoi", "SK", "AKIA234567ABCDEFGHIJ",
		"LTAI" + "a1b2c3d4e5f6g7h8i9j0", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
		"twitter_key=" + "a1b2c3d4e5f6g7h8i9j0k1l2m", "-eyJ", "-eyJhbGciOiJIUzI1NiJ9.eyJhbGciOiJIUzI1NiJ9", "ZXlK+ZXlK",
		"-xoxb-1234567890-1234567890", "-xoxp-1234567890-1234567890-1234567890",
		"-----BEGIN", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY" + "-----ABCDabcd0123+/ABCDabcd0123+/ABCDabcd0123+/", "-----END PRIVATE KEY-----",
		"a://", "a://b:c@", "a:1@", "api_key=", "api_key=a1b2c3d4e5", "heroku key ", "twitter = A", "discord_secret=",
		"pscale_tkn_-", "-hvs.", "-hvb.", "yandex=t1.a",
		"pwd=", "pwd=a&b", "pwd=aB3!", "pwd=`", "pass is ", "--pass ", "pass>a", "\"pass\", \"a", "secret=x;y z",
		"bearer",
		"Bearer ",
		"Bearer a1", "authorization=", "authorization: basic ", "machine a login b password ", "machine ",
		"sig=", "sig=%2B", "key-", "key-0a1b", "ya29.", "1//0", "1//0-", "whsec_", "Private-Lines: 9\n", "MTA", "MTc5",
		"tskey-", "tskey-a", "r8_", "+EAAA", "AAAAEAAA", "discord.com/api/webhooks/1", "vcp_",
		"glpat-", "glrt-t1_", "ops_eyJ", "fm2_", "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", "EAAM", "/EAAM",
		"sntrys_eyJpYXQiO", "glc_", ".atlasv1.", "a.atlasv1.", "_mmk", "3Q~", "\\n", "%3D",
	} {
		checkLinear(t, piece)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range secrettest.RandomSamples(rand.New(rand.NewPCG(5, 1))) {
		f.Add(s.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkFindings(t, text)
		if text != "" && crc32.ChecksumIEEE([]byte(text))%8 == 0 { // a long text takes ten times as long as the rest
			checkLinear(t, text)
		}
	})
}
