package store

import (
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/query"
)

// A rankingKey is a question and who asks it: nobody is served by what another has
// asked.
type rankingKey struct{ user, text, filter string }

// A cachedRanking is the keyword leg of a search, kept for who asks for the next page, for
// meaning too, or again. Nothing in it is believed: a search has read the states of
// the indexes first, and what was ranked in another state is ranked anew.
type cachedRanking struct {
	expiresAt  loci.Time // when it is too old, or a memory expires
	forFusion  bool
	depth      int // hits that it has, if there are so many
	workspaces []*workspaceSearch
	total      int
	topHit     TopHit
}

// Bounds of the rankings: how many, and for how long.
const (
	maxRankings = 256
	rankingTTL  = 10 * time.Second
)

func (s *searchRun) needsFusionDepth() bool { return s.q.Hybrid || s.q.MayFuse }

// lookupRanking takes the ranking of the same question from before, if it still holds.
func (s *searchRun) lookupRanking(key rankingKey) bool {
	known := s.t.store.rankings.Get(key)
	if known == nil || s.q.Text == "" || s.needsFusionDepth() && !known.forFusion || s.want > known.depth ||
		s.t.conn.Now >= known.expiresAt ||
		!s.sameStates(known.workspaces) {
		return false
	}
	for i, p := range known.workspaces {
		s.workspaces[i].query, s.workspaces[i].keywordHits = p.query, p.keywordHits
	}
	s.result.KeywordCount, s.result.TopHit, s.result.CacheHit = known.total, known.topHit, true
	if b := s.q.previous; b != nil && s.sameStates(b.workspaces) {
		s.loaded = b.rows
	}
	return true
}

// sameStates reports whether places are those of this search, in the same state.
func (s *searchRun) sameStates(places []*workspaceSearch) bool {
	return slices.EqualFunc(s.workspaces, places, func(a, b *workspaceSearch) bool { return a.state == b.state })
}

// saveRanking keeps the ranking. It holds no text of a memory.
func (s *searchRun) saveRanking(key rankingKey) {
	if s.q.Text == "" {
		return
	}
	r := &cachedRanking{expiresAt: s.t.conn.Now + loci.Time(rankingTTL.Microseconds()), forFusion: s.needsFusionDepth(),
		depth: max(s.want, query.RescoreDepth), total: s.result.KeywordCount, topHit: s.result.TopHit}
	if r.forFusion {
		r.depth = max(r.depth, fusionDepth)
	}
	all := make([]workspaceSearch, len(s.workspaces))
	r.workspaces = make([]*workspaceSearch, len(s.workspaces))
	for i, p := range s.workspaces {
		if t := loci.Time(p.snapshot.NextExpiry(int64(s.t.conn.Now))); t != 0 {
			r.expiresAt = min(r.expiresAt, t)
		}
		all[i] = workspaceSearch{state: p.state, query: p.query, keywordHits: p.keywordHits}
		r.workspaces[i] = &all[i]
	}
	s.t.store.rankings.Put(key, r)
}
