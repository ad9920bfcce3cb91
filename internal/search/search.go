package search

import (
	"math/bits"
	"slices"
	"sync"
)

// Hit is a document that a search found.
type Hit struct {
	Memory, Created int64
	Score           float32
	Passage         int // whose meaning counted, from 1 on; 0 if none did

	factor float32 // in the score: what the memory's state makes of it
	lift   float32 // in the score: what puts it first as exactly what was asked for
	code   uint8   // of its length
}

// Result is what a search found: the best hits first (ties by lower memory), and
// how many documents match in all.
type Result struct {
	Hits  []Hit
	Total int

	idf   []float32 // of the query's terms; zero for those that nothing holds
	norms *norms
	docs  int // of the workspace
}

// Search ranks the documents that hold any of the query's terms and that the
// filter admits, and returns the best k. now is in microseconds: documents whose
// validity has ended by then count .8 of their score, and reviewed ones a little
// more than others.
func (v *View) Search(fetch Fetch, q Query, f Filter, now int64, k int) (r Result, err error) {
	if v.docs == 0 || q.Empty() {
		return r, nil
	}
	s := searches.Get().(*searching)
	s.start(v, fetch)
	r.idf, r.norms, r.docs = make([]float32, len(q.terms)), v.norms(), v.docs
	for i, t := range q.terms {
		if r.idf[i], err = s.term(t); err != nil {
			return Result{}, err // s may hold scores: it does not go back
		}
	}
	s.top.reset(k)
	s.collect(&f, now)
	r.Total = s.total
	r.Hits = s.best(now)
	s.view, s.fetch, s.reader = nil, nil, reader{}
	searches.Put(s)
	return r, nil
}

// searching is the working memory of one search: a score for each document, and
// a bit for each that has one. Each segment begins at a multiple of 64; the
// unfolded rows come last.
type searching struct {
	view   *View
	fetch  Fetch
	scores []float32
	seen   []uint64
	reader reader
	union  union
	hits   hits
	ends   []int // in hits, by segment
	found  []scored
	total  int
	top    top
}

var searches = sync.Pool{New: func() any {
	s := new(searching)
	s.top.memory = s.memory
	return s
}}

// padded is the room that n documents take.
func padded(n int) int { return (n + 63) &^ 63 }

func (s *searching) start(v *View, fetch Fetch) {
	s.view, s.fetch, s.total = v, fetch, 0
	n := padded(len(v.rows))
	for _, g := range v.segments {
		n += padded(g.docs())
	}
	if n > len(s.scores) {
		s.scores, s.seen = make([]float32, n), make([]uint64, n/64)
	}
}

// term adds one term to the scores and returns its weight in this workspace. The
// postings are decoded first, because the weight needs to know how many of their
// documents live.
func (s *searching) term(t queryTerm) (float32, error) {
	s.hits.reset()
	s.ends = s.ends[:0]
	base := 0
	for _, g := range s.view.segments {
		if err := s.segment(g, t, base); err != nil {
			return 0, err
		}
		s.ends = append(s.ends, len(s.hits.docs))
		base += padded(g.docs())
	}
	s.unfolded(t, base)
	df := len(s.hits.docs)
	if df == 0 {
		return 0, nil
	}
	weight := idf(s.view.docs, df)
	s.add(t.weight * weight)
	return weight, nil
}

func (s *searching) segment(g *Segment, t queryTerm, base int) error {
	from := len(s.hits.docs)
	s.reader.start(g, s.fetch, t.text, t.last())
	for s.reader.next() {
		if t.kin != nil && !t.kin.has(s.reader.block.term) {
			continue
		}
		if err := s.reader.block.decode(&s.hits, uint32(base), g.docs()); err != nil {
			return err
		}
	}
	if s.reader.err != nil {
		return s.reader.err
	}
	if t.kin != nil {
		s.union.of(&s.hits, from, base, g.docs())
	}
	if g.dead == nil {
		return nil
	}
	to := from
	for i := from; i < len(s.hits.docs); i++ {
		if !isSet(g.dead, int(s.hits.docs[i])-base) {
			s.hits.docs[to], s.hits.freqs[to] = s.hits.docs[i], s.hits.freqs[i]
			to++
		}
	}
	s.hits.docs, s.hits.freqs = s.hits.docs[:to], s.hits.freqs[:to]
	return nil
}

// unfolded adds the unfolded rows that hold a term or any word of a family.
func (s *searching) unfolded(t queryTerm, base int) {
	if t.kin == nil {
		s.rows(t.text, base)
		return
	}
	from := len(s.hits.docs)
	for _, w := range t.kin.words {
		s.rows(w, base)
	}
	s.union.of(&s.hits, from, base, len(s.view.rows))
}

