package retrieve

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/query"
)

// A rankingKey is a query for an owner: no owner gets a ranking of another one's query.
type rankingKey struct {
	owner        loci.ID
	text, filter string
}

// rankingKey returns the key of this search.
func (s *searchRun) rankingKey() rankingKey {
	workspaces := make([]int64, len(s.workspaces))
	for i, w := range s.workspaces {
		workspaces[i] = w.state.Workspace
	}
	return rankingKey{s.src.CacheOwner(), s.q.Text, fmt.Sprintf("%v %#v", workspaces, s.filter)}
}

// A cachedRanking is a result of the keyword retriever. The next page, the following hybrid search or an equal query
// uses it. A search first compares the states of the indexes, and ranks again if one changed.
type cachedRanking struct {
	expiresAt  loci.Time // when it is too old, or a memory expires
	forFusion  bool
	depth      int // hits that it has, if there are so many
	workspaces []*workspaceSearch
	total      int
	topHit     TopHit
}

// rankingSize returns about the size of a ranking in RAM. Queries that no workspace has rewritten share their terms.
func rankingSize(key rankingKey, r *cachedRanking) int {
	n := int(unsafe.Sizeof(key)) + len(key.owner) + len(key.text) + len(key.filter) + int(unsafe.Sizeof(*r))
	var shared *query.Query
	for _, w := range r.workspaces {
		n += int(unsafe.Sizeof(*w)) + 8 + cap(w.keywordHits)*int(unsafe.Sizeof(query.Hit{}))
		if shared == nil || !w.query.SharesTerms(shared) {
			n += w.query.SizeBytes()
			shared = &w.query
		}
	}
	return n
}

// needsFusionDepth reports whether the ranking must be deep enough to be fused.
func (s *searchRun) needsFusionDepth() bool { return s.q.Hybrid || s.q.MayFuse }

// lookupRanking takes the cached ranking of the same query, if it is still valid.
func (s *searchRun) lookupRanking(key rankingKey) bool {
	known := s.searcher.rankings.Get(key)
	if known == nil || s.q.Text == "" || s.needsFusionDepth() && !known.forFusion || s.want > known.depth ||
		s.src.Now() >= known.expiresAt || !s.sameStates(known.workspaces) {
		return false
	}
	for i, w := range known.workspaces {
		s.workspaces[i].query, s.workspaces[i].keywordHits = w.query, w.keywordHits
	}
	s.result.KeywordCandidates, s.result.TopHit, s.result.CacheHit = known.total, known.topHit, true
	if b := s.q.previous; b != nil && s.sameStates(b.workspaces) {
		s.loaded = b.rows
	}
	return true
}

// sameStates reports whether workspaces are those of this search, in the same states.
func (s *searchRun) sameStates(list []*workspaceSearch) bool {
	return slices.EqualFunc(s.workspaces, list, func(a, b *workspaceSearch) bool { return a.state == b.state })
}

// saveRanking caches the ranking, which holds no text of a memory.
func (s *searchRun) saveRanking(key rankingKey) {
	if s.q.Text == "" {
		return
	}
	r := &cachedRanking{expiresAt: s.src.Now() + loci.Time(rankingTTL.Microseconds()), forFusion: s.needsFusionDepth(),
		depth: max(s.want, rescoreDepth), total: s.result.KeywordCandidates, topHit: s.result.TopHit}
	if r.forFusion {
		r.depth = max(r.depth, fusionWindow)
	}
	list := make([]workspaceSearch, len(s.workspaces)) // one allocation
	r.workspaces = make([]*workspaceSearch, len(s.workspaces))
	for i, w := range s.workspaces {
		if w.expiry != 0 {
			r.expiresAt = min(r.expiresAt, loci.Time(w.expiry))
		}
		list[i] = workspaceSearch{state: w.state, query: w.query, keywordHits: w.keywordHits}
		r.workspaces[i] = &list[i]
	}
	s.searcher.rankings.Put(key, r)
}
