package search

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// roots tell with what the words of a text begin that can be terms of a query, so that
// a reading passes over all others.
type roots struct {
	by     [utf8.RuneSelf][]string  // the beginnings of words in ASCII letters, by their first byte,
	pairs  [utf8.RuneSelf][2]uint64 // and the second bytes of these
	starts [64]uint64               // the first two characters of any word, those of different ones together
	wide   [64]uint64               // all characters beyond ASCII, likewise
}

// A stem differs from its word in its last two letters at most (conflating,
// conflate). What comes late in a long term does not matter.
const (
	stemChanges = 2
	longestRoot = 12
)

// add wants a term.
func (r *roots) add(term string) {
	for _, c := range term {
		if c >= utf8.RuneSelf {
			r.wide[c/64%64] |= 1 << (c % 64)
		}
	}
	r.start(term)
	r.allow(term[:max(1, len(term)-stemChanges)])
}

// addFamily wants all that begins with a prefix, of two characters at least.
func (r *roots) addFamily(prefix string) {
	r.start(prefix)
	r.allow(prefix)
}

func (r *roots) start(term string) {
	a, n := utf8.DecodeRuneInString(term)
	b, _ := utf8.DecodeRuneInString(term[n:])
	i := slotOf(a, b)
	r.starts[i/64] |= 1 << (i % 64)
}

func slotOf(a, b rune) uint32 { return (uint32(a)*67 + uint32(b)) % 4096 }

func (r *roots) starting(a, b rune) bool {
	i := slotOf(a, b)
	return r.starts[i/64]>>(i%64)&1 == 1
}

// allow wants the words of ASCII letters that begin so.
func (r *roots) allow(root string) {
	root = root[:min(len(root), longestRoot)]
	switch {
	case beyondASCII(root[:min(len(root), 2)]):
		return
	case len(root) == 1:
		r.pairs[root[0]] = [2]uint64{^uint64(0), ^uint64(0)}
	default:
		r.pairs[root[0]][root[1]/64] |= 1 << (root[1] % 64)
	}
	r.by[root[0]] = append(r.by[root[0]], root)
}

// want reports whether a word of ASCII letters, or a number, can be a term.
func (r *roots) want(word string) bool {
	first := fold(word[0])
	if len(word) > 1 {
		if second := fold(word[1]); r.pairs[first][second/64]>>(second%64)&1 == 0 {
			return false
		}
	}
	for _, root := range r.by[first] {
		if len(word) >= len(root) && strings.EqualFold(word[:len(root)], root) {
			return true
		}
	}
	return false
}

// fold is an ASCII letter in lower case.
func fold(c byte) byte { return c | class[c]&upper<<4 }

// knows reports whether a term may hold a character beyond ASCII.
func (r *roots) knows(c rune) bool { return r.wide[c/64%64]>>(c%64)&1 == 1 }

// leastSkipped is how many letters a word has whose stem begins with the same two.
const leastSkipped = 5

// skips reports a word of letters of which normalization changes none, and which
// begins as no term does. A mark may change the letter before it.
func (r *roots) skips(word string) bool {
	var low, bare [2]rune
	letters, n, latin := plainLetters(), 0, false
	for i, c := range word {
		if c >= plainLimit {
			return false
		}
		x := letters[c]
		switch {
		case !x.stays, n == 0 && x.prefix, n < 2 && x.low == 0, n == 2 && x.mark, i > 0 && 'A' <= c && c <= 'Z':
			return false
		case n < 2:
			low[n], bare[n] = x.low, x.bare
			latin = latin || c < firstPlain
		}
		n++
	}
	if n < 2 || latin && n < leastSkipped {
		return false
	}
	return !r.starting(low[0], low[1]) && !r.starting(bare[0], bare[1])
}

// isPlain reports letters alone of which normalization changes none.
func isPlain(s string) bool {
	letters := plainLetters()
	for _, c := range s {
		if c >= plainLimit || !letters[c].stays || letters[c].mark {
			return false
		}
	}
	return true
}

// Scripts beyond those in Latin letters, as far as Georgian.
const (
	firstPlain = 0x370
	plainLimit = 0x1100
)

// A plainLetter is what a letter is in lower case, and without its accents: zero
// where that is more than one letter.
type plainLetter struct {
	low, bare   rune
	stays, mark bool // a letter or a mark that normalization does not change; a mark
	prefix      bool // a prefix may begin with it, behind which the word is another one
}

var plainLetters = sync.OnceValue(func() *[plainLimit]plainLetter {
	var t [plainLimit]plainLetter
	for c := range rune(plainLimit) {
		x, s := &t[c], string(c)
		x.mark = unicode.Is(unicode.M, c)
		x.stays = (x.mark || unicode.IsLetter(c)) && isWord(c) && !isDense(c) && norm.NFKC.String(s) == s
		low := string(foldCase(nil, s))
		one, size := utf8.DecodeRuneInString(low)
		bare := bareForm(one)
		if !x.mark && size == len(low) && utf8.RuneCountInString(bare) == 1 {
			x.low = one
			x.bare, _ = utf8.DecodeRuneInString(bare)
			x.prefix = strings.ContainsRune(arabicPrefix+hebrewPrefix, x.bare)
		}
	}
	return &t
})
