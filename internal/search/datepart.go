package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A datePart is what dates are made of: a number, a month, a word that links them, or a
// sign, which is its own kind. All else between two of these is one part.
type datePart struct {
	kind    rune
	value   int    // of a number
	size    int    // its digits
	tail    string // letters right behind a number: 7th, 2023г
	month   month
	capital bool // a month is written with
	gap     bool // white space stands before
	stuck   bool // a letter stands right before: v2
	from    int  // where it begins in the text
	to      int  // where it ends
}

// Kinds that are no signs.
const (
	ofDigits = '0'
	ofMonth  = 'M'
	ofLink   = '&'
	ofElse   = '?'
	ofNone   = 0 // behind the last
)

const (
	dateSigns = "-./,:年月日号号년월일の"
	maxNumber = 4 // digits that a date may have side by side
)

var (
	dateLinks = map[string]bool{"of": true, "de": true, "del": true, "di": true, "do": true}
	dayTails  = map[string]bool{"": true, "st": true, "nd": true, "rd": true, "th": true, "er": true, "e": true, "o": true, "го": true}
	yearTails = map[string]bool{"": true, "r": true, "г": true, "р": true}
)

// ordinal is what stands behind days in Russian and Ukrainian.
const ordinal = "-го"

// partsOf takes a text in normal form apart.
func partsOf(s string) (list []datePart) {
	var low, bare []byte
	gap, stuck, size := false, false, len(s)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		p := datePart{kind: ofElse, gap: gap, stuck: stuck}
		gap, stuck = false, false
		switch {
		case unicode.IsSpace(r):
			gap, s = true, s[n:]
			continue
		case '0' <= r && r <= '9':
			n = p.number(s)
			stuck = p.tail != ""
		case strings.ContainsRune(dateSigns, r):
			p.kind = r
		case spells(r):
			n = tailOf(s)
			low = foldCase(low[:0], s[:n])
			bare, _, _ = unaccent(bare[:0], low)
			p.month, stuck = months()[string(bare)], true
			switch {
			case n < len(s) && class[s[n]] == digit: // a name like may3
			case p.month.number > 0:
				p.kind, p.capital = ofMonth, unicode.IsUpper(r)
			case dateLinks[string(bare)]:
				p.kind = ofLink
			}
		}
		p.from, p.to = size-len(s), size-len(s)+n
		s = s[n:]
		if p.kind != ofElse || len(list) == 0 || list[len(list)-1].kind != ofElse {
			list = append(list, p)
		}
	}
	return list
}

// number reads a number and what is right behind it, and returns their size.
func (p *datePart) number(s string) int {
	p.kind = ofDigits
	for p.size < len(s) && class[s[p.size]] == digit {
		if p.size < maxNumber {
			p.value = 10*p.value + int(s[p.size]-'0')
		}
		p.size++
	}
	s = s[p.size:]
	if strings.HasPrefix(s, ordinal) {
		p.tail = ordinal[1:]
		return p.size + len(ordinal)
	}
	n := tailOf(s)
	p.tail = strings.ToLower(s[:n])
	return p.size + n
}

// spells reports letters of words in spaces.
func spells(r rune) bool { return isWord(r) && !isDense(r) && (r < '0' || r > '9') }

// tailOf is the size of the letters that s begins with.
func tailOf(s string) int {
	for i, r := range s {
		if !spells(r) {
			return i
		}
	}
	return len(s)
}
