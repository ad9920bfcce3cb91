package analysis

// Porter stems one English word of ASCII lower-case letters in place. The algorithm has the author's later corrections
// (bli to ble, logi to log). Words of one or two letters stay as they are.
func Porter(w []byte) []byte {
	if len(w) < 3 {
		return w
	}
	w = step1a(w)
	w = step1b(w)
	w = step1c(w)
	w = replace(w, step2.match(w))
	w = replace(w, step3.match(w))
	w = stripSuffix(w)
	return step5(w)
}

// rule replaces a suffix. The stem before it must have a measure above zero, in step 4 above one.
type rule struct{ suffix, with string }

func isVowel(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !isVowel(w, i-1)
	}
	return false
}

// measure counts the vowel-consonant sequences of a stem, up to two, which is all that the rules need. It reads forward
// so that a run of y takes linear time.
func measure(w []byte) int {
	m, was := 0, false
	for i, c := range w {
		now := c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y' && i > 0 && !was
		if was && !now {
			if m++; m == 2 {
				return m
			}
		}
		was = now
	}
	return m
}

func hasVowel(w []byte) bool {
	for i, c := range w {
		if c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y' && i > 0 {
			return true
		}
	}
	return false
}

func hasSuffix(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

// endsDoubleConsonant reports whether a word ends with the same consonant twice.
func endsDoubleConsonant(w []byte) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && !isVowel(w, n-1)
}

// endsCVC reports whether a word ends with consonant, vowel, consonant, the last not w, x or y.
func endsCVC(w []byte) bool {
	n := len(w)
	if n < 3 || isVowel(w, n-1) || !isVowel(w, n-2) || isVowel(w, n-3) {
		return false
	}
	c := w[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

func step1a(w []byte) []byte {
	switch {
	case w[len(w)-1] != 's':
		return w
	case hasSuffix(w, "sses"), hasSuffix(w, "ies"):
		return w[:len(w)-2]
	case hasSuffix(w, "ss"):
		return w
	}
	return w[:len(w)-1]
}

func step1b(w []byte) []byte {
	stem := w
	switch {
	case hasSuffix(w, "eed"):
		if measure(w[:len(w)-3]) > 0 {
			return w[:len(w)-1]
		}
		return w
	case hasSuffix(w, "ed"):
		stem = w[:len(w)-2]
	case hasSuffix(w, "ing"):
		stem = w[:len(w)-3]
	default:
		return w
	}
	if !hasVowel(stem) {
		return w
	}
	return restoreE(stem)
}

func restoreE(w []byte) []byte {
	n := len(w)
	switch {
	case hasSuffix(w, "at"), hasSuffix(w, "bl"), hasSuffix(w, "iz"):
		return append(w, 'e')
	case endsDoubleConsonant(w) && w[n-1] != 'l' && w[n-1] != 's' && w[n-1] != 'z':
		return w[:n-1]
	case measure(w) == 1 && endsCVC(w):
		return append(w, 'e')
	}
	return w
}

func step1c(w []byte) []byte {
	if n := len(w); w[n-1] == 'y' && hasVowel(w[:n-1]) {
		w[n-1] = 'i'
	}
	return w
}

func replace(w []byte, r rule) []byte {
	if stem := w[:len(w)-len(r.suffix)]; r.suffix != "" && measure(stem) > 0 {
		return append(stem, r.with...)
	}
	return w
}

// rules are indexed by the last letter but one, in which the suffixes of a step differ most. Only the first rule that
// matches is tried.
type rules [256][]rule

func byPenultimate(list ...rule) *rules {
	var t rules
	for _, r := range list {
		c := r.suffix[len(r.suffix)-2]
		t[c] = append(t[c], r)
	}
	return &t
}

func (t *rules) match(w []byte) rule {
	if len(w) < 3 {
		return rule{}
	}
	for _, r := range t[w[len(w)-2]] {
		if hasSuffix(w, r.suffix) {
			return r
		}
	}
	return rule{}
}

var (
	step2 = byPenultimate(
		rule{"ational", "ate"}, rule{"tional", "tion"}, rule{"enci", "ence"}, rule{"anci", "ance"}, rule{"izer", "ize"},
		rule{"bli", "ble"}, rule{"alli", "al"}, rule{"entli", "ent"}, rule{"eli", "e"}, rule{"ousli", "ous"},
		rule{"ization", "ize"}, rule{"ation", "ate"}, rule{"ator", "ate"}, rule{"alism", "al"}, rule{"iveness", "ive"},
		rule{"fulness", "ful"}, rule{"ousness", "ous"}, rule{"aliti", "al"}, rule{"iviti", "ive"},
		rule{"biliti", "ble"},
		rule{"logi", "log"})
	step3 = byPenultimate(
		rule{"icate", "ic"}, rule{"ative", ""}, rule{"alize", "al"}, rule{"iciti", "ic"}, rule{"ical", "ic"},
		rule{"ful", ""}, rule{"ness", ""})
	step4 = byPenultimate(
		rule{suffix: "al"}, rule{suffix: "ance"}, rule{suffix: "ence"}, rule{suffix: "er"}, rule{suffix: "ic"},
		rule{suffix: "able"}, rule{suffix: "ible"}, rule{suffix: "ant"}, rule{suffix: "ement"}, rule{suffix: "ment"},
		rule{suffix: "ent"}, rule{suffix: "ion"}, rule{suffix: "ou"}, rule{suffix: "ism"}, rule{suffix: "ate"},
		rule{suffix: "iti"}, rule{suffix: "ous"}, rule{suffix: "ive"}, rule{suffix: "ize"})
)

// stripSuffix applies step 4: it removes a suffix if the measure of the stem exceeds one.
func stripSuffix(w []byte) []byte {
	suffix := step4.match(w).suffix
	stem := w[:len(w)-len(suffix)]
	if suffix == "" || measure(stem) < 2 {
		return w
	}
	if suffix == "ion" && !hasSuffix(stem, "s") && !hasSuffix(stem, "t") {
		return w
	}
	return stem
}

func step5(w []byte) []byte {
	n := len(w)
	if n > 1 && w[n-1] == 'e' {
		if m := measure(w[:n-1]); m > 1 || m == 1 && !endsCVC(w[:n-1]) {
			w = w[:n-1]
		}
	}
	if n = len(w); n > 1 && w[n-1] == 'l' && w[n-2] == 'l' && measure(w) > 1 {
		w = w[:n-1]
	}
	return w
}
