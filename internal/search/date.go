package search

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Date is a day or a month that a query names: from its first day to its last, in
// days since 1970.
type Date struct{ from, to int64 }

const monthNames = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`

// How dates are written: 2023-05-07 or 2023-05, a time behind them or none; 7 May
// 2023; May 7, 2023; May 2023; 7.5.2023. A year belongs to each.
var (
	isoDate   = regexp.MustCompile(`\b((?:19|20)\d\d)-(\d\d?)(?:-(\d\d?))?(?:\b|t\d)`)
	dayMonth  = regexp.MustCompile(`\b(\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?` + monthNames + `,?\s+((?:19|20)\d\d)\b`)
	monthDay  = regexp.MustCompile(`\b` + monthNames + `\s+(\d\d?)(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)\b`)
	monthYear = regexp.MustCompile(`\b` + monthNames + `,?\s+(?:of\s+)?((?:19|20)\d\d)\b`)
	dotted    = regexp.MustCompile(`\b(\d\d?)\.(\d\d?)\.((?:19|20)\d\d)\b`)
)

var months = map[string]int{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}

// Dates finds the days and months that a text names with their years.
func Dates(text string) (list []Date) {
	if !hasYear(text) {
		return nil
	}
	text = strings.ToLower(text)
	add := func(year, month, day string) {
		m, named := months[month[:min(3, len(month))]]
		if !named {
			m = number(month)
		}
		if d, ok := dateOf(number(year), m, number(day)); ok {
			list = append(list, d)
		}
	}
	for _, m := range isoDate.FindAllStringSubmatch(text, -1) {
		add(m[1], m[2], m[3])
	}
	for _, m := range dotted.FindAllStringSubmatch(text, -1) {
		add(m[3], m[2], m[1])
	}
	for _, m := range dayMonth.FindAllStringSubmatch(text, -1) {
		add(m[3], m[2], m[1])
	}
	for _, m := range monthDay.FindAllStringSubmatch(text, -1) {
		add(m[3], m[1], m[2])
	}
	if len(list) > 0 {
		return list
	}
	for _, m := range monthYear.FindAllStringSubmatch(text, -1) {
		add(m[2], m[1], "")
	}
	return list
}

// hasYear reports four digits in a row.
func hasYear(s string) bool {
	run := 0
	for i := range len(s) {
		if class[s[i]] != digit {
			run = 0
		} else if run++; run == 4 {
			return true
		}
	}
	return false
}

// daySize is the length of a day in ISO 8601: 2023-05-07.
const daySize = 10

// timed reports whether a day ends at a place in a text and the T of its time
// stands there, as in 2023-05-07T21:30 (ISO 8601, RFC 3339): the day is a word of its
// own.
func timed(s string, at int) bool {
	if at < daySize || at+1 >= len(s) || s[at]|0x20 != 't' || class[s[at+1]] != digit {
		return false
	}
	for i, c := range []byte(s[at-daySize : at]) {
		if dash := i == 4 || i == 7; dash != (c == '-') || !dash && class[c] != digit {
			return false
		}
	}
	return true
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

// dateOf is a day, or a month where day is zero.
func dateOf(year, month, day int) (Date, bool) {
	if month < 1 || month > 12 || day < 0 || day > 31 {
		return Date{}, false
	}
	if day == 0 {
		return Date{dayOf(time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)), dayOf(time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC))}, true
	}
	d := dayOf(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC))
	return Date{d, d}, true
}

func dayOf(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / 86400)) }

// What a date in a query adds to a memory of that day, of the best score, and
// after how many days a third of it is left.
const (
	dateShare = .2
	dateFades = 15
)

// dateHead is how much of a text is looked at for its date.
const dateHead = 80

// Near lifts a hit whose memory is of a day that was asked for, or near it. best is
// the best score of all.
func (h Hit) Near(asked []Date, title, content string, best float32) Hit {
	if len(asked) > 0 {
		h.Score += h.factor * best * float32(dateShare*nearness(asked, title, content, h.Created))
	}
	return h
}

// nearness is 1 for a memory of a day that was asked for, and falls with the days
// between. A memory is of the day that its title or its first words name, or else
// of the one on which it was made.
func nearness(asked []Date, title, content string, created int64) (best float64) {
	own := Dates(title)
	if len(own) == 0 {
		own = Dates(content[:forward(content, dateHead)])
	}
	if len(own) == 0 {
		d := dayOf(time.UnixMicro(created))
		own = []Date{{d, d}}
	}
	for _, a := range asked {
		for _, d := range own {
			between := max(0, a.from-d.to, d.from-a.to)
			best = max(best, math.Exp(-float64(between)/dateFades))
		}
	}
	return best
}
