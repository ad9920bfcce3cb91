package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// role says what a term is to the word it comes from.
type role uint8

const (
	word   role = iota // a word or a part of an identifier
	whole              // an identifier or a part of it that has parts itself
	stem               // English stem of the word before
	plain              // the word before without accents, prefix or version letter
	gram               // two neighbouring characters of a script without spaces
	letter             // one character among others of such a script
	lone               // one character of such a script that stands alone
	united             // two words with a dash between them, written as one; the last digits of a phone number
)

// analyzer walks over text once and emits terms: words folded (NFKC, case),
// beside them their stems and forms without accents or prefix; identifiers whole
// and split; bigrams and characters of scripts without spaces. A term handed to
// emit is valid until emit returns. from and to are where it stands in the text.
type analyzer struct {
	emit     func(term []byte, r role)
	from, to int
	moved    moved             // not empty where that is the whole chunk: see place
	stop     bool              // no more terms are wanted
	run      func(text string) // is told of each run of characters in scripts without spaces
	part     [2]int            // where in the run the term stands
	roots    *roots            // with which the ASCII words begin that are wanted; nil wants all
	stems    *stems            // nil remembers none
	low      []byte
	stem     []byte
	bare     []byte
}

// maxTerm is the length of the longest term in bytes.
const maxTerm = 64

func (a *analyzer) analyze(s string) {
	var number phone
	for i := 0; i < len(s) && !a.stop; {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if isWord(r) {
				i = a.chunk(s, i)
			} else {
				i += n
			}
		case class[c]&alnum != 0:
			if class[c] == digit && i >= number.to {
				number = phoneAt(s, i)
			}
			if n := a.unwanted(s[i:]); n > 0 {
				i += n
			} else {
				i = a.chunk(s, i)
			}
			if number.suffix != "" && i >= number.to {
				a.from, a.to = number.last, number.to
				a.put([]byte(number.suffix), united)
				number.suffix = ""
			}
		default:
			i++
		}
	}
}

// unwanted is the size of the word that s begins with, if nobody wants it; else zero.
func (a *analyzer) unwanted(s string) int {
	if a.roots == nil {
		return 0
	}
	if n := simple(s); n > 0 && !a.roots.want(s[:n]) {
		return n
	}
	return 0
}

// Classes of ASCII characters, and wide for all beyond.
const (
	lower = 1 << iota
	upper
	digit
	joint // joins the parts of an identifier
	wide
	alnum = lower | upper | digit
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = upper
		case '0' <= c && c <= '9':
			t[c] = digit
		case c >= utf8.RuneSelf:
			t[c] = wide
		case strings.ContainsRune("._/-@\\", rune(c)):
			t[c] = joint
		}
	}
	return t
}()

// chunk analyzes the run of word characters and single joints that begins at i
// and returns where the text goes on.
func (a *analyzer) chunk(s string, i int) int {
	j, seen := i, uint8(0)
	for j < len(s) {
		k := class[s[j]]
		n := 1
		if k == wide {
			n = wordSize(s[j:])
		} else if k == joint && wordSize(s[j+1:]) == 0 || k == 0 {
			n = 0
		}
		if n == 0 || j == i+daySize && timed(s, j) {
			break
		}
		seen |= k
		j += n
	}
	if n := sharp(s[j:]); n > 0 && j == i+1 && seen&(lower|upper) != 0 {
		a.from, a.to = i, j+n
		a.whole(s[i : j+n])
	}
	a.from, a.to = i, j
	switch {
	case seen == lower:
		a.ascii(s[i:j])
	case seen&wide != 0 && seen&(digit|joint) == 0 && a.roots != nil && a.roots.skips(s[i:j]):
	case seen&wide != 0:
		a.mixed(s[i:j])
	default:
		a.token(s[i:j], i > 1 && s[i-1] == '-' && s[i-2] == '-')
	}
	return j + clitic(s[j:])
}

// sharp is the size of what ends the name of a language of one letter: C#, C++.
func sharp(s string) int {
	switch {
	case strings.HasPrefix(s, "#"):
		return 1
	case strings.HasPrefix(s, "++"):
		return 2
	}
	return 0
}

// simple is the size of the word that s begins with, in small letters, with a capital or
// in capitals, or of the number; zero where it may be part of something longer.
func simple(s string) int {
	kind, j := class[s[0]], 1
	if kind == upper && len(s) > 1 && class[s[1]] == lower {
		kind, j = lower, 2
	}
	for j < len(s) && class[s[j]] == kind {
		j++
	}
	if j == len(s) || class[s[j]] == 0 && s[j] != '\'' || class[s[j]] == joint && wordSize(s[j+1:]) == 0 {
		return j
	}
	return 0
}

// wordSize is the size of the word character that s begins with and of what is
// unseen before it, or zero.
func wordSize(s string) int {
	if s == "" {
		return 0
	}
	if s[0] < utf8.RuneSelf {
		return int(class[s[0]] & alnum)
	}
	for i, r := range s {
		switch {
		case isWord(r):
			return i + utf8.RuneLen(r)
		case !unseen(r):
			return 0
		}
	}
	return 0
}

// clitic is the size of an English 's, 't, 're and the like at the start of s.
func clitic(s string) int {
	n := 0
	switch {
	case strings.HasPrefix(s, "'"):
		n = 1
	case strings.HasPrefix(s, "’"):
		n = len("’")
	case strings.HasPrefix(s, string(apostrophe)):
		n = len(string(apostrophe))
	default:
		return 0
	}
	end := n
	for end < len(s) && end < n+3 && class[s[end]]&(lower|upper) != 0 {
		end++
	}
	switch strings.ToLower(s[n:end]) {
	case "s", "t", "m", "d", "re", "ve", "ll":
		return end
	}
	return n
}

