package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tokenType says what a term is to the word it comes from.
type tokenType uint8

const (
	word        tokenType = iota // a word or a part of an identifier
	identifier                   // an identifier or a part of it that has parts itself
	stem                         // English stem of the word before
	unaccented                   // the word before without accents, prefix or version letter
	bigram                       // two neighbouring characters of a script without spaces
	unigram                      // one character among others of such a script
	loneUnigram                  // one character of such a script that stands alone
	// two words with a dash between them, written as one; the last digits of a phone number
	joined
)

// analyzer walks over text once and emits terms: words folded (NFKC, case),
// beside them their stems and forms without accents or prefix; identifiers whole
// and split; bigrams and characters of scripts without spaces. A term handed to
// emit is valid until emit returns. from and to are where it stands in the text.
type analyzer struct {
	emit          func(term []byte, r tokenType)
	from, to      int
	offsetMap     offsetMap         // not empty where that is the whole chunk: see place
	done          bool              // no more terms are wanted
	onRun         func(text string) // is told of each run of characters in scripts without spaces
	runSpan       [2]int            // where in the run the term stands
	prefilter     *termPrefilter    // with which the ASCII words begin that are wanted; nil wants all
	stemCache     *stemCache        // nil remembers none
	lowerBuf      []byte
	stemBuf       []byte
	unaccentedBuf []byte
}

// maxTermBytes is the length of the longest term in bytes.
const maxTermBytes = 64

func (a *analyzer) analyze(s string) {
	var number phone
	for i := 0; i < len(s) && !a.done; {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if isWordRune(r) {
				i = a.scanToken(s, i)
			} else {
				i += n
			}
		case byteClass[c]&alnum != 0:
			if byteClass[c] == digit && i >= number.to {
				number = phoneAt(s, i)
			}
			if n := a.unwanted(s[i:]); n > 0 {
				i += n
			} else {
				i = a.scanToken(s, i)
			}
			if number.suffix != "" && i >= number.to {
				a.from, a.to = number.last, number.to
				a.emitTerm([]byte(number.suffix), joined)
				number.suffix = ""
			}
		default:
			i++
		}
	}
}

// unwanted is the size of the word that s begins with, if nobody wants it; else zero.
func (a *analyzer) unwanted(s string) int {
	if a.prefilter == nil {
		return 0
	}
	if n := simpleWordLen(s); n > 0 && !a.prefilter.mayMatch(s[:n]) {
		return n
	}
	return 0
}

// Classes of ASCII characters, and wide for all beyond.
const (
	lower = 1 << iota
	upper
	digit
	joiner // joins the parts of an identifier
	nonASCII
	alnum = lower | upper | digit
)

var byteClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = upper
		case '0' <= c && c <= '9':
			t[c] = digit
		case c >= utf8.RuneSelf:
			t[c] = nonASCII
		case strings.ContainsRune("._/-@\\", rune(c)):
			t[c] = joiner
		}
	}
	return t
}()

// scanToken analyzes the run of word characters and single joints that begins at i
// and returns where the text goes on.
func (a *analyzer) scanToken(s string, i int) int {
	j, seen := i, uint8(0)
	for j < len(s) {
		k := byteClass[s[j]]
		n := 1
		if k == nonASCII {
			n = wordRuneLen(s[j:])
		} else if k == joiner && wordRuneLen(s[j+1:]) == 0 || k == 0 {
			n = 0
		}
		if n == 0 || j == i+isoDateLen && endsDateOfDateTime(s, j) {
			break
		}
		seen |= k
		j += n
	}
	if n := languageSuffixLen(s[j:]); n > 0 && j == i+1 && seen&(lower|upper) != 0 {
		a.from, a.to = i, j+n
		a.emitIdentifier(s[i : j+n])
	}
	a.from, a.to = i, j
	switch {
	case seen == lower:
		a.emitASCII(s[i:j])
	case seen&nonASCII != 0 && seen&(digit|joiner) == 0 && a.prefilter != nil && a.prefilter.rejects(s[i:j]):
	case seen&nonASCII != 0:
		a.scanNonASCII(s[i:j])
	default:
		a.splitToken(s[i:j], i > 1 && s[i-1] == '-' && s[i-2] == '-')
	}
	return j + cliticLen(s[j:])
}

