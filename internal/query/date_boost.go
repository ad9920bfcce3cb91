package query

import (
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/dates"
)

// BoostDate raises the score of a hit whose memory is of a date of the query, or near it. boost is the addend for the
// very day: see [Result.DateBoost].
func (h Hit) BoostDate(asked []dates.Date, title, content string, boost float32) Hit {
	if len(asked) > 0 {
		near := dates.Proximity(asked, title, content, h.Created)
		if near < mentionProximity && dates.Mentions(content[:analysis.RunePrefixLen(content, mentionRunes)], asked) {
			near = mentionProximity
		}
		h.Score += float32(h.stateFactor * float32(boost*float32(near)))
	}
	return h
}

// dateBoostWeight is the share of the best score that a date adds to a memory of that day. The scores of the words of
// the date are added. Measured on conversations: shares from .2 to .5 are as good.
const dateBoostWeight = .3

// dateWordWeight is the factor in the weight of the words of a date in a query. BoostDate raises memories of that day
// anyway.
const dateWordWeight = .5

// inDate reports whether the current token is a word of a date. A date that is one identifier, such as 2023-05-07,
// keeps its weight. A text with that identifier names the very day.
func (p *parser) inDate(r analysis.TokenType) bool {
	if len(p.dates) == 0 || r == analysis.Identifier || r == analysis.Joined {
		return false
	}
	from, to := p.SourceOffsets()
	return slices.ContainsFunc(p.dates, func(d [2]int) bool { return d[0] <= from && to <= d[1] })
}

// DateBoost returns the addend of a date of the query in the score of a memory of that day. It is the sum of the scores
// of its words and a share of the best score.
func (r Result) DateBoost(q Query, best float32) float32 {
	boost := float32(dateBoostWeight * best)
	for i, t := range q.terms {
		if t.dated && i < len(r.idf) {
			boost += float32(t.weight * r.idf[i])
		}
	}
	return boost
}

// Bounds of dates that a text mentions. They are the proximity of a mention, and the characters of a text that are
// searched.
const (
	mentionProximity = .5
	mentionRunes     = 16 << 10
)
