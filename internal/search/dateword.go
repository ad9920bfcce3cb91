package search

import "slices"

// dateWordWeight is the factor in the weight of the words of a date in a query, because
// the date lifts the memories of its day already (see Near). It is a power of two, so
// that a division takes it out again without a rounding error.
const dateWordWeight = .5

// dateRanges returns the byte ranges of the dates in a text.
func dateRanges(text string) (list [][2]int) {
	m := offsetMap{source: text}
	for _, x := range mentionsOf(text) {
		m.from, m.to = x.from, x.to
		from, to := m.sourceOffsets(0)
		list = append(list, [2]int{from, to})
	}
	return list
}

// inDate reports whether a term is a word of a date. A date that is one identifier, such
// as 2023-05-07, keeps its weight: a text with that identifier names the very day.
func (p *parser) inDate(r tokenType) bool {
	if len(p.dates) == 0 || r == identifier || r == joined {
		return false
	}
	from, to := p.sourceOffsets()
	return slices.ContainsFunc(p.dates, func(d [2]int) bool { return d[0] <= from && to <= d[1] })
}

// DateLift returns what a date in a query adds to the score of a memory of that day: what
// its words add to others, and a share of the best score of all.
func (r Result) DateLift(q Query, best float32) float32 {
	boost := float32(dateBoostWeight * best)
	for i, t := range q.terms {
		if t.dated && i < len(r.idf) {
			boost += float32(t.weight * r.idf[i])
		}
	}
	return boost
}

// Bounds of the dates that a text mentions anywhere: the share of the lift that a
// mention earns, and the characters of a text that are read for it.
const (
	mentionShare = .5
	mentionRunes = 16 << 10
)

// mentions reports whether a text names one of the dates.
func mentions(text string, asked []Date) bool {
	return slices.ContainsFunc(Dates(text), func(d Date) bool {
		return slices.ContainsFunc(asked, func(a Date) bool {
			a, d := a.nearestTo(d.from), d.nearestTo(a.from)
			return a.from <= d.from && d.to <= a.to
		})
	})
}
