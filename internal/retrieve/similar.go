package retrieve

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// Similar adds the memories with a similar meaning to those with a similar text, best first. The mean of the chunks of
// the memory is compared with the best chunk of each other one.
func (e *Searcher) Similar(src SimilarSource, list []loci.Similarity) ([]loci.Similarity, error) {
	meant, err := e.similarMeaning(src)
	if err != nil && !errors.Is(err, indexdb.ErrStale) { // texts alone answer while the index changes
		return nil, err
	}
	for _, m := range meant {
		if !slices.ContainsFunc(list, func(a loci.Similarity) bool { return a.ID == m.ID }) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b loci.Similarity) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

func (e *Searcher) similarMeaning(src SimilarSource) ([]loci.Similarity, error) {
	memory, vectors, err := src.Embeddings()
	if err != nil || len(vectors) == 0 {
		return nil, err
	}
	s := e.newRun(src, Query{Embeddings: []Embedding{{Vector: vector.Mean(vectors)}}}, maxSimilar)
	if err := s.readStates(); err != nil {
		return nil, err
	}
	if err := s.scoreNearest(minCandidates, nil); err != nil {
		return nil, err
	}
	if err := s.widenCandidates(); err != nil {
		return nil, err
	}
	return similarFromHits(src, s.nearest, memory)
}

// similarFromHits returns the hits that are near enough and readable, without one memory.
func similarFromHits(src SimilarSource, hits []query.Hit, except int64) (list []loci.Similarity, err error) {
	scores := map[int64]float64{}
	var rowIDs []int64
	for _, h := range hits[:min(len(hits), maxSimilar+1)] {
		if h.Memory != except && h.Score >= minSimilarity {
			rowIDs, scores[h.Memory] = append(rowIDs, h.Memory), math.Round(min(float64(h.Score), 1)*1e4)/1e4
		}
	}
	err = src.Readable(rowIDs, func(rowID int64, id loci.ID, title string) {
		list = append(list, loci.Similarity{ID: id, Score: scores[rowID], Title: title})
	})
	return list, err
}