// mixed analyzes a chunk with characters beyond ASCII: normal form first, without
// what is unseen, then each run of one kind of script.
func (a *analyzer) mixed(s string) {
	n, origin := normal(s), a.from
	if n != s {
		a.moved.text = s
	}
	for i := 0; i < len(n); {
		r, size := utf8.DecodeRuneInString(n[i:])
		dense := isDense(r)
		if !dense && !isWord(r) {
			i += size
			continue
		}
		j := i + runOf(n[i:], dense)
		if dense {
			a.grams(n[:j], i, origin)
		} else {
			t := strings.TrimRight(n[i:j], "._/-@\\")
			a.stand(origin, i, i+len(t))
			a.token(t, false)
		}
		i = j
	}
	a.moved.forget()
}

// normal is a chunk in normal form, without what is unseen.
func normal(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(seen, norm.NFKC.String(s))
}

// runOf is the size of the run at the start of s: characters of scripts without
// spaces, or words and what joins them.
func runOf(s string, dense bool) int {
	for i, r := range s {
		mark := r >= utf8.RuneSelf && unicode.Is(unicode.M, r)
		switch {
		case i == 0, mark:
		case isDense(r) != dense:
			return i
		case !dense && !isWord(r) && (r >= utf8.RuneSelf || class[r] != joint):
			return i
		}
	}
	return len(s)
}

// grams emits each character (with its marks) and each pair of neighbours of the
// chunk s from i on. origin is where the chunk stands in the text.
func (a *analyzer) grams(s string, i, origin int) {
	single, begin := letter, i
	if a.run != nil {
		a.run(s[i:])
	}
	for last := -1; i < len(s); {
		j := i + unit(s[i:])
		if a.roots != nil && j < len(s) && a.strange(s[i:j]) {
			last, i, single = i, j, letter
			continue
		}
		a.stand(origin, i, j)
		if last < 0 && j == len(s) {
			single = lone
		}
		a.part = [2]int{i - begin, j - begin}
		a.low = append(a.low[:0], s[i:j]...)
		a.put(a.low, single)
		if last >= 0 {
			a.stand(origin, last, j)
			a.part[0] = last - begin
			a.low = append(a.low[:0], s[last:j]...)
			a.put(a.low, gram)
		}
		last, i = i, j
	}
}

// strange reports a character that no wanted term holds. Where it is one of two
// neighbours, neither is wanted.
func (a *analyzer) strange(unit string) bool {
	c, n := utf8.DecodeRuneInString(unit)
	return n == len(unit) && !a.roots.knows(c)
}

// unit is the size of a character and the marks upon it.
func unit(s string) int {
	for i, r := range s {
		if i > 0 && !unicode.Is(unicode.M, r) {
			return i
		}
	}
	return len(s)
}

// word emits one word without joints.
func (a *analyzer) word(t string) {
	if beyondASCII(t) {
		a.foreign(t)
	} else {
		a.ascii(t)
	}
}

func beyondASCII[T string | []byte](t T) bool {
	for i := range len(t) {
		if t[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// ascii emits a word of ASCII letters and digits, and its stem.
func (a *analyzer) ascii(t string) {
	if a.roots != nil && !a.roots.want(t) {
		return
	}
	a.low = append(a.low[:0], t...)
	alpha := uint8(0)
	for i, c := range a.low {
		k := class[c]
		alpha |= k
		if k == upper {
			a.low[i] = c | 0x20
		}
	}
	a.put(a.low, word)
	if alpha&^(lower|upper) == 0 {
		a.english(a.low)
	}
}

// english emits the stem of a word of ASCII letters if it is another word.
func (a *analyzer) english(t []byte) {
	if root := a.root(t); string(root) != string(t) {
		a.put(root, stem)
	}
}

// root is the stem of a word of ASCII letters.
func (a *analyzer) root(t []byte) []byte {
	switch {
	case len(t) < 3 || len(t) > maxTerm/2:
		return t
	case a.stems != nil && len(t) <= maxStemmed:
		return a.stems.of(t)
	}
	a.stem = porter(append(a.stem[:0], t...))
	return a.stem
}

// foreign emits a word beyond ASCII, and beside it the word without accents, and
// without its prefix.
func (a *analyzer) foreign(t string) {
	var changed, ascii bool
	a.low = foldCase(a.low[:0], t)
	a.bare, changed, ascii = unaccent(a.bare[:0], a.low) // before a long word is shortened in its place
	a.put(a.low, word)
	rest := afterPrefix(a.bare)
	if changed && len(a.bare) > 0 {
		a.put(a.bare, plain)
		if ascii {
			a.english(a.bare)
		}
	}
	if rest != nil {
		a.put(rest, plain)
	}
}

func (a *analyzer) put(term []byte, r role) {
	if len(term) > maxTerm {
		term = shorten(term)
	}
	a.emit(term, r)
}

// shorten keeps the beginning of a long term and names the rest by its FNV-1a
// hash, so that equal terms stay equal and others differ.
func shorten(t []byte) []byte {
	hash := uint64(fnvStart)
	for _, c := range t {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	n := maxTerm - 16
	for !utf8.RuneStart(t[n]) {
		n--
	}
	t = t[:n]
	for range 16 {
		t = append(t, "0123456789abcdef"[hash>>60])
		hash <<= 4
	}
	return t
}
