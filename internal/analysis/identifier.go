package analysis

import "strings"

// joinerLevels are the joiners of identifiers, the weakest first. A path is split into names, and a name at its dashes,
// dots and underscores.
var joinerLevels = [...]string{"/\\@", "-", ".", "_"}

// splitToken emits the words of a token of words and single joiners. An identifier is kept whole and split; prose
// joined only by dashes is split into words.
func (a *Analyzer) splitToken(t string, cliFlag bool) {
	classes, dashes := uint8(0), true // dashes are the only joiners
	for i := range len(t) {
		k := byteClass[t[i]]
		classes |= k
		dashes = dashes && (k != joiner || t[i] == '-')
	}
	switch {
	case classes&joiner == 0:
		a.splitCamelCase(t)
	case dashes && classes&Digit == 0 && !cliFlag:
		for p := range strings.SplitSeq(t, "-") {
			a.splitCamelCase(p)
		}
		a.emitJoinedPair(t)
	default:
		a.splitIdentifier(t, 0)
	}
}

// MaxJoinedPair is the length of the longest joined pair, in bytes.
const MaxJoinedPair = 20

// emitJoinedPair emits two words with a dash between them as one word, as others write it. It emits the stem if there
// is one: "email" for e-mails, "backend" for back-end.
func (a *Analyzer) emitJoinedPair(t string) {
	first, second, _ := strings.Cut(t, "-")
	if len(first)+len(second) > MaxJoinedPair || len(second) < 2 || strings.Contains(second, "-") {
		return
	}
	a.lowerBuf = FoldCase(a.lowerBuf[:0], first+second)
	if HasNonASCII(a.lowerBuf) {
		a.emitTerm(a.lowerBuf, Joined)
	} else {
		a.emitTerm(a.StemOf(a.lowerBuf), Joined)
	}
}

// splitIdentifier emits an identifier and all of its parts, level by level. Each level reads every byte once, so any
// text takes linear time.
func (a *Analyzer) splitIdentifier(t string, level int) {
	a.emitIdentifier(t)
	a.emitJoined(t)
	for level < len(joinerLevels)-1 && !strings.ContainsAny(t, joinerLevels[level]) {
		level++
	}
	for t != "" {
		p := t
		if i := strings.IndexAny(t, joinerLevels[level]); i >= 0 {
			p, t = t[:i], t[i+1:]
		} else {
			t = ""
		}
		switch {
		case p == "":
		case level < len(joinerLevels)-1 && strings.ContainsAny(p, "._-"):
			a.splitIdentifier(p, level+1)
		default:
			a.splitCamelCase(p)
		}
	}
}

// Bounds, in bytes, of identifiers that are also written as one word, and of numbers. Long numbers are phone numbers
// and the like.
const (
	maxJoinedIdentifier = 36
	minJoinedDigits     = 7
)

// emitJoined emits an identifier as one word without its joiners. Others write maxshards for max_shards, nodejs for
// node.js and 5550123 for 555-0123. Joiners must be of one kind. Paths, versions and decimal numbers have no such form.
func (a *Analyzer) emitJoined(t string) {
	if len(t) > maxJoinedIdentifier {
		return
	}
	sign, kinds := byte(0), uint8(0)
	a.lowerBuf = a.lowerBuf[:0]
	for i := range len(t) {
		switch c := t[i]; {
		case byteClass[c] != joiner:
			kinds |= byteClass[c]
			a.lowerBuf = append(a.lowerBuf, c)
		case sign != 0 && sign != c || strings.IndexByte("._-", c) < 0:
			return
		default:
			sign = c
		}
	}
	version := byteClass[t[0]]&(lower|Upper) != 0 && len(t) > 1 && byteClass[t[1]] == Digit && sign == '.'
	if kinds&NonASCII != 0 || version || kinds == Digit && (sign == '.' || len(a.lowerBuf) < minJoinedDigits) {
		return
	}
	fold := string(a.lowerBuf)
	a.lowerBuf = FoldCase(a.lowerBuf[:0], fold)
	if kinds&Digit == 0 {
		a.emitTerm(a.StemOf(a.lowerBuf), Joined)
	} else {
		a.emitTerm(a.lowerBuf, Joined)
	}
}

