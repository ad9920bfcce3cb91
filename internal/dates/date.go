package dates

import (
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/analysis"
)

// A Date is a day or a month in a text, from its first day to its last. Days count from 1970. A yearly date recurs
// every year and is stored in the year 2000.
type Date struct {
	from, to int64
	yearly   bool
}

// newDate returns a day. If day is 0, it returns a month; if year is 0, a yearly date.
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

// nearestTo returns the date in the year that brings it nearest to a day.
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

// daysBetween returns the number of days between two dates.
func (d Date) daysBetween(e Date) int64 { return max(0, d.from-e.to, e.from-d.to) }

// dateDecayDays is the distance in days at which a third of the proximity remains.
const dateDecayDays = 15

// dateScanRunes is the length of the start of a text that is searched for its date.
const dateScanRunes = 80

// Proximity returns 1 for a memory of a day in the query, and less with the days between. The day of a memory is in its
// title or its first words, or else the day of its creation. A day without a year may be any, so both count.
func Proximity(asked []Date, title, content string, created int64) (best float64) {
	own, made := Parse(title), unixDay(time.UnixMicro(created))
	if len(own) == 0 {
		own = Parse(content[:analysis.RunePrefixLen(content, dateScanRunes)])
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

// Mentions reports whether a text contains one of the dates.
func Mentions(text string, asked []Date) bool {
	return slices.ContainsFunc(Parse(text), func(d Date) bool {
		return slices.ContainsFunc(asked, func(a Date) bool {
			a, d := a.nearestTo(d.from), d.nearestTo(a.from)
			return a.from <= d.from && d.to <= a.to
		})
	})
}
