package query

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/index"
)

// Hit is a document found by a search.
type Hit struct {
	Memory, Created int64
	Score           float32
	Chunk           int // number of the chunk nearest in meaning, from 1 on; 0 if none

	stateFactor float32 // factor in the score: see stateFactor
	exactBoost  float32 // addend in the score: see BoostExact
	lengthCode  uint8   // length of the document: see index.EncodeLength
}

// rawScore returns the score without the factor of the state.
func (h *Hit) rawScore() float32 {
	if h.Score < 0 {
		return h.Score * h.stateFactor
	}
	return h.Score / h.stateFactor
}

// setRawScore sets the score to one with the factor of the state. A negative score is divided by the factor, which
// would raise those of expired memories otherwise.
func (h *Hit) setRawScore(raw float32) {
	if h.Score = raw * h.stateFactor; raw < 0 {
		h.Score = raw / h.stateFactor
	}
}

// Result is the result of a search. It has the best hits first, ties by lower memory id, and the number of all matching
// documents.
type Result struct {
	Hits  []Hit
	Total int

	idf      []float32 // of the terms of the query; zero for terms that do not occur
	bm25     *index.BM25Table
	docCount int // documents of the workspace
}

// rank ranks the documents that have any term of a query and that the filter admits. It returns the k best. Expired and
// verified memories have a factor in their scores: see stateFactor.
func rank(v *index.Snapshot, fetch index.PageFetcher, q Query, f index.Filter, now int64, k int) (r Result, err error) {
	if v.LiveDocs() == 0 || q.Empty() {
		return r, nil
	}
	s := scorerPool.Get().(*scorer)
	s.reset(v, fetch)
	r.idf, r.bm25, r.docCount = make([]float32, len(q.terms)), v.BM25(), v.LiveDocs()
	s.findAbsent(&q)
	for i, t := range q.terms {
		if s.absent[i] {
			continue
		}
		if r.idf[i], err = s.scoreTerm(t); err != nil {
			return Result{}, err // s may hold scores, so it does not return to the pool
		}
	}
	s.top.reset(k, q.minScore)
	s.collect(&f, now)
	r.Total = s.total
	r.Hits = s.topHits(now)
	s.snapshot, s.fetch = nil, nil
	s.postings.Release()
	scorerPool.Put(s)
	return r, nil
}

// scorer is the working memory of one search. It has a score for each document, and a bit set of the documents with
// one. Ordinals are those of index.PostingsReader.
type scorer struct {
	snapshot   *index.Snapshot
	fetch      index.PageFetcher
	scores     []float32
	hasScore   []uint64
	postings   index.PostingsReader
	absent     []bool // terms that certainly do not occur
	scoredDocs []scoredDoc
	total      int
	top        topN
}

var scorerPool = sync.Pool{New: func() any {
	s := new(scorer)
	s.top.memoryOf = s.memoryOf
	return s
}}

func (s *scorer) reset(v *index.Snapshot, fetch index.PageFetcher) {
	s.snapshot, s.fetch, s.total = v, fetch, 0
	n := index.PadTo64(len(v.Rows()))
	for _, g := range v.Segments() {
		n += index.PadTo64(g.Docs())
	}
	if n > len(s.scores) {
		s.scores, s.hasScore = make([]float32, n), make([]uint64, n/64)
	}
}

// findAbsent asks the Bloom filters for all terms at once, so that the processor waits for memory once.
func (s *scorer) findAbsent(q *Query) {
	s.absent = s.absent[:0]
	for i := range q.terms {
		t := &q.terms[i]
		s.absent = append(s.absent, t.expansion == nil && s.snapshot.Excludes(s.fetch, t.hash))
	}
}

// scoreTerm adds one term to the scores and returns its IDF, or zero for a term of no live document. The postings are
// read first, because the IDF needs the number of their live documents.
func (s *scorer) scoreTerm(t queryTerm) (float32, error) {
	if err := s.postings.Read(s.snapshot, s.fetch, t.indexTerms()...); err != nil {
		return 0, err
	}
	df := len(s.postings.Docs())
	if df == 0 {
		return 0, nil
	}
	weight := index.IDF(s.snapshot.LiveDocs(), df)
	s.accumulateTerm(t.weight * weight)
	return weight, nil
}

// accumulateTerm adds the scores of a term from the postings just read.
func (s *scorer) accumulateTerm(weight float32) {
	t, ends := s.snapshot.BM25(), s.postings.SegmentEnds()
	from, base := 0, 0
	for i, g := range s.snapshot.Segments() {
		s.accumulate(t, weight, g.LengthCodes(), from, ends[i], base)
		from, base = ends[i], base+index.PadTo64(g.Docs())
	}
	s.accumulate(t, weight, s.snapshot.RowLengthCodes(), from, len(s.postings.Docs()), base)
}

