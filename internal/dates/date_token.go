package dates

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// A dateToken is a number, a month, a linking word, or a separator. The kind of a separator is its character. All text
// between two of these is one token.
type dateToken struct {
	kind        rune
	value       int    // of a number
	digits      int    // its digits
	suffix      string // letters directly after a number: 7th, 2023г
	month       month
	capitalized bool // of a month
	afterSpace  bool // white space precedes
	afterLetter bool // a letter precedes directly: v2
	from        int  // start in the text
	to          int  // end in the text
}

// Kinds of tokens other than separators.
const (
	dateNumber   = '0'
	dateMonth    = 'M'
	dateLinkWord = '&'
	dateOther    = '?'
	dateEnd      = 0 // after the last token
)

const (
	dateSeparators = "-./,:年月日号년월일の"
	maxDateDigits  = 4 // most digits of a date without a separator between them
)

var (
	dateLinkWords = map[string]bool{"of": true, "de": true, "del": true, "di": true, "do": true}
	daySuffixes   = map[string]bool{"": true, "st": true, "nd": true, "rd": true, "th": true, "er": true, "e": true,
		"o": true, "го": true}
	yearSuffixes = map[string]bool{"": true, "r": true, "г": true, "р": true}
)

// slavicOrdinal is the ending of days in Russian and Ukrainian.
const slavicOrdinal = "-го"

// tokenizeDates splits a text in normal form.
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

// scanNumber reads a number with its suffix and returns their size.
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

// isSpacedLetter reports whether r is a letter of a script with spaces between words.
func isSpacedLetter(r rune) bool {
	return analysis.IsWordRune(r) && !analysis.IsUnsegmented(r) && (r < '0' || r > '9')
}

// letterRunLen returns the size of the letters at the start of s.
func letterRunLen(s string) int {
	for i, r := range s {
		if !isSpacedLetter(r) {
			return i
		}
	}
	return len(s)
}
