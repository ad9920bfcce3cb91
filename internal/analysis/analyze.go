package analysis

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// TokenType is the relation of a term to the word that it is derived from.
type TokenType uint8

const (
	Word        TokenType = iota // a word or a part of an identifier
	Identifier                   // an identifier, or a part of it with parts of its own
	Stem                         // English stem of the word before
	Variant                      // the word before without accents, prefix or version letter; the start of a hash
	Bigram                       // two adjacent characters of a script without spaces
	Unigram                      // one character among others of such a script
	LoneUnigram                  // a single character between separators
	// two words with a dash between them, written as one; the last digits of a phone number
	Joined
)

// Analyzer reads a text once and emits its terms. These are words in NFKC and lower case, with their stems and their
// forms without accents or prefix. Identifiers are emitted whole and split, scripts without spaces as bigrams and
// characters. A term is valid until Emit returns. from and to are its byte offsets in the text.
type Analyzer struct {
	Emit          func(term []byte, r TokenType)
	from, to      int
	offsetMap     OffsetMap         // of the current token; its source is empty if normalization keeps the token
	done          bool              // set by Stop
	MaxGrowth     int               // bytes that normalization may add before Analyze stops; 0 is no bound
	growth        int               // that it has added
	MaxNormal     int               // bytes of the normal form behind which Analyze stops; 0 is no bound
	OnRun         func(text string) // is called with each run of characters in scripts without spaces
	runSpan       [2]int            // byte range of the term in the run
	Prefilter     *TermPrefilter    // skips words and characters that cannot be wanted; nil skips none
	Stems         StemCache         // nil caches none
	lowerBuf      []byte
	stemBuf       []byte
	unaccentedBuf []byte
}

// MaxTermBytes is the length of the longest term in bytes.
const MaxTermBytes = 64

// Analyze emits the terms of a text.
func (a *Analyzer) Analyze(s string) {
	a.done, a.growth = false, 0
	var number phone
	for i := 0; i < len(s) && !a.done; {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if IsWordRune(r) {
				i = a.scanToken(s, i)
			} else {
				i += n
			}
		case byteClass[c]&Alnum != 0:
			if byteClass[c] == Digit && i >= number.to {
				number = phoneAt(s, i)
			}
			if n := a.unwanted(s[i:]); n > 0 {
				i += n
			} else {
				i = a.scanToken(s, i)
			}
			if number.suffix != "" && i >= number.to {
				a.from, a.to = number.last, number.to
				a.emitTerm([]byte(number.suffix), Joined)
				number.suffix = ""
			}
		default:
			i++
		}
	}
}

// Stop ends Analyze after the current token, or after some KiB of it. The remaining terms of these are still emitted.
func (a *Analyzer) Stop() { a.done = true }

// Span returns the byte range of the current term in the text. It is that of the whole token if normalization changed
// the token; SourceOffsets is exact then.
func (a *Analyzer) Span() (from, to int) { return a.from, a.to }

// RunSpan returns the byte range of the current term in its run of an unsegmented script.
func (a *Analyzer) RunSpan() [2]int { return a.runSpan }

// unwanted returns the size of the word at the start of s if the prefilter rejects it, else 0.
func (a *Analyzer) unwanted(s string) int {
	if a.Prefilter == nil {
		return 0
	}
	if n := simpleWordLen(s); n > 0 && !a.Prefilter.mayMatch(s[:n]) {
		return n
	}
	return 0
}

// Classes of bytes. Those beyond ASCII have the class NonASCII.
const (
	lower = 1 << iota
	Upper
	Digit
	joiner // joins the parts of an identifier
	NonASCII
	Alnum = lower | Upper | Digit
)

var byteClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = Upper
		case '0' <= c && c <= '9':
			t[c] = Digit
		case c >= utf8.RuneSelf:
			t[c] = NonASCII
		case strings.ContainsRune("._/-@\\", rune(c)):
			t[c] = joiner
		}
	}
	return t
}()

// ClassOf returns the class of a byte.
func ClassOf(c byte) uint8 { return byteClass[c] }

