package analysis

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// TermPrefilter holds the starts of words that can be terms of a query, so that the analyzer skips all others.
type TermPrefilter struct {
	prefixes      [utf8.RuneSelf][]string  // prefixes of words in ASCII letters, by their first byte
	secondBytes   [utf8.RuneSelf][2]uint64 // the second bytes of prefixes, by the first, as bits
	firstTwoRunes [64]uint64               // the first two characters of any word, as bits of a hash
	nonASCIIRunes [64]uint64               // all characters beyond ASCII, likewise
}

// A stem without its last MaxStemChange letters is a prefix of its word (possibly, possibl). Only the first
// maxPrefixBytes bytes of a wanted term are compared.
const (
	MaxStemChange  = 2
	maxPrefixBytes = 12
)

// AddTerm adds a wanted term.
func (f *TermPrefilter) AddTerm(term string) {
	for _, c := range term {
		if c >= utf8.RuneSelf {
			f.nonASCIIRunes[c/64%64] |= 1 << (c % 64)
		}
	}
	f.addFirstTwoRunes(term)
	f.addASCIIPrefix(term[:max(1, len(term)-MaxStemChange)])
}

// AddPrefix adds a wanted prefix of at least two characters.
func (f *TermPrefilter) AddPrefix(prefix string) {
	f.addFirstTwoRunes(prefix)
	f.addASCIIPrefix(prefix)
}

func (f *TermPrefilter) addFirstTwoRunes(term string) {
	a, n := utf8.DecodeRuneInString(term)
	b, _ := utf8.DecodeRuneInString(term[n:])
	i := bloomSlot(a, b)
	f.firstTwoRunes[i/64] |= 1 << (i % 64)
}

func bloomSlot(a, b rune) uint32 { return (uint32(a)*67 + uint32(b)) % 4096 }

func (f *TermPrefilter) mayStartWith(a, b rune) bool {
	i := bloomSlot(a, b)
	return f.firstTwoRunes[i/64]>>(i%64)&1 == 1
}

// addASCIIPrefix adds a wanted prefix of ASCII letters.
func (f *TermPrefilter) addASCIIPrefix(root string) {
	root = root[:min(len(root), maxPrefixBytes)]
	switch {
	case HasNonASCII(root[:min(len(root), 2)]):
		return
	case len(root) == 1:
		f.secondBytes[root[0]] = [2]uint64{^uint64(0), ^uint64(0)}
	default:
		f.secondBytes[root[0]][root[1]/64] |= 1 << (root[1] % 64)
	}
	f.prefixes[root[0]] = append(f.prefixes[root[0]], root)
}

// mayMatch reports whether a word of ASCII letters, or a number, can be a term.
func (f *TermPrefilter) mayMatch(word string) bool {
	first := lowerASCII(word[0])
	if len(word) > 1 {
		if second := lowerASCII(word[1]); f.secondBytes[first][second/64]>>(second%64)&1 == 0 {
			return false
		}
	}
	for _, root := range f.prefixes[first] {
		if len(word) >= len(root) && strings.EqualFold(word[:len(root)], root) {
			return true
		}
	}
	return false
}

// lowerASCII returns an ASCII letter in lower case.
func lowerASCII(c byte) byte { return c | byteClass[c]&Upper<<4 }

// mayContain reports whether a term may contain a character beyond ASCII.
func (f *TermPrefilter) mayContain(c rune) bool { return f.nonASCIIRunes[c/64%64]>>(c%64)&1 == 1 }

// minRejectedLetters is the least length of a word whose stem begins with the same two letters.
const minRejectedLetters = 5

// rejects reports whether a word has only letters that normalization does not change, and begins as no wanted term
// does. A mark may change the letter before it.
func (f *TermPrefilter) rejects(word string) bool {
	var low, unaccented [2]rune
	letters, n, latin := letterForms(), 0, false
	for i, c := range word {
		if c >= letterTableLimit {
			return false
		}
		x := letters[c]
		switch {
		case !x.stable, n == 0 && x.mayBePrefix, n < 2 && x.lower == 0, n == 2 && x.mark, i > 0 && 'A' <= c && c <= 'Z':
			return false
		case n < 2:
			low[n], unaccented[n] = x.lower, x.unaccented
			latin = latin || c < firstNonLatin
		}
		n++
	}
	if n < 2 || latin && n < minRejectedLetters {
		return false
	}
	return !f.mayStartWith(low[0], low[1]) && !f.mayStartWith(unaccented[0], unaccented[1])
}

// isNormalized reports whether s has only letters that normalization does not change.
func isNormalized(s string) bool {
	letters := letterForms()
	for _, c := range s {
		if c >= letterTableLimit || !letters[c].stable || letters[c].mark {
			return false
		}
	}
	return true
}

// Scripts beyond Latin, up to Georgian.
const (
	firstNonLatin    = 0x370
	letterTableLimit = 0x1100
)

// A letterForm holds a letter in lower case, and the letter without its accents. The latter is 0 for several letters.
type letterForm struct {
	lower, unaccented rune
	stable, mark      bool // a letter or a mark that normalization does not change; a mark
	mayBePrefix       bool // a prefix may begin with it, after which the word is another one
}

var letterForms = sync.OnceValue(func() *[letterTableLimit]letterForm {
	var t [letterTableLimit]letterForm
	for c := range rune(letterTableLimit) {
		x, s := &t[c], string(c)
		x.mark = unicode.Is(unicode.M, c)
		x.stable = (x.mark || unicode.IsLetter(c)) && IsWordRune(c) && !IsUnsegmented(c) && norm.NFKC.String(s) == s
		low := string(FoldCase(nil, s))
		one, size := utf8.DecodeRuneInString(low)
		unaccented := unaccentedForm(one)
		if !x.mark && size == len(low) && utf8.RuneCountInString(unaccented) == 1 {
			x.lower = one
			x.unaccented, _ = utf8.DecodeRuneInString(unaccented)
			x.mayBePrefix = strings.ContainsRune(arabicPrefixLetters+hebrewPrefixLetters, x.unaccented)
		}
	}
	return &t
})
