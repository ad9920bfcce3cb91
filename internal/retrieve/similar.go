package retrieve

import (
	"errors"
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// SimilarLimits bound the search for similar memories.
type SimilarLimits struct {
	least      float32 // cosine, after the factor of the state
	most       int     // memories
	candidates int     // vectors that are compared whole at first
}

// Similar returns the memories with a similar meaning. The mean of the chunks of the memory is compared with the best
// chunk of each other one.
func (e *Searcher) Similar(src SimilarSource, n SimilarLimits) ([]loci.Similarity, error) {
	list, err := e.similarMeaning(src, n)
	if errors.Is(err, indexdb.ErrStale) { // texts alone answer while the index changes
		return nil, nil
	}
	return list, err
}

func (e *Searcher) similarMeaning(src SimilarSource, n SimilarLimits) ([]loci.Similarity, error) {
	memory, vectors, err := src.Embeddings()
	if err != nil || len(vectors) == 0 {
		return nil, err
	}
	s := e.newRun(src, Query{Embeddings: []Embedding{{Vector: vector.Mean(vectors)}}}, n.most)
	if err := s.readStates(); err != nil {
		return nil, err
	}
	if err := s.scoreNearest(n.candidates, nil); err != nil {
		return nil, err
	}
	if err := s.widenCandidates(); err != nil {
		return nil, err
	}
	return similarFromHits(src, n, s.nearest, memory)
}

// similarFromHits returns the hits that are near enough and readable, without one memory.
func similarFromHits(src SimilarSource, n SimilarLimits, hits []query.Hit,
	except int64) (list []loci.Similarity, err error) {
	scores := map[int64]float64{}
	var rowIDs []int64
	for _, h := range hits[:min(len(hits), n.most+1)] {
		if h.Memory != except && h.Score >= n.least {
			rowIDs, scores[h.Memory] = append(rowIDs, h.Memory), math.Round(min(float64(h.Score), 1)*1e4)/1e4
		}
	}
	err = src.Readable(rowIDs, func(rowID int64, id loci.ID, title string) {
		list = append(list, loci.Similarity{ID: id, Score: scores[rowID], Title: title})
	})
	return list, err
}
