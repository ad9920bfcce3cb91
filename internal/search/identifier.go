package search

import "strings"

// levels are the joints of identifiers, the weakest bond first: a path falls
// into names, a name into its dashes, dots and underscores.
var levels = [...]string{"/\\@", "-", ".", "_"}

// token emits words and single joints. What looks like an identifier is kept
// whole and split; prose joined by dashes alone is words.
func (a *analyzer) token(t string, flag bool) {
	joints, others := uint8(0), uint8(0)
	dashes := true
	for i := range len(t) {
		k := class[t[i]]
		others |= k
		if k == joint {
			joints = k
			dashes = dashes && t[i] == '-'
		}
	}
	switch {
	case joints == 0:
		a.piece(t)
	case dashes && others&digit == 0 && !flag:
		for p := range strings.SplitSeq(t, "-") {
			a.piece(p)
		}
		a.unite(t)
	default:
		a.compound(t, 0)
	}
}

// maxUnited is the length of the longest word that two are united to, in bytes.
const maxUnited = 20

// unite emits two words with a dash between them as the one word that others write,
// by its stem if it has one: "email" for e-mails, "backend" for back-end.
func (a *analyzer) unite(t string) {
	first, second, _ := strings.Cut(t, "-")
	if len(first)+len(second) > maxUnited || len(second) < 2 || strings.Contains(second, "-") {
		return
	}
	a.low = foldCase(a.low[:0], first+second)
	if beyondASCII(a.low) {
		a.put(a.low, united)
	} else {
		a.put(a.root(a.low), united)
	}
}

// compound emits an identifier and all of its parts, level by level: every byte
// is looked at once a level, so that no text takes more than linear time.
func (a *analyzer) compound(t string, level int) {
	a.whole(t)
	a.joined(t)
	for level < len(levels)-1 && !strings.ContainsAny(t, levels[level]) {
		level++
	}
	for t != "" {
		p := t
		if i := strings.IndexAny(t, levels[level]); i >= 0 {
			p, t = t[:i], t[i+1:]
		} else {
			t = ""
		}
		switch {
		case p == "":
		case level < len(levels)-1 && strings.ContainsAny(p, "._-"):
			a.compound(p, level+1)
		default:
			a.piece(p)
		}
	}
}

// Lengths of identifiers that are written as one word too, in bytes, and of numbers,
// which are phone numbers and the like if they are long enough.
const (
	maxJoined    = 36
	leastNumbers = 7
)

// joined emits an identifier as one word, without what joins its parts, as others write
// it: maxshards for max_shards, nodejs for node.js, 5550123 for 555-0123. Joints must be
// of one kind; paths, versions and decimal numbers are not written so.
func (a *analyzer) joined(t string) {
	if len(t) > maxJoined {
		return
	}
	sign, kinds := byte(0), uint8(0)
	a.low = a.low[:0]
	for i := range len(t) {
		switch c := t[i]; {
		case class[c] != joint:
			kinds |= class[c]
			a.low = append(a.low, c)
		case sign != 0 && sign != c || strings.IndexByte("._-", c) < 0:
			return
		default:
			sign = c
		}
	}
	version := class[t[0]]&(lower|upper) != 0 && len(t) > 1 && class[t[1]] == digit && sign == '.'
	if kinds&wide != 0 || version || kinds == digit && (sign == '.' || len(a.low) < leastNumbers) {
		return
	}
	fold := string(a.low)
	a.low = foldCase(a.low[:0], fold)
	if kinds&digit == 0 {
		a.put(a.root(a.low), united)
	} else {
		a.put(a.low, united)
	}
}

// whole emits an identifier, and a version without its letter too.
func (a *analyzer) whole(t string) {
	a.low = foldCase(a.low[:0], t)
	version := len(t) > 2 && a.low[0] == 'v' && class[a.low[1]] == digit
	a.put(a.low, whole)
	if version {
		a.low = foldCase(a.low[:0], t[1:])
		a.put(a.low, plain)
	}
}

// A name that changes between letters and digits more often than names do, or
// often enough and is long, is taken for a hash, which has no parts worth finding.
const (
	maxBorders     = 4
	maxLongBorders = 2
	longName       = 12
)

func hashlike(t string, borders int) bool {
	return borders > maxBorders || borders > maxLongBorders && len(t) >= longName
}

// piece emits a word without joints; camelCase and words with digits are
// identifiers, kept whole and split.
func (a *analyzer) piece(t string) {
	hump, digits := borders(t)
	if hump+digits == 0 || hashlike(t, digits) {
		a.word(t)
		a.abbreviated(t)
		return
	}
	a.whole(t)
	a.abbreviated(t)
	for t != "" {
		n := border(t)
		if n > 1 || class[t[0]] == digit {
			a.word(t[:n])
		}
		t = t[n:]
	}
}

// abbreviation is how many characters of a hash stand for it, as in Git.
const abbreviation = 7

// abbreviated emits the beginning of a hexadecimal hash, by which it is found however
// far it was cut.
func (a *analyzer) abbreviated(t string) {
	if len(t) <= abbreviation || len(t) > maxTerm {
		return
	}
	kinds := uint8(0)
	for i := range len(t) {
		if class[t[i]] != digit && (t[i]|0x20 < 'a' || t[i]|0x20 > 'f') {
			return
		}
		kinds |= class[t[i]]
	}
	if kinds&digit == 0 || kinds == digit {
		return
	}
	a.low = foldCase(a.low[:0], t[:abbreviation])
	a.put(a.low, plain)
}

// borders counts where the humps of camelCase begin and where letters and
// digits meet.
func borders(t string) (hump, digits int) {
	for len(t) > 0 {
		n := border(t)
		if n == len(t) {
			break
		}
		if class[t[n]] == digit || class[t[n-1]] == digit {
			digits++
		} else {
			hump++
		}
		t = t[n:]
	}
	return hump, digits
}

// border is the size of the first part of a name: "get" of getUser, "http" of
// HTTPServer, "utf" of utf8, all of PDFs.
func border(t string) int {
	for i := 1; i < len(t); i++ {
		was, is := class[t[i-1]], class[t[i]]
		switch {
		case was == lower && is == upper:
			return i
		case was == upper && is == upper && humped(t[i:]):
			return i
		case (was == digit) != (is == digit) && (was|is)&wide == 0:
			return i
		}
	}
	return len(t)
}

// humped reports a capital followed by small letters other than a plural s.
func humped(t string) bool {
	if len(t) < 2 || class[t[1]] != lower {
		return false
	}
	return t[1] != 's' || len(t) > 2 && class[t[2]] == lower
}
