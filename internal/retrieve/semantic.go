package retrieve

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/vector"
)

// searchSemantic is the semantic retriever. It reads the vectors with the nearest codes of all workspaces, and those of
// the best keyword hits. It ranks them by their dot products with the query.
func (s *searchRun) searchSemantic() error {
	if err := s.scoreNearest(minCandidates, s.hits[:min(len(s.hits), crossScoredHits)]); err != nil || s.q.Hybrid {
		return err // keyword hits of a hybrid search bring neighbors
	}
	for _, w := range s.workspaces {
		if len(w.semanticHits) == 0 {
			continue
		}
		if err := s.withSnapshot(w, func() error {
			w.semanticHits = query.BoostNeighbors(w.snapshot, w.semanticHits, semanticNeighborWeights, s.filter,
				int64(s.src.Now()))
			return nil
		}); err != nil {
			return err
		}
	}
	s.nearest = mergeHits(s.workspaces, semanticHits, math.MaxInt)
	return s.widenCandidates()
}

// widenCandidates compares more vectors when a page needs more memories than they have. The new ones follow behind, so
// that earlier pages do not change.
func (s *searchRun) widenCandidates() error {
	for many := minCandidates; !s.exhausted && len(s.nearest) < s.want && many < maxCandidates; {
		many *= 2
		if err := s.scoreNearest(many, nil); err != nil {
			return err
		}
	}
	return nil
}

// appendUnfused adds near memories that were not among the fused candidates. Chunks of few memories may have taken all
// their places.
func (s *searchRun) appendUnfused() error {
	err := s.widenCandidates()
	s.hits = appendBelow(s.hits, s.nearest)
	return err
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

// scoreNearest ranks many of the nearest chunks of all workspaces, and some chunks of the best keyword hits. Memories
// that an earlier call did not score follow behind those that it did.
func (s *searchRun) scoreNearest(many int, best []query.Hit) error {
	scans, err := s.scanCodes(many, best)
	if err != nil {
		return err
	}
	for _, w := range s.workspaces {
		w.semanticHits = nil
	}
	s.exhausted = true
	for i, scan := range scans {
		picked, exhausted := scan.Nearest()
		s.exhausted = s.exhausted && exhausted
		if err := s.exactScores(s.vectors[i], picked); err != nil {
			return err
		}
	}
	s.nearest = appendBelow(s.nearest, mergeHits(s.workspaces, semanticHits, math.MaxInt))
	return nil
}

// scanCodes scans the codes of all workspaces, those of each generation with the vector of the query in it.
func (s *searchRun) scanCodes(many int, best []query.Hit) ([]*vector.Scan, error) {
	generations, scans := make([]string, len(s.q.Embeddings)), make([]*vector.Scan, len(s.q.Embeddings))
	for i, m := range s.q.Embeddings {
		if len(s.vectors) == i {
			s.vectors = append(s.vectors, vector.NewQueryVector(m.Vector))
		}
		generations[i], scans[i] = m.Generation, vector.NewScan(s.vectors[i], many)
	}
	return scans, s.src.BinaryCodes(generations, func(workspace int64, generation string,
		codes *vector.BinaryCodes) error {
		w := s.workspaceByID(workspace)
		if w == nil {
			return nil
		}
		scan := scans[slices.Index(generations, generation)]
		for _, h := range w.keywordHits {
			if len(best) == 0 || query.CompareHits(h, best[len(best)-1]) > 0 {
				break
			}
			scan.AddMemory(workspace, codes, h.Memory, chunksPerCrossScoredHit)
		}
		return s.withSnapshot(w, func() error {
			scan.Add(workspace, codes, w.snapshot.Filtered(s.filter))
			return nil
		})
	})
}

// exactScores compares vectors whole. It adds them to the hits of their workspaces.
func (s *searchRun) exactScores(q *vector.QueryVector, picked []vector.Ref) error {
	keys := make([]int64, len(picked))
	for i, v := range picked {
		keys[i] = v.Key
	}
	var scored []scoredChunk
	var invalid error
	if err := s.src.Vectors(keys, func(i, chunk int, encoded []byte) {
		score, err := q.Dot(encoded)
		invalid = errors.Join(invalid, err)
		scored = append(scored, scoredChunk{picked[i], chunk, score})
	}); err != nil || invalid != nil {
		return errors.Join(err, invalid)
	}
	slices.SortFunc(scored, func(a, b scoredChunk) int { return cmp.Compare(a.Workspace, b.Workspace) })
	for len(scored) > 0 {
		w, n := s.workspaceByID(scored[0].Workspace), 1
		for n < len(scored) && scored[n].Workspace == scored[0].Workspace {
			n++
		}
		if err := s.withSnapshot(w, func() error {
			w.semanticHits = query.MaxPerMemory(s.chunkHits(w, scored[:n]))
			return nil
		}); err != nil {
			return err
		}
		scored = scored[n:]
	}
	return nil
}

// A scoredChunk is a chunk with the dot product of its whole vector.
type scoredChunk struct {
	vector.Ref
	chunk int
	score float32
}

// chunkHits returns the hits of chunks of one workspace.
func (s *searchRun) chunkHits(w *workspaceSearch, list []scoredChunk) []query.Hit {
	hits := make([]query.Hit, 0, len(list))
	for _, x := range list {
		if segment, doc := w.snapshot.Locate(x.Memory); doc >= 0 {
			hits = append(hits, query.NewVectorHit(w.snapshot, segment, doc, x.chunk+1, x.score, int64(s.src.Now())))
		}
	}
	return hits
}
