package dates

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// A dateParser finds the dates in the tokens of a text.
type dateParser struct {
	tokens                 []dateToken
	start                  int // token at which the date begins
	days, months, yearless []dateMention
}

// A dateMention is a date and its byte range in a text in normal form.
type dateMention struct {
	date     Date
	from, to int
}

// Parse returns the days and months with a year in a text. If there are none, it returns the days without a year. The
// formats are:
//
//   - 2023-05-07 and 2023-05, also before a time of day
//   - 7 May 2023; May 7, 2023; May 2023; 7 May
//   - 7.5.2023, and 31/5/2023 if the day cannot be a month
//   - 2023年5月7日, and the same in Korean
//
// Names of months are English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Ukrainian or
// Turkish. Years are from 1900 to 2099.
func Parse(text string) (list []Date) {
	for _, m := range mentionsOf(text) {
		list = append(list, m.date)
	}
	return list
}

// mentionsOf returns the dates of Parse with their ranges.
func mentionsOf(text string) []dateMention {
	if strings.IndexFunc(text, isDecimalDigit) < 0 {
		return nil
	}
	r := dateParser{tokens: tokenizeDates(analysis.NormalizeNFKC(text))}
	for i := 0; i < len(r.tokens); {
		r.start = i
		i = max(i+1, r.parseAt(i))
	}
	switch {
	case len(r.days) > 0:
		return r.days
	case len(r.months) > 0:
		return r.months
	}
	return r.yearless
}

// isDecimalDigit reports whether r is a digit of any script.
func isDecimalDigit(r rune) bool {
	if r >= utf8.RuneSelf {
		r = analysis.FoldRune(r)
	}
	return '0' <= r && r <= '9'
}

// parseAt reads a date that begins at a token. It returns the index of the token after the date, or 0.
func (r *dateParser) parseAt(i int) (next int) {
	switch r.token(i).kind {
	case dateNumber:
		if next = r.parseNumeric(i); next == 0 {
			next = r.parseCJK(i)
		}
		if next == 0 {
			next = r.parseDayFirst(i)
		}
	case dateMonth:
		next = r.parseMonthFirst(i)
	}
	return next
}

// token returns the token at i, or an empty one.
func (r *dateParser) token(i int) dateToken {
	if i < 0 || i >= len(r.tokens) {
		return dateToken{}
	}
	return r.tokens[i]
}

// separator returns the separator at i if it follows directly and is one of some characters, else 0.
func (r *dateParser) separator(i int, signs string) rune {
	if p := r.token(i); p.kind != dateEnd && !p.afterSpace && strings.ContainsRune(signs, p.kind) {
		return p.kind
	}
	return 0
}

// continuesAfter reports whether the number before i continues: 7.5, 10:30, 1,000.
func (r *dateParser) continuesAfter(i int, signs string) bool {
	return r.separator(i, signs) != 0 && r.token(i+1).kind == dateNumber && !r.token(i+1).afterSpace
}

// continuesBefore reports whether the number at i is the end of another: the 5 of 7.5.
func (r *dateParser) continuesBefore(i int, signs string) bool {
	return r.token(i).afterLetter || !r.token(i).afterSpace && r.token(i-2).kind == dateNumber &&
		r.separator(i-1, signs) != 0
}

// isDayOrMonth reports whether a number may be a day or a month.
func (p dateToken) isDayOrMonth() bool {
	return p.kind == dateNumber && p.digits <= 2 && p.value > 0 && !p.afterLetter
}

func (p dateToken) isDay() bool { return p.isDayOrMonth() && daySuffixes[p.suffix] }

func (p dateToken) isYear() bool {
	return p.kind == dateNumber && p.digits == 4 && !p.afterLetter && yearSuffixes[p.suffix] && 1900 <= p.value &&
		p.value < 2100
}

// addDate adds a date and returns next. If day is 0 it is a month; if year is 0, a yearly date.
func (r *dateParser) addDate(year, month, day, next int) int {
	d, ok := newDate(year, month, day)
	if !ok {
		return 0
	}
	m := dateMention{d, r.tokens[r.start].from, r.tokens[next-1].to}
	switch {
	case year == 0:
		r.yearless = append(r.yearless, m)
	case day == 0:
		r.months = append(r.months, m)
	default:
		r.days = append(r.days, m)
	}
	return next
}

