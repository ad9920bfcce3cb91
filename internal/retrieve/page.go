package retrieve

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/query"
)

// buildPage returns a page of the hits. Scores have four digits.
func (s *searchRun) buildPage(before SeenSet, limit int) (Result, error) {
	hits, more, shown := s.nextPage(before, limit)
	s.result.loaded = &loadedRows{s.workspaces, s.loaded}
	for _, w := range s.workspaces { // a search that follows uses the rest
		w.snapshot, w.isHeld, w.semanticHits = nil, false, nil
	}
	s.result.Ignored, s.result.Corrected = s.queryRewrites()
	fit, err := s.fillPage(hits)
	if err != nil {
		return s.result, err
	}
	if fit < len(hits) {
		hits, more, shown = s.nextPage(before, fit)
	}
	s.result.HasMore, s.result.Seen = more, shown
	s.result.Hits = make([]Hit, 0, len(hits))
	for _, h := range hits {
		if x := s.loaded[h.Memory]; x != nil {
			s.result.Hits = append(s.result.Hits, Hit{x.memory, math.Round(float64(h.Score)*1e4) / 1e4,
				s.matchText(x).Content, h.Chunk})
		}
	}
	return s.result, nil
}

// nextPage returns the best hits that were not shown before, whether more follow, and the memories shown with these.
func (s *searchRun) nextPage(before SeenSet, limit int) (hits []query.Hit, more bool, shown SeenSet) {
	known, next := before.tags(), []byte(before)
	for _, h := range s.hits {
		m := s.searcher.seenTag(h.Memory)
		switch {
		case known[m]:
		case len(hits) == limit:
			return hits, true, SeenSet(next)
		default:
			hits, next = append(hits, h), append(next, m[:]...)
		}
	}
	return hits, false, SeenSet(next)
}

// fillPage reads the memories of hits in batches. It returns the number of hits that fit on a page.
func (s *searchRun) fillPage(hits []query.Hit) (int, error) {
	var budget page.Budget
	for i := 0; i < len(hits); i += page.MemoriesPerQuery {
		some := hits[i:min(i+page.MemoriesPerQuery, len(hits))]
		if err := s.loadRows(some); err != nil {
			return 0, err
		}
		for j, h := range some {
			if x := s.loaded[h.Memory]; x != nil && !budget.Spend(page.JSONSize(&x.memory)+highlightBytes) {
				return i + j, nil
			}
		}
	}
	return len(hits), nil
}

// loadRows reads the memories of hits that were not read before.
func (s *searchRun) loadRows(hits []query.Hit) error {
	var rowIDs []int64
	for _, h := range hits {
		if s.loaded[h.Memory] == nil {
			rowIDs = append(rowIDs, h.Memory)
		}
	}
	if len(rowIDs) == 0 {
		return nil
	}
	return s.src.LoadMemories(rowIDs, func(rowID, workspace int64, m loci.Memory) {
		if w := s.workspaceByID(workspace); w != nil {
			s.loaded[rowID] = &loadedMemory{memory: m, workspace: w}
		}
	})
}

// workspaceByID returns the search in a workspace, or nil.
func (s *searchRun) workspaceByID(id int64) *workspaceSearch {
	i, found := slices.BinarySearchFunc(s.workspaces, id, func(w *workspaceSearch, id int64) int {
		return cmp.Compare(w.state.Workspace, id)
	})
	if !found {
		return nil
	}
	return s.workspaces[i]
}
