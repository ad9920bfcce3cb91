package search

import (
	"math"
	"time"
)

// A Date is a day or a month that a text names: from its first day to its last, in
// days since 1970. A yearly one is of every year, and written in that of 2000.
type Date struct {
	from, to int64
	yearly   bool
}

// isoDateLen is the length of a day in ISO 8601: 2023-05-07.
const isoDateLen = 10

// endsDateOfDateTime reports whether a day ends at a place in a text and the T of its time
// stands there, as in 2023-05-07T21:30 (ISO 8601, RFC 3339): the day is a word of its
// own.
func endsDateOfDateTime(s string, at int) bool {
	if at < isoDateLen || at+1 >= len(s) || s[at]|0x20 != 't' || byteClass[s[at+1]] != digit {
		return false
	}
	for i, c := range []byte(s[at-isoDateLen : at]) {
		if dash := i == 4 || i == 7; dash != (c == '-') || !dash && byteClass[c] != digit {
			return false
		}
	}
	return true
}

// newDate is a day, or a month where day is zero, of every year where year is.
func newDate(year, month, day int) (Date, bool) {
	yearly := year == 0
	if yearly {
		year = 2000
	}
	first := time.Date(year, time.Month(month), max(1, day), 0, 0, 0, 0, time.UTC)
	if month < 1 || int(first.Month()) != month {
		return Date{}, false
	}
	last := first
	if day == 0 {
		last = first.AddDate(0, 1, -1)
	}
	return Date{unixDay(first), unixDay(last), yearly}, true
}

func unixDay(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / secondsOfDay)) }

const secondsOfDay = 86400

// nearestTo is the date in the year in which it is nearest to a day.
func (d Date) nearestTo(day int64) Date {
	if !d.yearly {
		return d
	}
	t, year := time.Unix(d.from*secondsOfDay, 0).UTC(), time.Unix(day*secondsOfDay, 0).UTC().Year()
	in := func(year int) Date {
		n := unixDay(time.Date(year, t.Month(), t.Day(), 0, 0, 0, 0, time.UTC))
		return Date{from: n, to: n}
	}
	best := in(year)
	for _, other := range []Date{in(year - 1), in(year + 1)} {
		if best.daysBetween(Date{from: day, to: day}) > other.daysBetween(Date{from: day, to: day}) {
			best = other
		}
	}
	return best
}

// daysBetween is how many days are between two dates.
func (d Date) daysBetween(e Date) int64 { return max(0, d.from-e.to, e.from-d.to) }

// What a date in a query adds to a memory of that day, of the best score, beside what
// its words weigh (see DateLift), and after how many days a third of it is left.
const (
	dateBoostWeight = .3
	dateDecayDays   = 15
)

// dateScanRunes is how much of a text is looked at for its date.
const dateScanRunes = 80

// BoostDate lifts a hit whose memory is of a day that was asked for, or near it, by a
// part of the lift of these dates: see DateLift.
func (h Hit) BoostDate(asked []Date, title, content string, boost float32) Hit {
	if len(asked) > 0 {
		near := dateProximity(asked, title, content, h.Created)
		if near < mentionShare && mentions(content[:runePrefixLen(content, mentionRunes)], asked) {
			near = mentionShare
		}
		h.Score += h.stateFactor * float32(boost*float32(near))
	}
	return h
}

// dateProximity is 1 for a memory of a day that was asked for, and falls with the days
// between. A memory is of the day that its title or its first words name, or else
// of the one on which it was made; of both if a day has no year, which may be any.
func dateProximity(asked []Date, title, content string, created int64) (best float64) {
	own, made := Dates(title), unixDay(time.UnixMicro(created))
	if len(own) == 0 {
		own = Dates(content[:runePrefixLen(content, dateScanRunes)])
	}
	if len(own) == 0 || own[0].yearly {
		own = append(own, Date{from: made, to: made})
	}
	for _, a := range asked {
		for _, d := range own {
			d = d.nearestTo(made)
			between := a.nearestTo(d.from).daysBetween(d)
			best = max(best, math.Exp(-float64(between)/dateDecayDays))
		}
	}
	return best
}
