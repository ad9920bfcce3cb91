package retrieve

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/vector"
)

// searchSemantic is the semantic retriever. It reads the vectors with the nearest codes and those of the best keyword
// hits. It ranks them by their dot products with the query.
func (s *searchRun) searchSemantic() error {
	return s.eachWithCodes(func(w *workspaceSearch) error {
		if err := s.scoreNearest(w, minCandidates); err != nil || s.q.Hybrid { // keyword hits bring neighbors then
			return err
		}
		w.semanticHits = query.BoostNeighbors(w.snapshot, w.semanticHits, semanticNeighborWeights, s.filter,
			int64(s.src.Now()))
		return s.widenCandidates(w)
	})
}

// eachWithCodes calls f for each workspace that answers from vectors, with its codes and its snapshot.
func (s *searchRun) eachWithCodes(f func(*workspaceSearch) error) error {
	if len(s.workspaces) == 0 {
		return nil
	}
	generations := make([]string, len(s.q.Embeddings))
	for i, m := range s.q.Embeddings {
		generations[i] = m.Generation
	}
	if s.vectors == nil {
		s.vectors = map[string]*vector.QueryVector{}
	}
	return s.src.BinaryCodes(generations, func(workspace int64, generation string, codes *vector.BinaryCodes) error {
		w := s.workspaceByID(workspace)
		if w == nil {
			return nil
		}
		if s.vectors[generation] == nil {
			s.vectors[generation] = vector.NewQueryVector(s.q.Embeddings[slices.Index(generations, generation)].Vector)
		}
		w.codes, w.queryVector = codes, s.vectors[generation]
		err := s.withSnapshot(w, func() error { return f(w) })
		w.codes = nil
		return err
	})
}

// widenCandidates compares more chunks of one workspace when a page needs more memories. The new ones follow behind, so
// that earlier pages do not change.
func (s *searchRun) widenCandidates(w *workspaceSearch) error {
	for many := minCandidates; s.mayWiden(w) && many < maxCandidates; {
		many *= 2
		if err := s.scoreNearest(w, many); err != nil {
			return err
		}
	}
	return nil
}

// appendUnfused adds near memories that were not among the fused candidates. Chunks of few memories may have taken all
// their places.
func (s *searchRun) appendUnfused() error {
	if slices.ContainsFunc(s.workspaces, s.mayWiden) {
		if err := s.eachWithCodes(s.widenCandidates); err != nil {
			return err
		}
	}
	s.hits = appendBelow(s.hits, mergeHits(s.workspaces, semanticHits, math.MaxInt))
	return nil
}

// mayWiden reports whether a page needs more memories of a workspace that has more vectors.
func (s *searchRun) mayWiden(w *workspaceSearch) bool {
	return w.queryVector != nil && !w.exhausted && len(w.semanticHits) < s.want
}

// appendBelow appends hits that are not in a list, with lower scores than its last.
func appendBelow(list, more []query.Hit) []query.Hit {
	if len(list) == 0 {
		return more
	}
	known := map[int64]bool{}
	for _, h := range list {
		known[h.Memory] = true
	}
	below := math.Nextafter32(list[len(list)-1].Score, float32(math.Inf(-1)))
	for _, h := range more {
		if !known[h.Memory] {
			h.Score = min(h.Score, below)
			list = append(list, h)
		}
	}
	return list
}

// scoreNearest ranks the nearest chunks of a workspace and some chunks of the best keyword hits. many is the number of
// the nearest. Memories that an earlier call did not score follow behind those that it did.
func (s *searchRun) scoreNearest(w *workspaceSearch, many int) error {
	picked := w.codes.Nearest(w.snapshot.Filtered(s.filter), w.queryVector, many)
	w.exhausted = len(picked) < many
	for _, h := range w.keywordHits[:min(len(w.keywordHits), crossScoredHits)] {
		picked = w.codes.NearestInMemory(picked, h.Memory, w.queryVector, chunksPerCrossScoredHit)
	}
	// Reading in the order of the table reads less of it. A vector that was picked by its codes precedes the same one
	// of a keyword hit, because its location is known.
	slices.SortStableFunc(picked, func(a, b vector.Ref) int { return cmp.Compare(a.Key, b.Key) })
	picked = slices.CompactFunc(picked, func(a, b vector.Ref) bool { return a.Key == b.Key })
	chunks, err := s.exactScores(w, picked)
	if err == nil {
		w.semanticHits = appendBelow(w.semanticHits, query.MaxPerMemory(chunks))
	}
	return err
}

// exactScores compares vectors whole, in the order of their keys.
func (s *searchRun) exactScores(w *workspaceSearch, picked []vector.Ref) (hits []query.Hit, err error) {
	keys := make([]int64, len(picked))
	for i, v := range picked {
		keys[i] = v.Key
	}
	hits = make([]query.Hit, 0, len(picked))
	var invalid error
	err = s.src.Vectors(w.state.Workspace, keys, func(i, chunk int, encoded []byte) {
		score, err := w.queryVector.Dot(encoded)
		invalid = errors.Join(invalid, err)
		segment, doc, known := picked[i].Location()
		if !known {
			segment, doc = w.snapshot.Locate(picked[i].Memory)
		}
		if doc >= 0 {
			hits = append(hits, query.NewVectorHit(w.snapshot, segment, doc, chunk+1, score, int64(s.src.Now())))
		}
	})
	return hits, errors.Join(err, invalid)
}
