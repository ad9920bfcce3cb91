package query

import (
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/dates"
)

// BoostDate lifts a hit whose memory is of a day that was asked for, or near it, by a
// part of the lift of these dates: see DateLift.
func (h Hit) BoostDate(asked []dates.Date, title, content string, boost float32) Hit {
	if len(asked) > 0 {
		near := dates.Proximity(asked, title, content, h.Created)
		if near < mentionProximity && dates.Mentions(content[:analysis.RunePrefixLen(content, mentionRunes)], asked) {
			near = mentionProximity
		}
		h.Score += h.stateFactor * float32(boost*float32(near))
	}
	return h
}

// dateBoostWeight is the part of the best score that a date in a query adds to a memory of that day, beside the weight
// of its words.
const dateBoostWeight = .3

// dateWordWeight is the factor in the weight of the words of a date in a query, because
// the date lifts the memories of its day already (see Near). It is a power of two, so
// that a division takes it out again without a rounding error.
const dateWordWeight = .5

// inDate reports whether a term is a word of a date. A date that is one identifier, such
// as 2023-05-07, keeps its weight: a text with that identifier names the very day.
func (p *parser) inDate(r analysis.TokenType) bool {
	if len(p.dates) == 0 || r == analysis.Identifier || r == analysis.Joined {
		return false
	}
	from, to := p.SourceOffsets()
	return slices.ContainsFunc(p.dates, func(d [2]int) bool { return d[0] <= from && to <= d[1] })
}

// DateBoost returns what a date in a query adds to the score of a memory of that day: what
// its words add to others, and a share of the best score of all.
func (r Result) DateBoost(q Query, best float32) float32 {
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
	mentionProximity = .5
	mentionRunes     = 16 << 10
)