// emitIdentifier emits an identifier, and a version also without its letter.
func (a *Analyzer) emitIdentifier(t string) {
	a.lowerBuf = FoldCase(a.lowerBuf[:0], t)
	version := len(t) > 2 && a.lowerBuf[0] == 'v' && byteClass[a.lowerBuf[1]] == Digit
	a.emitTerm(a.lowerBuf, Identifier)
	if version {
		a.lowerBuf = FoldCase(a.lowerBuf[:0], t[1:])
		a.emitTerm(a.lowerBuf, Variant)
	}
}

// A hash alternates between letters and digits more often than names do, or it is long and alternates often. Its parts
// are not indexed.
const (
	maxBoundaries         = 4
	maxLongNameBoundaries = 2
	longNameBytes         = 12
)

func looksLikeHash(t string, boundaries int) bool {
	return boundaries > maxBoundaries || boundaries > maxLongNameBoundaries && len(t) >= longNameBytes
}

// splitCamelCase emits a word without joiners. camelCase and words with digits are identifiers, kept whole and split.
func (a *Analyzer) splitCamelCase(t string) {
	caseChanges, digits := countBoundaries(t)
	if caseChanges+digits == 0 || looksLikeHash(t, digits) {
		a.EmitWord(t)
		a.emitHashPrefix(t)
		return
	}
	a.emitIdentifier(t)
	a.emitHashPrefix(t)
	for t != "" {
		n := firstBoundary(t)
		if n > 1 || byteClass[t[0]] == Digit {
			a.EmitWord(t[:n])
		}
		t = t[n:]
	}
}

// hashPrefixLen is the length of an abbreviated hash, as in Git.
const hashPrefixLen = 7

// emitHashPrefix emits the start of a hexadecimal hash, which finds the hash abbreviated to at least as many digits.
func (a *Analyzer) emitHashPrefix(t string) {
	if len(t) <= hashPrefixLen || len(t) > MaxTermBytes {
		return
	}
	kinds := uint8(0)
	for i := range len(t) {
		if byteClass[t[i]] != Digit && (t[i]|0x20 < 'a' || t[i]|0x20 > 'f') {
			return
		}
		kinds |= byteClass[t[i]]
	}
	if kinds&Digit == 0 || kinds == Digit {
		return
	}
	a.lowerBuf = FoldCase(a.lowerBuf[:0], t[:hashPrefixLen])
	a.emitTerm(a.lowerBuf, Variant)
}

// countBoundaries counts the case changes of camelCase, and the places between letters and digits.
func countBoundaries(t string) (caseChanges, digits int) {
	for len(t) > 0 {
		n := firstBoundary(t)
		if n == len(t) {
			break
		}
		if byteClass[t[n]] == Digit || byteClass[t[n-1]] == Digit {
			digits++
		} else {
			caseChanges++
		}
		t = t[n:]
	}
	return caseChanges, digits
}

// firstBoundary returns the size of the first part of a name. It is "get" of getUser, "http" of HTTPServer, "utf" of
// utf8, and all of PDFs.
func firstBoundary(t string) int {
	for i := 1; i < len(t); i++ {
		was, is := byteClass[t[i-1]], byteClass[t[i]]
		switch {
		case was == lower && is == Upper:
			return i
		case was == Upper && is == Upper && startsCamelPart(t[i:]):
			return i
		case (was == Digit) != (is == Digit) && (was|is)&NonASCII == 0:
			return i
		}
	}
	return len(t)
}

// startsCamelPart reports whether t is a capital followed by lower-case letters other than a plural s.
func startsCamelPart(t string) bool {
	if len(t) < 2 || byteClass[t[1]] != lower {
		return false
	}
	return t[1] != 's' || len(t) > 2 && byteClass[t[2]] == lower
}