// scanToken analyzes the token that begins at i, and returns its end. A token is a run of word characters with single
// joiners between them. The day of an ISO 8601 time ends a token. A token of one letter may have the suffix of a
// programming language, and any token a clitic. The clitic is skipped.
func (a *Analyzer) scanToken(s string, i int) int {
	j, seen := i, uint8(0)
	for j < len(s) {
		k := byteClass[s[j]]
		n := 1
		if k == NonASCII {
			n = wordRuneLen(s[j:])
		} else if k == joiner && wordRuneLen(s[j+1:]) == 0 || k == 0 {
			n = 0
		}
		if n == 0 || j == i+isoDateLen && EndsDateOfDateTime(s, j) {
			break
		}
		seen |= k
		j += n
	}
	if n := languageSuffixLen(s[j:]); n > 0 && j == i+1 && seen&(lower|Upper) != 0 {
		a.from, a.to = i, j+n
		a.emitIdentifier(s[i : j+n])
	}
	a.from, a.to = i, j
	switch {
	case seen == lower:
		a.emitASCII(s[i:j])
	case seen&NonASCII != 0:
		for to := i; to < j && !a.done; i = to {
			to += normPieceLen(s[i:j])
			a.from, a.to = i, to
			if seen&(Digit|joiner) != 0 || a.Prefilter == nil || !a.Prefilter.rejects(s[i:to]) {
				a.scanNonASCII(s[i:to])
			}
		}
	default:
		a.splitToken(s[i:j], i > 1 && s[i-1] == '-' && s[i-2] == '-')
	}
	return j + cliticLen(s[j:])
}

// languageSuffixLen returns the size of the suffix of a programming language with one letter: C#, C++.
func languageSuffixLen(s string) int {
	switch {
	case strings.HasPrefix(s, "#"):
		return 1
	case strings.HasPrefix(s, "++"):
		return 2
	}
	return 0
}

