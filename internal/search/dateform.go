package search

import (
	"strings"
	"unicode/utf8"
)

// A dateReader finds the dates in the parts of a text.
type dateReader struct {
	parts                  []datePart
	start                  int // part with which the date begins
	days, months, yearless []dateMention
}

// A dateMention is a date and its byte range in a text in normal form.
type dateMention struct {
	date     Date
	from, to int
}

// Dates finds the days and months that a text names with their years; where it has
// none of these, the days without one. Known are 2023-05-07 or 2023-05, a time behind
// them or none; 7 May 2023; May 7, 2023; May 2023; 7 May; 7.5.2023; 31/5/2023, if the
// day can be no month; 2023年5月7日, and so in Korean. Months are those of English,
// German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Ukrainian and
// Turkish. A year is one from 1900 to 2099.
func Dates(text string) (list []Date) {
	for _, m := range mentionsOf(text) {
		list = append(list, m.date)
	}
	return list
}

// mentionsOf finds the dates that Dates returns.
func mentionsOf(text string) []dateMention {
	if strings.IndexFunc(text, isDigit) < 0 {
		return nil
	}
	r := dateReader{parts: partsOf(normal(text))}
	for i := 0; i < len(r.parts); {
		r.start = i
		i = max(i+1, r.date(i))
	}
	switch {
	case len(r.days) > 0:
		return r.days
	case len(r.months) > 0:
		return r.months
	}
	return r.yearless
}

// isDigit reports the digits of all scripts.
func isDigit(r rune) bool {
	if r >= utf8.RuneSelf {
		r = seen(r)
	}
	return '0' <= r && r <= '9'
}

// date reads a date that begins at a part, and returns where the text goes on; zero if
// there is none.
func (r *dateReader) date(i int) (next int) {
	switch r.at(i).kind {
	case ofDigits:
		if next = r.numeric(i); next == 0 {
			next = r.units(i)
		}
		if next == 0 {
			next = r.dayFirst(i)
		}
	case ofMonth:
		next = r.monthFirst(i)
	}
	return next
}

// at is a part, or one of no kind.
func (r *dateReader) at(i int) datePart {
	if i < 0 || i >= len(r.parts) {
		return datePart{}
	}
	return r.parts[i]
}

// sign is a sign right behind what stands before, if it is one of these.
func (r *dateReader) sign(i int, signs string) rune {
	if p := r.at(i); p.kind != ofNone && !p.gap && strings.ContainsRune(signs, p.kind) {
		return p.kind
	}
	return 0
}

// runsOn reports a number that goes on behind its end: 7.5, 10:30, 1,000.
func (r *dateReader) runsOn(i int, signs string) bool {
	return r.sign(i, signs) != 0 && r.at(i+1).kind == ofDigits && !r.at(i+1).gap
}

// goesOn reports a number that began before it: the 5 of 7.5.
func (r *dateReader) goesOn(i int, signs string) bool {
	return r.at(i).stuck || !r.at(i).gap && r.at(i-2).kind == ofDigits && r.sign(i-1, signs) != 0
}

// short reports a number that may be a day or a month.
func (p datePart) short() bool { return p.kind == ofDigits && p.size <= 2 && !p.stuck }

func (p datePart) isDay() bool { return p.short() && dayTails[p.tail] }

func (p datePart) isYear() bool {
	return p.kind == ofDigits && p.size == 4 && !p.stuck && yearTails[p.tail] && 1900 <= p.value && p.value < 2100
}