// languageSuffixLen is the size of what ends the name of a language of one letter: C#, C++.
func languageSuffixLen(s string) int {
	switch {
	case strings.HasPrefix(s, "#"):
		return 1
	case strings.HasPrefix(s, "++"):
		return 2
	}
	return 0
}

// simpleWordLen is the size of the word that s begins with, in small letters, with a capital or
// in capitals, or of the number; zero where it may be part of something longer.
func simpleWordLen(s string) int {
	kind, j := byteClass[s[0]], 1
	if kind == upper && len(s) > 1 && byteClass[s[1]] == lower {
		kind, j = lower, 2
	}
	for j < len(s) && byteClass[s[j]] == kind {
		j++
	}
	if j == len(s) || byteClass[s[j]] == 0 && s[j] != '\'' || byteClass[s[j]] == joiner && wordRuneLen(s[j+1:]) == 0 {
		return j
	}
	return 0
}

// wordRuneLen is the size of the word character that s begins with and of what is
// unseen before it, or zero.
func wordRuneLen(s string) int {
	if s == "" {
		return 0
	}
	if s[0] < utf8.RuneSelf {
		return int(byteClass[s[0]] & alnum)
	}
	for i, r := range s {
		switch {
		case isWordRune(r):
			return i + utf8.RuneLen(r)
		case !isIgnorable(r):
			return 0
		}
	}
	return 0
}

// cliticLen is the size of an English 's, 't, 're and the like at the start of s.
func cliticLen(s string) int {
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
	for end < len(s) && end < n+3 && byteClass[s[end]]&(lower|upper) != 0 {
		end++
	}
	switch strings.ToLower(s[n:end]) {
	case "s", "t", "m", "d", "re", "ve", "ll":
		return end
	}
	return n
}

// scanNonASCII analyzes a chunk with characters beyond ASCII: normal form first, without
// what is unseen, then each run of one kind of script.
func (a *analyzer) scanNonASCII(s string) {
	n, origin := normalizeNFKC(s), a.from
	if n != s {
		a.offsetMap.source = s
	}
	for i := 0; i < len(n); {
		r, size := utf8.DecodeRuneInString(n[i:])
		unsegmented := isUnsegmented(r)
		if !unsegmented && !isWordRune(r) {
			i += size
			continue
		}
		j := i + runLen(n[i:], unsegmented)
		if unsegmented {
			a.emitBigrams(n[:j], i, origin)
		} else {
			t := strings.TrimRight(n[i:j], "._/-@\\")
			a.setOffsets(origin, i, i+len(t))
			a.splitToken(t, false)
		}
		i = j
	}
	a.offsetMap.reset()
}

// normalizeNFKC is a chunk in normal form, without what is unseen.
func normalizeNFKC(s string) string {
	if isNormalized(s) {
		return s
	}
	return strings.Map(foldRune, norm.NFKC.String(s))
}

// runLen is the size of the run at the start of s: characters of scripts without
// spaces, or words and what joins them.
func runLen(s string, unsegmented bool) int {
	for i, r := range s {
		mark := r >= utf8.RuneSelf && unicode.Is(unicode.M, r)
		switch {
		case i == 0, mark:
		case isUnsegmented(r) != unsegmented:
			return i
		case !unsegmented && !isWordRune(r) && (r >= utf8.RuneSelf || byteClass[r] != joiner):
			return i
		}
	}
	return len(s)
}

