package secret

import (
	"math"
	"slices"
	"strings"
)

// A class is a set of bytes, one bit of classes.
type class uint32

const (
	digit      class = 1 << iota
	hex              // 0-9 a-f
	hexAnyCase       // hex of both cases
	lowerAlnum       // 0-9 a-z
	upperAlnum       // 0-9 A-Z
	b32              // A-Z 2-7
	bech32           // the alphabet of Bech32, capitals
	alpha            // letters
	alnum            // letters and digits
	digitsAToH       // 0-9 and a-h of both cases, as some providers write
	word             // alnum and _
	dash             // word and -
	eq               // dash and =
	dot              // eq and .
	tilde            // dash and . ~
	b64              // alnum and + /
	b64all           // b64 and = _ -
	percent          // alnum and %
	blank            // white space
)

var classNames = map[string]class{
	"digit": digit, "hex": hex, "Hex": hexAnyCase, "low": lowerAlnum, "up": upperAlnum, "b32": b32, "bech": bech32,
	"alpha": alpha, "alnum": alnum,
	"toH": digitsAToH, "word": word, "dash": dash, "eq": eq, "dot": dot, "tilde": tilde, "b64": b64, "b64all": b64all,
	"percent": percent,
}

var classes = func() (t [256]class) {
	add := func(c class, sets ...string) {
		for _, b := range []byte(strings.Join(sets, "")) {
			t[b] |= c
		}
	}
	const digits, small = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	capitals := strings.ToUpper(small)
	add(digit, digits)
	add(hex, digits, "abcdef")
	add(hexAnyCase, digits, "abcdefABCDEF")
	add(lowerAlnum, digits, small)
	add(upperAlnum, digits, capitals)
	add(b32, "234567", capitals)
	add(bech32, strings.ToUpper("qpzry9x8gf2tvdw0s3jn54khce6mua7l"))
	add(alpha, small, capitals)
	add(digitsAToH, digits, "abcdefghABCDEFGH")
	add(alnum|word|dash|eq|dot|tilde|b64|b64all|percent, digits, small, capitals)
	add(word|dash|eq|dot|tilde|b64all, "_")
	add(dash|eq|dot|tilde|b64all, "-")
	add(eq|dot|b64all, "=")
	add(dot|tilde, ".")
	add(tilde, "~")
	add(b64|b64all, "+/")
	add(percent, "%")
	add(blank, " \t\r\n\v\f")
	return t
}()

// readBytes counts the bytes of runs that are read, for a test of linear time. It is nil otherwise.
var readBytes *int

// runEnd returns the end of the run of bytes of a class that begins at i, before end.
func runEnd(text string, c class, i, end int) int {
	from := i
	for i < end && classes[text[i]]&c != 0 {
		i++
	}
	if readBytes != nil {
		*readBytes += i - from
	}
	return i
}

// isTokenStart reports whether a token may begin at i. No letter or digit precedes it, unless it ends an escape (\n,
// \u003d, %3D).
func isTokenStart(text string, i int) bool {
	return i == 0 || classes[text[i-1]]&alnum == 0 || endsWithEscape(text[:i])
}

// minBase64Run is the least length of a run of base64 that is no word or path. minBase64Capitals is the least number of
// capitals in it.
const minBase64Run, minBase64Capitals = 20, 3

// base64RunStart returns the place that a secret to the left must reach if the text ends in a run of base64, or 0
// without such a run. A short prefix occurs in a long run by chance.
func base64RunStart(text string, c class) (needs int) {
	length, capitals := 0, 0
	for i := len(text) - 1; i >= 0 && classes[text[i]]&c != 0 && length < 2*minBase64Run; i-- {
		length++
		if classes[text[i]]&(upperAlnum|digit) == upperAlnum {
			capitals++
		}
		if capitals >= minBase64Capitals && length >= minBase64Run {
			return i + 1
		}
	}
	return 0
}

// startsBase64Run reports whether a long run of base64 starts the text.
func startsBase64Run(text string) bool {
	start := text[:runEnd(text, b64, 0, min(len(text), 2*minBase64Run))]
	return len(start) >= minBase64Run && countBytes(start, upperAlnum)-countBytes(start, digit) >= minBase64Capitals
}

// endsWithEscape reports whether an escape of JSON, of C or of a URL ends the text.
func endsWithEscape(text string) bool {
	n := len(text)
	switch {
	case n >= 2 && text[n-2] == '\\':
		return strings.IndexByte("nrt", text[n-1]) >= 0
	case n >= 3 && text[n-3] == '%':
		return runEnd(text, hexAnyCase, n-2, n) == n
	case n >= 6 && text[n-6] == '\\' && text[n-5] == 'u':
		return runEnd(text, hexAnyCase, n-4, n) == n
	}
	return false
}

// isTokenEnd reports whether a token of the class ends before i. Its alphabet ends there, or a sequence of marks of the
// text does: _, **, -, three dots.
func isTokenEnd(text string, c class, i, end int) bool {
	const maximum = 8
	if i >= end || classes[text[i]]&c == 0 {
		return true
	}
	n := i
	for limit := min(end, i+maximum); n < limit && strings.IndexByte(punctuationMarks, text[n]) >= 0; {
		n++
	}
	return n > i && (n == end || classes[text[n]]&alnum == 0)
}

// punctuationMarks separate words of a text, and may occur in a token too.
const punctuationMarks = "_-.~"

// trimMarks removes marks of the text from the end of a token without a fixed length. These are dots, and as many _ as
// precede the token.
func trimMarks(text string, from, to int) int {
	for to > from && text[to-1] == '.' {
		to--
	}
	for before := from; to > from && before > 0 && text[before-1] == '_' && text[to-1] == '_'; {
		before, to = before-1, to-1
	}
	return to
}

// entropySample bounds the work on one token; a longer token is random throughout.
const entropySample = 256

// entropy returns the Shannon entropy of the first bytes of a text, in bits a byte.
func entropy(text string) float64 {
	text = text[:min(len(text), entropySample)]
	var counts [256]uint16
	for i := range len(text) {
		counts[text[i]]++
	}
	n, sum := float64(len(text)), 0.
	for _, count := range counts {
		if count > 0 {
			sum -= float64(count) * math.Log2(float64(count)/n)
		}
	}
	return sum / max(n, 1)
}

// placeholders are pieces of texts that replace a credential in documentation.
// Each is too long to occur in a random token.
var placeholders = []string{"example", "placeholder", "changeme", "redacted", "your-", "your_", "xxxxx", "abcdefghij",
	"0123456789", "1234567890", "..."}

// isPlaceholder reports whether a text is a placeholder for a credential.
func isPlaceholder(text string) bool {
	text = strings.ToLower(text[:min(len(text), entropySample)])
	return containsAny(text, placeholders) || strings.Count(text, text[:1]) == len(text)
}

// hasPrefixFold reports whether the text at i begins with a lower-case word, in any letter case.
func hasPrefixFold(text string, i int, small string) bool {
	end := i + len(small)
	return end <= len(text) && strings.EqualFold(text[i:end], small)
}

// containsAny reports whether a text contains one of the pieces.
func containsAny(text string, pieces []string) bool {
	return slices.ContainsFunc(pieces, func(piece string) bool { return strings.Contains(text, piece) })
}