// parseNumeric reads three numbers with equal separators between them, the year first or last, or a year and a month.
// Spaces may follow a dot.
func (r *dateParser) parseNumeric(i int) int {
	sign := r.separator(i+1, "-./")
	a, b, c := r.token(i), r.token(i+2), r.token(i+4)
	if sign == 0 || r.continuesBefore(i, "-./:") || a.suffix != "" || !b.isDayOrMonth() || b.suffix != "" ||
		b.afterSpace && sign != '.' {
		return 0
	}
	three := r.separator(i+3, "-./") == sign && c.kind == dateNumber && (!c.afterSpace || sign == '.')
	switch {
	case three && a.isYear() && c.isDayOrMonth() &&
		(c.suffix == "" || c.suffix == "t" && r.token(i+5).kind == dateNumber) &&
		(sign != '.' || c.afterSpace || b.digits+c.digits == 4):
		return r.addDate(a.value, b.value, c.value, i+5)
	case a.isYear() && sign == '-' && !r.continuesAfter(i+3, "."):
		return r.addDate(a.value, b.value, 0, i+3)
	case three && a.isDayOrMonth() && c.isYear() && !r.continuesAfter(i+5, ".-/"):
		day, month := a.value, b.value
		if sign != '.' && day <= 12 {
			if day, month = month, day; day <= 12 && day != month {
				return 0 // in some countries the day comes first, in others the month
			}
		}
		return r.addDate(c.value, month, day, i+5)
	}
	return 0
}

// parseCJK reads 2023年5月7日, 2023年5月 and 5月7日, and the same in Korean.
func (r *dateParser) parseCJK(i int) int {
	year, at := 0, i
	if r.token(i).isYear() && isOneOf(r.token(i+1), "年년") {
		year, at = r.token(i).value, i+2
		if isOneOf(r.token(at), "の") {
			at++
		}
	} else if isOneOf(r.token(i-1), "年년") {
		return 0 // of an era, or too early
	}
	month, day := r.token(at), r.token(at+2)
	switch {
	case !month.isDayOrMonth() || !isOneOf(r.token(at+1), "月월"):
		return 0
	case day.isDayOrMonth() && isOneOf(r.token(at+3), "日号일"):
		return r.addDate(year, month.value, day.value, at+4)
	case year > 0:
		return r.addDate(year, month.value, 0, at+2)
	}
	return 0
}

func isOneOf(p dateToken, signs string) bool {
	return p.kind != dateEnd && strings.ContainsRune(signs, p.kind)
}

// parseDayFirst reads 7 May 2023, 7. Mai 2023, 7 de mayo de 2023, 07/May/2023, 7 мая.
func (r *dateParser) parseDayFirst(i int) int {
	day, at := r.token(i), i+1
	if !day.isDay() || r.continuesBefore(i, ".,:/") {
		return 0
	}
	if r.separator(at, ".-/") != 0 {
		at++
	}
	if r.token(at).kind == dateLinkWord {
		at++
	}
	name := r.token(at)
	if name.kind != dateMonth {
		return 0
	}
	if end := r.yearEnd(at + 1); end > 0 {
		return r.addDate(r.token(end-1).value, name.month.number, day.value, end)
	}
	return r.addYearless(day, name, at+1)
}

// parseMonthFirst reads May 7, 2023, May 7 and May 2023, mayo de 2023.
func (r *dateParser) parseMonthFirst(i int) int {
	name, at := r.token(i), i+1
	if r.separator(at, ".") != 0 {
		at++
	}
	if day := r.token(at); name.month.english && day.isDay() && !r.continuesAfter(at+1, ".,:") {
		if end := r.yearEnd(at + 1); end > 0 {
			return r.addDate(r.token(end-1).value, name.month.number, day.value, end)
		}
		return r.addYearless(day, name, at+1)
	}
	if end := r.yearEnd(i + 1); end > 0 && !name.month.abbreviated && !r.continuesAfter(end, "-/") {
		return r.addDate(r.token(end-1).value, name.month.number, 0, end)
	}
	return 0
}

// yearEnd returns the end of a year that belongs to the token before it, or 0.
func (r *dateParser) yearEnd(i int) int {
	if r.separator(i, ".,-/") != 0 {
		i++
	}
	if r.token(i).kind == dateLinkWord {
		i++
	}
	if r.token(i).isYear() {
		return i + 1
	}
	return 0
}

// addYearless adds a day without a year if it is unambiguous.
func (r *dateParser) addYearless(day, name dateToken, next int) int {
	if name.month.abbreviated || name.month.ambiguous && !name.capitalized && day.suffix == "" {
		return 0
	}
	return r.addDate(0, name.month.number, day.value, next)
}

// Ranges returns the byte ranges of the dates in a text.
func Ranges(text string) (list [][2]int) {
	m := analysis.NewOffsetMap(text)
	for _, x := range mentionsOf(text) {
		from, to := m.SourceSpan(x.from, x.to)
		list = append(list, [2]int{from, to})
	}
	return list
}