// note keeps a date, and returns where the text goes on. A day of zero is a month, a
// year of zero any year.
func (r *dateReader) note(year, month, day, next int) int {
	d, ok := dateOf(year, month, day)
	if !ok {
		return 0
	}
	m := dateMention{d, r.parts[r.start].from, r.parts[next-1].to}
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

// numeric reads three numbers with equal signs between them, the year first or last,
// or a year and a month. After dots there may be spaces.
func (r *dateReader) numeric(i int) int {
	sign := r.sign(i+1, "-./")
	a, b, c := r.at(i), r.at(i+2), r.at(i+4)
	if sign == 0 || r.goesOn(i, "-./:") || a.tail != "" || !b.short() || b.tail != "" || b.gap && sign != '.' {
		return 0
	}
	three := r.sign(i+3, "-./") == sign && c.kind == ofDigits && (!c.gap || sign == '.')
	switch {
	case three && a.isYear() && c.short() && (c.tail == "" || c.tail == "t" && r.at(i+5).kind == ofDigits) && (sign != '.' || c.gap || b.size+c.size == 4):
		return r.note(a.value, b.value, c.value, i+5)
	case a.isYear() && sign == '-' && !r.runsOn(i+3, "."):
		return r.note(a.value, b.value, 0, i+3)
	case three && a.short() && c.isYear() && !r.runsOn(i+5, ".-/"):
		day, month := a.value, b.value
		if sign != '.' && day <= 12 {
			if day, month = month, day; day <= 12 && day != month {
				return 0 // in some countries the day comes first, in others the month
			}
		}
		return r.note(c.value, month, day, i+5)
	}
	return 0
}

// units reads 2023年5月7日, 2023年5月 and 5月7日, and the same in Korean.
func (r *dateReader) units(i int) int {
	year, at := 0, i
	if r.at(i).isYear() && is(r.at(i+1), "年년") {
		year, at = r.at(i).value, i+2
		if is(r.at(at), "の") {
			at++
		}
	} else if is(r.at(i-1), "年년") {
		return 0 // of an era, or of long ago
	}
	month, day := r.at(at), r.at(at+2)
	switch {
	case !month.short() || !is(r.at(at+1), "月월"):
		return 0
	case day.short() && is(r.at(at+3), "日号일"):
		return r.note(year, month.value, day.value, at+4)
	case year > 0:
		return r.note(year, month.value, 0, at+2)
	}
	return 0
}

func is(p datePart, signs string) bool {
	return p.kind != ofNone && strings.ContainsRune(signs, p.kind)
}

// dayFirst reads 7 May 2023, 7. Mai 2023, 7 de mayo de 2023, 07/May/2023, 7 мая.
func (r *dateReader) dayFirst(i int) int {
	day, at := r.at(i), i+1
	if !day.isDay() || r.goesOn(i, ".,:/") {
		return 0
	}
	if r.sign(at, ".-/") != 0 {
		at++
	}
	if r.at(at).kind == ofLink {
		at++
	}
	name := r.at(at)
	if name.kind != ofMonth {
		return 0
	}
	if end := r.yearAt(at + 1); end > 0 {
		return r.note(r.at(end-1).value, name.month.number, day.value, end)
	}
	return r.anyYear(day, name, at+1)
}

// monthFirst reads May 7, 2023, May 7 and May 2023, mayo de 2023.
func (r *dateReader) monthFirst(i int) int {
	name, at := r.at(i), i+1
	if r.sign(at, ".") != 0 {
		at++
	}
	if day := r.at(at); name.month.english && day.isDay() && !r.runsOn(at+1, ".,:") {
		if end := r.yearAt(at + 1); end > 0 {
			return r.note(r.at(end-1).value, name.month.number, day.value, end)
		}
		return r.anyYear(day, name, at+1)
	}
	if end := r.yearAt(i + 1); end > 0 && !name.month.short && !r.runsOn(end, "-/") {
		return r.note(r.at(end-1).value, name.month.number, 0, end)
	}
	return 0
}

// yearAt is where a year ends that belongs to what stands before it, or zero.
func (r *dateReader) yearAt(i int) int {
	if r.sign(i, ".,-/") != 0 {
		i++
	}
	if r.at(i).kind == ofLink {
		i++
	}
	if r.at(i).isYear() {
		return i + 1
	}
	return 0
}

// anyYear notes a day without a year, if it is one beyond doubt.
func (r *dateReader) anyYear(day, name datePart, next int) int {
	if name.month.short || name.month.doubt && !name.capital && day.tail == "" {
		return 0
	}
	return r.note(0, name.month.number, day.value, next)
}
