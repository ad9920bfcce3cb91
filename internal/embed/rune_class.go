package embed

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// runeKind is the kind of a character for the tokenizer.
type runeKind uint8

const (
	kindLetter     runeKind = iota // part of a word
	kindDropped                    // removed
	kindSpace                      // separates words
	kindSingle                     // a word of its own
	kindDecomposed                 // several letters, which decompose returns
)

// A runeClass is a normalized character and its kind. A decomposed one is not normalized yet.
type runeClass struct {
	rune rune
	kind runeKind
}

// classify returns the class of a character. The order matters: tab and line ends are white space and control
// characters. Other control characters that are white space too are dropped.
func classify(r rune) runeClass {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return runeClass{' ', kindSpace}
	case r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF:
		return runeClass{r, kindSingle}
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return runeClass{r, kindDropped}
	case unicode.IsSpace(r):
		return runeClass{' ', kindSpace}
	}
	parts, n := decompose(r)
	switch {
	case n == 0:
		return runeClass{r, kindDropped}
	case n > 1:
		return runeClass{r, kindDecomposed}
	case isHan(r) || isPunctuation(parts[0]):
		return runeClass{parts[0], kindSingle}
	}
	return runeClass{parts[0], kindLetter}
}

// isHan reports whether r is a Han character beyond the two large blocks, and a word of its own. The ranges are the
// tokenizer's, with its hole from U+2B820.
func isHan(r rune) bool {
	return r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F ||
		r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}

// isPunctuation reports whether r is Unicode's punctuation or a symbol of ASCII.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || r < utf8.RuneSelf && unicode.IsSymbol(r)
}

// decompose returns the canonical decomposition of a character in lower case, without nonspacing marks: the first n of
// parts. Other marks are not put in canonical order, because the vocabulary has none of a class other than zero.
func decompose(r rune) (parts [4]rune, n int) {
	if r < utf8.RuneSelf {
		return [4]rune{unicode.ToLower(r)}, 1
	}
	var room [64]byte
	from := norm.NFD.AppendString(room[:0], string(r))
	for len(from) > 0 {
		r, size := utf8.DecodeRune(from)
		if !unicode.Is(unicode.Mn, r) {
			parts[n] = unicode.ToLower(r)
			n++
		}
		from = from[size:]
	}
	return parts, n
}