// simpleWordLen returns the size of the number at the start of s, or of a word. The word is in lower case, capitalized
// or in capitals. It returns 0 if that may be part of a longer token.
func simpleWordLen(s string) int {
	kind, j := byteClass[s[0]], 1
	if kind == Upper && len(s) > 1 && byteClass[s[1]] == lower {
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

// wordRuneLen returns the size of the word character at the start of s, with ignorable characters before it, or 0.
func wordRuneLen(s string) int {
	if s == "" {
		return 0
	}
	if s[0] < utf8.RuneSelf {
		return int(min(byteClass[s[0]]&Alnum, 1))
	}
	for i, r := range s {
		switch {
		case IsWordRune(r):
			return i + utf8.RuneLen(r)
		case !isIgnorable(r):
			return 0
		}
	}
	return 0
}

// cliticLen returns the size of an apostrophe and an English clitic ('s, 't, 're) at the start of s. Without a clitic
// it returns that of the apostrophe, or 0. The d of O'Dálaigh is none.
func cliticLen(s string) int {
	n := 0
	switch {
	case strings.HasPrefix(s, "'"):
		n = 1
	case strings.HasPrefix(s, "’"):
		n = len("’")
	case strings.HasPrefix(s, string(Apostrophe)):
		n = len(string(Apostrophe))
	default:
		return 0
	}
	end := n
	for end < len(s) && end < n+3 && byteClass[s[end]]&(lower|Upper) != 0 {
		end++
	}
	switch strings.ToLower(s[n:end]) {
	case "s", "t", "m", "d", "re", "ve", "ll":
		if next, _ := utf8.DecodeRuneInString(s[end:]); !IsWordRune(next) || IsUnsegmented(next) {
			return end
		}
	}
	return n
}

// scanNonASCII analyzes a token with characters beyond ASCII. It normalizes the token without ignorable characters,
// then analyzes each run of one kind of script.
func (a *Analyzer) scanNonASCII(s string) {
	n, origin := NormalizeNFKC(s), a.from
	if n != s {
		a.offsetMap.source = s
	}
	if a.growth += len(n) - len(s); a.MaxGrowth > 0 && a.growth > a.MaxGrowth ||
		a.MaxNormal > 0 && a.to+a.growth > a.MaxNormal {
		a.Stop()
	}
	for i := 0; i < len(n); {
		r, size := utf8.DecodeRuneInString(n[i:])
		unsegmented := IsUnsegmented(r)
		if !unsegmented && !IsWordRune(r) {
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

// maxNormPiece is about the size in bytes of the pieces in which long texts without a space are normalized. The normal
// form may be many times as long, and a search stops after the first matches. No term spans two pieces.
const maxNormPiece = 4 << 10

// normPieceLen returns the size of the first piece of s. Unicode normalizes the text behind it independently.
func normPieceLen(s string) int {
	if len(s) <= maxNormPiece {
		return len(s)
	}
	n := maxNormPiece
	for !utf8.RuneStart(s[n]) {
		n--
	}
	if next := norm.NFKC.FirstBoundaryInString(s[n:]); next >= 0 {
		return n + next
	}
	return len(s)
}

// MaxNormal is how much of the normal form of a text is indexed and compared, in bytes: twice the longest text. The
// normal form of some characters is eleven times as long.
const MaxNormal = 512 << 10

// NormalSize returns the size of the normal forms of texts, in bytes. It reads no further than LongText in each: a
// longer text counts with its own size, or with so much of its normal form.
func NormalSize(texts ...string) (n int) {
	for _, t := range texts {
		if len(t) <= LongText && HasNonASCII(t) {
			n += len(NormalizePrefix(t, LongText))
		} else {
			n += len(t)
		}
	}
	return n
}

// LongText is the size of a normal form above which a text is long: its analysis takes more than a millisecond.
const LongText = 16 << 10

// NormalizePrefix returns the NFKC of the start of a text. It ends once the normal form has maxGrowth bytes more than
// its text.
func NormalizePrefix(s string, maxGrowth int) string {
	var out []byte
	for from := 0; from < len(s) && len(out) <= from+maxGrowth; {
		to := from + normPieceLen(s[from:])
		out = norm.NFKC.AppendString(out, s[from:to])
		from = to
	}
	return string(out)
}

// NormalizeNFKC returns a text in NFKC, without ignorable characters. It writes the decimal digits of all scripts in
// ASCII.
func NormalizeNFKC(s string) string {
	if isNormalized(s) {
		return s
	}
	return strings.Map(FoldRune, norm.NFKC.String(s))
}

// normalizeStart is NormalizeNFKC for the start of a text whose normal form grows beyond MaxNormal.
func normalizeStart(s string) string {
	if isNormalized(s) {
		return s
	}
	return strings.Map(FoldRune, NormalizePrefix(s, MaxNormal))
}

// runLen returns the size of the run at the start of s. A run has characters of scripts without spaces, or words with
// their joiners.
func runLen(s string, unsegmented bool) int {
	for i, r := range s {
		mark := r >= utf8.RuneSelf && unicode.Is(unicode.M, r)
		switch {
		case i == 0, mark:
		case IsUnsegmented(r) != unsegmented:
			return i
		case !unsegmented && !IsWordRune(r) && (r >= utf8.RuneSelf || byteClass[r] != joiner):
			return i
		}
	}
	return len(s)
}

// emitBigrams emits each character (with its marks) and each pair of adjacent ones of the token s from i on. origin is
// the offset of the token in the text.
func (a *Analyzer) emitBigrams(s string, i, origin int) {
	begin := i
	if a.OnRun != nil {
		a.OnRun(s[i:])
	}
	for last := -1; i < len(s); {
		j := i + clusterLen(s[i:])
		if a.Prefilter != nil && j < len(s) && a.prefilterRejects(s[i:j]) {
			last, i = i, j
			continue
		}
		a.setOffsets(origin, i, j)
		kind := Unigram
		if last < 0 && j == len(s) {
			kind = LoneUnigram
		}
		a.runSpan = [2]int{i - begin, j - begin}
		a.lowerBuf = append(a.lowerBuf[:0], s[i:j]...)
		a.emitTerm(a.lowerBuf, kind)
		if last >= 0 {
			a.setOffsets(origin, last, j)
			a.runSpan[0] = last - begin
			a.lowerBuf = append(a.lowerBuf[:0], s[last:j]...)
			a.emitTerm(a.lowerBuf, Bigram)
		}
		last, i = i, j
	}
}

// prefilterRejects reports whether no wanted term contains a character. Then no pair with it is wanted either.
func (a *Analyzer) prefilterRejects(unit string) bool {
	c, n := utf8.DecodeRuneInString(unit)
	return n == len(unit) && !a.Prefilter.mayContain(c)
}

// clusterLen returns the size of the combining character sequence at the start of s.
func clusterLen(s string) int {
	for i, r := range s {
		if i > 0 && !unicode.Is(unicode.M, r) {
			return i
		}
	}
	return len(s)
}

// EmitWord emits one word without joiners.
func (a *Analyzer) EmitWord(t string) {
	if HasNonASCII(t) {
		a.emitNonASCII(t)
	} else {
		a.emitASCII(t)
	}
}

// HasNonASCII reports whether a text has a byte beyond ASCII.
func HasNonASCII[T string | []byte](t T) bool {
	for i := range len(t) {
		if t[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// emitASCII emits a word of ASCII letters and digits, and its stem.
func (a *Analyzer) emitASCII(t string) {
	if a.Prefilter != nil && !a.Prefilter.mayMatch(t) {
		return
	}
	a.lowerBuf = append(a.lowerBuf[:0], t...)
	alpha := uint8(0)
	for i, c := range a.lowerBuf {
		k := byteClass[c]
		alpha |= k
		if k == Upper {
			a.lowerBuf[i] = c | 0x20
		}
	}
	a.emitTerm(a.lowerBuf, Word)
	if alpha&^(lower|Upper) == 0 {
		a.emitStem(a.lowerBuf)
	}
}

// emitStem emits the stem of a word of ASCII letters if it differs.
func (a *Analyzer) emitStem(t []byte) {
	if root := a.StemOf(t); string(root) != string(t) {
		a.emitTerm(root, Stem)
	}
}

// StemOf returns the stem of a word of ASCII letters.
func (a *Analyzer) StemOf(t []byte) []byte {
	switch {
	case len(t) < 3 || len(t) > MaxTermBytes/2:
		return t
	case a.Stems != nil && len(t) <= maxCachedStem:
		return a.Stems.stem(t)
	}
	a.stemBuf = Porter(append(a.stemBuf[:0], t...))
	return a.stemBuf
}

// emitNonASCII emits a word beyond ASCII, and its forms without accents and without its prefix.
func (a *Analyzer) emitNonASCII(t string) {
	var changed, ascii bool
	a.lowerBuf = FoldCase(a.lowerBuf[:0], t)
	// before a long word is truncated in place
	a.unaccentedBuf, changed, ascii = Unaccent(a.unaccentedBuf[:0], a.lowerBuf)
	a.emitTerm(a.lowerBuf, Word)
	rest := stripPrefix(a.unaccentedBuf)
	if changed && len(a.unaccentedBuf) > 0 {
		a.emitTerm(a.unaccentedBuf, Variant)
		if ascii {
			a.emitStem(a.unaccentedBuf)
		}
	}
	if rest != nil {
		a.emitTerm(rest, Variant)
	}
}

func (a *Analyzer) emitTerm(term []byte, r TokenType) {
	if len(term) > MaxTermBytes {
		term = truncateTerm(term)
	}
	a.Emit(term, r)
}

// truncateTerm keeps the beginning of a long term and replaces the rest by its FNV-1a hash. So equal terms stay equal
// and others differ.
func truncateTerm(t []byte) []byte {
	hash := fnv.New64a()
	hash.Write(t)
	n := MaxTermBytes - 16
	for !utf8.RuneStart(t[n]) {
		n--
	}
	return fmt.Appendf(t[:n], "%016x", hash.Sum64())
}
