// Package secrettest draws texts that contain a credential, for the tests of package secret. Its table of formats is
// independent of the rules. No source contains a whole token, because tokens are put together when drawn.
package secrettest

import (
	_ "embed"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Sample is a text with one credential.
type Sample struct {
	Rule     string
	Text     string
	From, To int  // where the credential is
	Fixed    bool // one byte more or less makes it invalid
}

// Secret returns the credential of a sample.
func (s Sample) Secret() string { return s.Text[s.From:s.To] }

// WithSecret returns the text with another credential in its place.
func (s Sample) WithSecret(secret string) string { return s.Text[:s.From] + secret + s.Text[s.To:] }

const (
	digitLetters = "0123456789"
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
)

// alphabets are the letters of the formats.
var alphabets = map[byte]string{
	'd': digitLetters, 'h': digitLetters + "abcdef", 'l': digitLetters + lowerLetters,
	'u': digitLetters + strings.ToUpper(lowerLetters), '2': "234567" + strings.ToUpper(lowerLetters),
	'q': strings.ToUpper("qpzry9x8gf2tvdw0s3jn54khce6mua7l"), 'z': lowerLetters + strings.ToUpper(lowerLetters),
	'o': "abcdefgh" + digitLetters,
	'a': digitLetters + lowerLetters + strings.ToUpper(lowerLetters),
	'w': digitLetters + lowerLetters + strings.ToUpper(lowerLetters) + "_",
	's': "!@#%^*+=?",
	'-': digitLetters + lowerLetters + strings.ToUpper(lowerLetters) + "_-",
	'+': digitLetters + lowerLetters + strings.ToUpper(lowerLetters) + "+/",
}

var (
	//go:embed token_formats.txt
	tokenFormatLines string
	//go:embed assigned_formats.txt
	assignedFormatLines string

	tokenFormats    = parseFormats(tokenFormatLines)    // with a shape of their own
	assignedFormats = parseFormats(assignedFormatLines) // with a name before them, in the styles of several languages
)

// parseFormats reads a format from each line: the rule, a tab, and the text, with \n for a line end.
func parseFormats(lines string) (all []format) {
	for line := range strings.Lines(lines) {
		rule, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, format{rule, strings.ReplaceAll(text, `\n`, "\n")})
	}
	return all
}

// RandomSamples returns a sample of each format.
func RandomSamples(r *rand.Rand) (all []Sample) {
	for _, f := range slices.Concat(tokenFormats, assignedFormats) {
		all = append(all, f.sample(r))
	}
	all = append(all, keySamples(r)...)
	// A source of their own, seeded by a sample, lets these formats change no other sample.
	seed := fnv.New64()
	seed.Write([]byte(all[0].Text))
	own := rand.New(rand.NewPCG(seed.Sum64(), 0))
	for _, f := range []format{{"loci-access-token", "loci_oat_{a43}!"}, {"loci-refresh-token", "loci_ort_{a43}!"}} {
		all = append(all, f.sample(own))
	}
	return all
}

// A format is a rule and a text. In the text, {a36} is replaced by 36 bytes of the alphabet a, and {uuid} by a UUID.
// The credential is between < and >, or the whole text without these. A format that ends in ! has a fixed length.
type format struct{ rule, text string }

func (f format) sample(r *rand.Rand) Sample {
	s := Sample{Rule: f.rule}
	text, fixed := strings.CutSuffix(f.text, "!")
	s.Fixed = fixed
	text = strings.ReplaceAll(text, "{uuid}", "{h8}-{h4}-{h4}-{h4}-{h12}")
	before, rest, marked := strings.Cut(text, "<")
	if !marked {
		before, rest = "", text
	}
	secret, behind, _ := strings.Cut(rest, ">")
	s.Text = expand(r, before)
	s.From = len(s.Text)
	s.Text += expand(r, secret)
	s.To = len(s.Text)
	s.Text += expand(r, behind)
	return s
}

func expand(r *rand.Rand, text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		var field string
		field, text, _ = strings.Cut(rest, "}")
		n, err := strconv.Atoi(field[1:])
		if err != nil {
			panic(fmt.Sprintf("a format has the unknown placeholder {%s}", field))
		}
		b.WriteString(RandomString(r, alphabets[field[0]], n))
	}
}

// RandomString draws n bytes of an alphabet. It uses the whole alphabet before any byte repeats, so that no draw has
// low entropy by chance. It has no dash, plus or slash at an end. Of eight bytes or more, one is a digit if the
// alphabet has any: no detector can separate a word of letters from a name.
func RandomString(r *rand.Rand, alphabet string, n int) string {
	for {
		b := make([]byte, 0, n+len(alphabet))
		for len(b) < n {
			for _, i := range r.Perm(len(alphabet)) {
				b = append(b, alphabet[i])
			}
		}
		s := string(b[:n])
		if lacksDigit := n >= 8 && strings.ContainsAny(alphabet, digitLetters) &&
			!strings.ContainsAny(s, digitLetters); !lacksDigit && strings.Trim(s, "-+/_") == s {
			return s
		}
	}
}