// accumulate adds the scores of the postings of one segment. The conversion keeps product and sum apart, because a
// fused multiply-add would round differently on other machines.
func (s *scorer) accumulate(t *index.BM25Table, weight float32, codes []uint8, from, to, base int) {
	freqs := s.postings.Freqs()[from:to]
	for i, doc := range s.postings.Docs()[from:to] {
		s.scores[doc] += float32(weight * t.TF(freqs[i], codes[int(doc)-base]))
		s.hasScore[doc/64] |= 1 << (doc % 64)
	}
}

// collect filters and ranks the documents with a score, and clears the scores. Attributes are read only for documents
// that may be among the best, because the columns are far apart in memory.
func (s *scorer) collect(f *index.Filter, now int64) {
	base := 0
	for _, g := range s.snapshot.Segments() {
		s.scoredDocs = s.drainScores(s.scoredDocs[:0], base, g.Docs())
		if filter := g.Filter(f); !filter.MatchesAll() {
			s.scoredDocs = slices.DeleteFunc(s.scoredDocs, func(x scoredDoc) bool {
				return !filter.Matches(int(x.doc))
			})
		}
		s.total += len(s.scoredDocs)
		for _, x := range s.scoredDocs {
			if x.score*verifiedFactor >= s.top.threshold {
				s.top.add(scoredDoc{x.doc + uint32(base), x.score * stateFactor(g.ValidUntil(int(x.doc)),
					g.IsVerified(int(x.doc)), now)})
			}
		}
		base += index.PadTo64(g.Docs())
	}
	for _, x := range s.drainScores(s.scoredDocs[:0], base, len(s.snapshot.Rows())) {
		if a := &s.snapshot.Rows()[x.doc]; f.Matches(a) {
			s.total++
			s.top.add(scoredDoc{x.doc + uint32(base), x.score * stateFactor(a.ValidUntil, a.Verified, now)})
		}
	}
}

// topHits returns the best documents, best first.
func (s *scorer) topHits(now int64) []Hit {
	s.top.trim()
	hits := make([]Hit, len(s.top.list))
	for i, x := range s.top.list {
		segment, doc := s.locate(x)
		hits[i] = newHit(s.snapshot, segment, doc, now)
		hits[i].Score = x.score
	}
	SortHits(hits)
	return hits
}

// newHit returns a hit without a score. Segment -1 is the memtable.
func newHit(v *index.Snapshot, segment, doc int, now int64) Hit {
	if segment < 0 {
		a := &v.Rows()[doc]
		return Hit{Memory: a.Memory, Created: a.Created, stateFactor: stateFactor(a.ValidUntil, a.Verified, now),
			lengthCode: v.RowLengthCodes()[doc]}
	}
	g := v.Segments()[segment]
	return Hit{Memory: g.Memories()[doc], Created: g.Created(doc),
		stateFactor: stateFactor(g.ValidUntil(doc), g.IsVerified(doc), now), lengthCode: g.LengthCodes()[doc]}
}

// locate returns the segment of a document, or -1 for the memtable, and its ordinal there.
func (s *scorer) locate(x scoredDoc) (segment, doc int) {
	doc = int(x.doc)
	for i, g := range s.snapshot.Segments() {
		n := index.PadTo64(g.Docs())
		if doc < n {
			return i, doc
		}
		doc -= n
	}
	return -1, doc
}

func (s *scorer) memoryOf(x scoredDoc) int64 {
	segment, doc := s.locate(x)
	if segment < 0 {
		return s.snapshot.Rows()[doc].Memory
	}
	return s.snapshot.Segments()[segment].Memories()[doc]
}

// Factors in the scores of expired and of verified memories. An expired memory stays behind an equal one that is valid.
// A verified memory wins against nearly equal ones alone. No dataset has such memories, so neither factor was measured.
const (
	expiredFactor  = .8
	verifiedFactor = 1.03
)

// stateFactor returns the factor of the state of a memory in its score.
func stateFactor(validUntil int64, verified bool, now int64) float32 {
	switch {
	case validUntil != 0 && validUntil <= now:
		return expiredFactor
	case verified:
		return verifiedFactor
	}
	return 1
}

// drainScores appends the documents of one segment with a score, and clears their scores.
func (s *scorer) drainScores(found []scoredDoc, base, n int) []scoredDoc {
	scores, seen := s.scores[base:base+index.PadTo64(n)], s.hasScore[base/64:(base+index.PadTo64(n))/64]
	for i, w := range seen {
		seen[i] = 0
		for ; w != 0; w &= w - 1 {
			doc := i*64 + bits.TrailingZeros64(w)
			found = append(found, scoredDoc{uint32(doc), scores[doc]})
			scores[doc] = 0
		}
	}
	return found
}

// scoredDoc is a document with its score. The ordinal is that in one segment, or that among all documents.
type scoredDoc struct {
	doc   uint32
	score float32
}

// NewVectorHit returns the hit of a chunk found by its vector. The score is the dot product with the vector of the
// query. Segment -1 is the memtable.
func NewVectorHit(v *index.Snapshot, segment, doc, chunk int, score float32, now int64) Hit {
	h := newHit(v, segment, doc, now)
	h.Score, h.Chunk = score, chunk
	return h
}