// emitBigrams emits each character (with its marks) and each pair of neighbours of the
// chunk s from i on. origin is where the chunk stands in the text.
func (a *analyzer) emitBigrams(s string, i, origin int) {
	single, begin := unigram, i
	if a.onRun != nil {
		a.onRun(s[i:])
	}
	for last := -1; i < len(s); {
		j := i + clusterLen(s[i:])
		if a.prefilter != nil && j < len(s) && a.prefilterRejects(s[i:j]) {
			last, i, single = i, j, unigram
			continue
		}
		a.setOffsets(origin, i, j)
		if last < 0 && j == len(s) {
			single = loneUnigram
		}
		a.runSpan = [2]int{i - begin, j - begin}
		a.lowerBuf = append(a.lowerBuf[:0], s[i:j]...)
		a.emitTerm(a.lowerBuf, single)
		if last >= 0 {
			a.setOffsets(origin, last, j)
			a.runSpan[0] = last - begin
			a.lowerBuf = append(a.lowerBuf[:0], s[last:j]...)
			a.emitTerm(a.lowerBuf, bigram)
		}
		last, i = i, j
	}
}

// prefilterRejects reports a character that no wanted term holds. Where it is one of two
// neighbours, neither is wanted.
func (a *analyzer) prefilterRejects(unit string) bool {
	c, n := utf8.DecodeRuneInString(unit)
	return n == len(unit) && !a.prefilter.mayContain(c)
}

// clusterLen is the size of a character and the marks upon it.
func clusterLen(s string) int {
	for i, r := range s {
		if i > 0 && !unicode.Is(unicode.M, r) {
			return i
		}
	}
	return len(s)
}

// emitWord emits one word without joints.
func (a *analyzer) emitWord(t string) {
	if hasNonASCII(t) {
		a.emitNonASCII(t)
	} else {
		a.emitASCII(t)
	}
}

func hasNonASCII[T string | []byte](t T) bool {
	for i := range len(t) {
		if t[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// emitASCII emits a word of ASCII letters and digits, and its stem.
func (a *analyzer) emitASCII(t string) {
	if a.prefilter != nil && !a.prefilter.mayMatch(t) {
		return
	}
	a.lowerBuf = append(a.lowerBuf[:0], t...)
	alpha := uint8(0)
	for i, c := range a.lowerBuf {
		k := byteClass[c]
		alpha |= k
		if k == upper {
			a.lowerBuf[i] = c | 0x20
		}
	}
	a.emitTerm(a.lowerBuf, word)
	if alpha&^(lower|upper) == 0 {
		a.emitStem(a.lowerBuf)
	}
}

// emitStem emits the stem of a word of ASCII letters if it is another word.
func (a *analyzer) emitStem(t []byte) {
	if root := a.stemOf(t); string(root) != string(t) {
		a.emitTerm(root, stem)
	}
}

// stemOf is the stem of a word of ASCII letters.
func (a *analyzer) stemOf(t []byte) []byte {
	switch {
	case len(t) < 3 || len(t) > maxTermBytes/2:
		return t
	case a.stemCache != nil && len(t) <= maxCachedStem:
		return a.stemCache.stem(t)
	}
	a.stemBuf = porter(append(a.stemBuf[:0], t...))
	return a.stemBuf
}

// emitNonASCII emits a word beyond ASCII, and beside it the word without accents, and
// without its prefix.
func (a *analyzer) emitNonASCII(t string) {
	var changed, ascii bool
	a.lowerBuf = foldCase(a.lowerBuf[:0], t)
	// before a long word is shortened in its place
	a.unaccentedBuf, changed, ascii = unaccent(a.unaccentedBuf[:0], a.lowerBuf)
	a.emitTerm(a.lowerBuf, word)
	rest := stripPrefix(a.unaccentedBuf)
	if changed && len(a.unaccentedBuf) > 0 {
		a.emitTerm(a.unaccentedBuf, unaccented)
		if ascii {
			a.emitStem(a.unaccentedBuf)
		}
	}
	if rest != nil {
		a.emitTerm(rest, unaccented)
	}
}

func (a *analyzer) emitTerm(term []byte, r tokenType) {
	if len(term) > maxTermBytes {
		term = truncateTerm(term)
	}
	a.emit(term, r)
}

// truncateTerm keeps the beginning of a long term and names the rest by its FNV-1a
// hash, so that equal terms stay equal and others differ.
func truncateTerm(t []byte) []byte {
	hash := uint64(fnvOffset)
	for _, c := range t {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	n := maxTermBytes - 16
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
