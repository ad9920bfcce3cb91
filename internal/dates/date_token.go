package dates

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// A dateToken is what dates are made of: a number, a month, a word that links them, or a
// sign, which is its own kind. All else between two of these is one part.
type dateToken struct {
	kind        rune
	value       int    // of a number
	digits      int    // its digits
	suffix      string // letters right behind a number: 7th, 2023г
	month       month
	capitalized bool // a month is written with
	afterSpace  bool // white space stands before
	afterLetter bool // a letter stands right before: v2
	from        int  // where it begins in the text
	to          int  // where it ends
}

// Kinds that are no signs.
const (
	dateNumber   = '0'
	dateMonth    = 'M'
	dateLinkWord = '&'
	dateOther    = '?'
	dateEnd      = 0 // behind the last
)

const (
	dateSeparators = "-./,:年月日号号년월일の"
	maxDateDigits  = 4 // digits that a date may have side by side
)

var (
	dateLinkWords = map[string]bool{"of": true, "de": true, "del": true, "di": true, "do": true}
	daySuffixes   = map[string]bool{"": true, "st": true, "nd": true, "rd": true, "th": true, "er": true, "e": true,
		"o": true, "го": true}
	yearSuffixes = map[string]bool{"": true, "r": true, "г": true, "р": true}
)

// slavicOrdinal is what stands behind days in Russian and Ukrainian.
const slavicOrdinal = "-го"

// tokenizeDates takes a text in normal form apart.
func tokenizeDates(s string) (list []dateToken) {
	var low, unaccented []byte
	gap, afterLetter, size := false, false, len(s)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		p := dateToken{kind: dateOther, afterSpace: gap, afterLetter: afterLetter}
		gap, afterLetter = false, false
		switch {
		case unicode.IsSpace(r):
			gap, s = true, s[n:]
			continue
		case '0' <= r && r <= '9':
			n = p.scanNumber(s)
			afterLetter = p.suffix != ""
		case strings.ContainsRune(dateSeparators, r):
			p.kind = r
		case isSpacedLetter(r):
			n = letterRunLen(s)
			low = analysis.FoldCase(low[:0], s[:n])
			unaccented, _, _ = analysis.Unaccent(unaccented[:0], low)
			p.month, afterLetter = months()[string(unaccented)], true
			switch {
			case n < len(s) && analysis.ClassOf(s[n]) == analysis.Digit: // a name like may3
			case p.month.number > 0:
				p.kind, p.capitalized = dateMonth, unicode.IsUpper(r)
			case dateLinkWords[string(unaccented)]:
				p.kind = dateLinkWord
			}
		}
		p.from, p.to = size-len(s), size-len(s)+n
		s = s[n:]
		if p.kind != dateOther || len(list) == 0 || list[len(list)-1].kind != dateOther {
			list = append(list, p)
		}
	}
	return list
}

// scanNumber reads a number and what is right behind it, and returns their size.
func (p *dateToken) scanNumber(s string) int {
	p.kind = dateNumber
	for p.digits < len(s) && analysis.ClassOf(s[p.digits]) == analysis.Digit {
		if p.digits < maxDateDigits {
			p.value = 10*p.value + int(s[p.digits]-'0')
		}
		p.digits++
	}
	s = s[p.digits:]
	if strings.HasPrefix(s, slavicOrdinal) {
		p.suffix = slavicOrdinal[1:]
		return p.digits + len(slavicOrdinal)
	}
	n := letterRunLen(s)
	p.suffix = strings.ToLower(s[:n])
	return p.digits + n
}

// isSpacedLetter reports letters of words in spaces.
func isSpacedLetter(r rune) bool {
	return analysis.IsWordRune(r) && !analysis.IsUnsegmented(r) && (r < '0' || r > '9')
}

// letterRunLen is the size of the letters that s begins with.
func letterRunLen(s string) int {
	for i, r := range s {
		if !isSpacedLetter(r) {
			return i
		}
	}
	return len(s)
}
