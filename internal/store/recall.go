package store

import (
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A rankingKey is a question and who asks it: nobody is served by what another has
// asked.
type rankingKey struct{ user, text, filter string }

// A ranking is the keyword leg of a search, kept for who asks for the next page, for
// meaning too, or again. Nothing in it is believed: a search has read the states of
// the indexes first, and what was ranked in another state is ranked anew.
type ranking struct {
	until  loci.Time // when it is too old, or a memory expires
	deep   bool
	enough int // hits that it has, if there are so many
	places []*place
	total  int
	best   Best
}

// Bounds of the rankings: how many, and for how long.
const (
	maxRankings = 256
	rankingAge  = 10 * time.Second
)

func (s *finding) deep() bool { return s.q.Fuse || s.q.Deep }

// recall takes the ranking of the same question from before, if it still holds.
func (s *finding) recall(key rankingKey) bool {
	known := s.t.s.indexes.rankings.get(key)
	if known == nil || s.q.Text == "" || s.deep() && !known.deep || s.want > known.enough || s.t.now >= known.until ||
		!s.unchanged(known.places) {
		return false
	}
	for i, p := range known.places {
		s.places[i].words, s.places[i].hits = p.words, p.hits
	}
	s.found.Total, s.found.Best, s.found.Known = known.total, known.best, true
	if b := s.q.before; b != nil && s.unchanged(b.places) {
		s.rows = b.rows
	}
	return true
}

// unchanged reports whether places are those of this search, in the same state.
func (s *finding) unchanged(places []*place) bool {
	return slices.EqualFunc(s.places, places, func(a, b *place) bool { return a.state == b.state })
}

// remember keeps the ranking. It holds no text of a memory.
func (s *finding) remember(key rankingKey) {
	if s.q.Text == "" {
		return
	}
	r := &ranking{until: s.t.now + loci.Time(rankingAge.Microseconds()), deep: s.deep(), enough: max(s.want, search.Reread), total: s.found.Total, best: s.found.Best}
	if r.deep {
		r.enough = max(r.enough, fusedHits)
	}
	all := make([]place, len(s.places))
	r.places = make([]*place, len(s.places))
	for i, p := range s.places {
		if t := loci.Time(p.view.Expires(int64(s.t.now))); t != 0 {
			r.until = min(r.until, t)
		}
		all[i] = place{state: p.state, words: p.words, hits: p.hits}
		r.places[i] = &all[i]
	}
	s.t.s.indexes.rankings.put(key, r)
}