// rows adds the unfolded rows that hold a word.
func (s *searching) rows(term string, base int) {
	for _, p := range s.view.tail.postings(term) {
		if int(p.doc) >= len(s.view.rows) {
			break
		}
		if !isSet(s.view.dead, int(p.doc)) {
			s.hits.docs = append(s.hits.docs, uint32(base)+p.doc)
			s.hits.freqs = append(s.hits.freqs, p.freq)
		}
	}
}

func (s *searching) add(weight float32) {
	n := s.view.norms()
	from, base := 0, 0
	for i, g := range s.view.segments {
		s.scatter(n, weight, g.codes, from, s.ends[i], base)
		from, base = s.ends[i], base+padded(g.docs())
	}
	s.scatter(n, weight, s.view.codes, from, len(s.hits.docs), base)
}

// scatter adds the decoded postings from one segment. The conversion keeps
// product and sum apart: a fused one would round differently on other machines.
func (s *searching) scatter(n *norms, weight float32, codes []uint8, from, to, base int) {
	freqs := s.hits.freqs[from:to]
	for i, doc := range s.hits.docs[from:to] {
		s.scores[doc] += float32(weight * n.of(freqs[i], codes[int(doc)-base]))
		s.seen[doc/64] |= 1 << (doc % 64)
	}
}

// collect filters and ranks the documents that have a score, and takes the
// scores away for the next search. Of a document that is not among the best
// nothing but its score is looked at, as a rule: the columns lie far apart in memory.
func (s *searching) collect(f *Filter, now int64) {
	base := 0
	for _, g := range s.view.segments {
		s.found = s.take(s.found[:0], base, g.docs())
		if gate := f.gate(g.columns); !gate.open() {
			s.found = slices.DeleteFunc(s.found, func(x scored) bool { return !gate.admits(g.columns, int(x.doc)) })
		}
		s.total += len(s.found)
		for _, x := range s.found {
			if x.score*reviewed >= s.top.least {
				s.top.add(scored{x.doc + uint32(base), x.score * standing(g.validUntil(int(x.doc)), g.isVerified(int(x.doc)), now)})
			}
		}
		base += padded(g.docs())
	}
	for _, x := range s.take(s.found[:0], base, len(s.view.rows)) {
		if a := &s.view.rows[x.doc]; f.admits(a) {
			s.total++
			s.top.add(scored{x.doc + uint32(base), x.score * standing(a.ValidUntil, a.Verified, now)})
		}
	}
}

// best are the best documents, best first.
func (s *searching) best(now int64) []Hit {
	s.top.cut()
	hits := make([]Hit, len(s.top.list))
	for i, x := range s.top.list {
		g, doc := s.of(x)
		h := &hits[i]
		h.Score = x.score
		if g == nil {
			a := &s.view.rows[doc]
			h.Memory, h.Created, h.factor, h.code = a.Memory, a.Created, standing(a.ValidUntil, a.Verified, now), s.view.codes[doc]
		} else {
			h.Memory, h.Created, h.factor, h.code = g.memories[doc], g.created[doc], standing(g.validUntil(doc), g.isVerified(doc), now), g.codes[doc]
		}
	}
	Sort(hits)
	return hits
}

// of is the segment of what has a score, none for an unfolded row, and which of its
// documents or rows it is.
func (s *searching) of(x scored) (*Segment, int) {
	doc := int(x.doc)
	for _, g := range s.view.segments {
		n := padded(g.docs())
		if doc < n {
			return g, doc
		}
		doc -= n
	}
	return nil, doc
}

func (s *searching) memory(x scored) int64 {
	g, doc := s.of(x)
	if g == nil {
		return s.view.rows[doc].Memory
	}
	return g.memories[doc]
}

// standing is what the state of a memory makes of its score.
func standing(validUntil int64, verified bool, now int64) float32 {
	switch {
	case validUntil != 0 && validUntil <= now:
		return expired
	case verified:
		return reviewed
	}
	return 1
}

// take appends the documents of one segment that have a score, and clears them.
func (s *searching) take(found []scored, base, n int) []scored {
	scores, seen := s.scores[base:base+padded(n)], s.seen[base/64:(base+padded(n))/64]
	for i, w := range seen {
		seen[i] = 0
		for ; w != 0; w &= w - 1 {
			doc := i*64 + bits.TrailingZeros64(w)
			found = append(found, scored{uint32(doc), scores[doc]})
			scores[doc] = 0
		}
	}
	return found
}

// scored is a document with its score: its ordinal in one segment, or its place among
// all scores.
type scored struct {
	doc   uint32
	score float32
}
