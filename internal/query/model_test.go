package query

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// modelIndex is a small store: an index log, segments, and the live documents as the model.
type modelIndex struct {
	*indextest.Store
	live     map[int64]index.DocUpdate
	changes  []index.DocUpdate
	order    []int64
	seq, id  int64
	snapshot *index.Snapshot
}

func newModelIndex() *modelIndex {
	return &modelIndex{Store: indextest.NewStore(), live: map[int64]index.DocUpdate{}, snapshot: index.NewSnapshot(nil)}
}

func (w *modelIndex) write(c index.DocUpdate) {
	w.seq++
	c.Seq = w.seq
	w.changes = append(w.changes, c)
	if c.Deleted {
		delete(w.live, c.Memory)
	} else {
		w.live[c.Memory] = c
	}
	w.snapshot = w.snapshot.Apply([]index.DocUpdate{c})
}

// reload rebuilds the snapshot from stored bytes.
func (w *modelIndex) reload() error {
	var segments []*index.Segment
	for _, id := range w.order {
		s, err := w.Open(id)
		if err != nil {
			return err
		}
		segments = append(segments, s)
	}
	w.snapshot = index.NewSnapshot(segments).Apply(w.changes)
	return nil
}

// flush builds a segment from the oldest n updates.
func (w *modelIndex) flush(n int) error {
	old := w.changes[:n]
	var deleted []int64
	for _, c := range old {
		deleted = append(deleted, c.Memory)
	}
	blob := index.Build(old)
	if err := w.markDeleted(deleted); err != nil {
		return err
	}
	w.id++
	w.Put(w.id, blob)
	w.order = append(w.order, w.id)
	w.changes = slices.Clone(w.changes[n:])
	return w.reload()
}

func (w *modelIndex) markDeleted(memories []int64) error {
	for _, id := range w.order {
		s, err := w.Open(id)
		if err != nil {
			return err
		}
		if s, changed := s.MarkDeleted(memories); changed {
			w.Tombstones[id] = s.Tombstones()
		}
	}
	return nil
}

func (w *modelIndex) merge(from, to int) error {
	var segments []*index.Segment
	for _, id := range w.order[from:to] {
		s, err := w.Open(id)
		if err != nil {
			return err
		}
		segments = append(segments, s)
	}
	blob, err := index.Merge(context.Background(), w.Fetch, segments)
	if err != nil {
		return err
	}
	w.id++
	w.Put(w.id, blob)
	w.order = slices.Replace(w.order, from, to, w.id)
	return w.reload()
}

// naiveSearch ranks the live documents by the formula of BM25, without an index.
func (w *modelIndex) naiveSearch(q Query, f index.Filter, now int64, k int) Result {
	length := int64(0)
	df := make([]int, len(q.terms))
	for _, c := range w.live {
		length += int64(c.Document.Length)
		for i, t := range q.terms {
			if t.freqIn(c.Document) > 0 {
				df[i]++
			}
		}
	}
	average := max(1, float64(length)/float64(max(len(w.live), 1)))
	var r Result
	for _, c := range w.live {
		score, found := float32(0), false
		code := index.EncodeLength(c.Document.Length)
		norm := index.LengthNorm(index.DecodeLength(code), average)
		for i, t := range q.terms {
			if freq := t.freqIn(c.Document); freq > 0 {
				weight := t.weight * index.IDF(len(w.live), df[i])
				score += float32(weight * index.SaturateTF(float64(freq), norm))
				found = true
			}
		}
		if found && f.Matches(&c.DocAttributes) {
			r.Total++
			factor := stateFactor(c.ValidUntil, c.Verified, now)
			r.Hits = append(r.Hits, Hit{Memory: c.Memory, Created: c.Created, Score: score * factor,
				stateFactor: factor, lengthCode: code})
		}
	}
	slices.SortFunc(r.Hits, CompareHits)
	r.Hits = r.Hits[:min(k, len(r.Hits))]
	return r
}

// matchesNaive reports whether a search has the result of a naive one. The postings of the best hit must have the same
// words of the query.
func (w *modelIndex) matchesNaive(q Query, got, want Result) bool {
	if !sameResult(got, want) || len(want.Hits) == 0 {
		return sameResult(got, want)
	}
	best := want.Hits[0].Memory
	n, err := matchedWords(w.snapshot, w.Fetch, q, best)
	return err == nil && n == coveredWords(w.live[best].Document, q)
}

// matchedWords counts the words of a query in whose postings the live document of a memory is.
func matchedWords(v *index.Snapshot, fetch index.PageFetcher, q Query, memory int64) (int, error) {
	segment, ordinal := v.Locate(memory)
	for i, s := range v.Segments() {
		if segment < 0 || i < segment {
			ordinal += index.PadTo64(s.Docs())
		}
	}
	words := map[int]bool{}
	var r index.PostingsReader
	for _, t := range q.terms {
		if err := r.Read(v, fetch, t.indexTerms()...); err != nil {
			return 0, err
		}
		if _, found := slices.BinarySearch(r.Docs(), uint32(ordinal)); found {
			words[t.wordIndex] = true
		}
	}
	return len(words), nil
}

// freqIn returns the frequency of a term in a document, or that of all terms of an expansion.
func (t queryTerm) freqIn(d index.Document) (n int) {
	if t.expansion == nil {
		return int(indextest.Freq(d, t.text))
	}
	for _, w := range t.expansion.terms {
		n += int(indextest.Freq(d, w))
	}
	return min(n, math.MaxUint8)
}

func coveredWords(d index.Document, q Query) int {
	groups := map[int]bool{}
	for _, t := range q.terms {
		if t.freqIn(d) > 0 {
			groups[t.wordIndex] = true
		}
	}
	return len(groups)
}

func sameResult(a, b Result) bool { return a.Total == b.Total && slices.Equal(a.Hits, b.Hits) }

var modelWords = func() (list []string) {
	for i := range 60 {
		list = append(list, fmt.Sprintf("%c%cx%c", 'a'+i%7, 'b'+i%5, 'c'+i%11))
	}
	return append(list, "deploy", "deploys", "café", "cafe", "数据库", "数据", "v1.2.3", "getUser", "the")
}()

func randomText(r *rand.Rand, n int) string {
	s := ""
	for range n {
		s += modelWords[min(int(r.ExpFloat64()*12), len(modelWords)-1)] + " "
	}
	return s
}

func randomUpdate(r *rand.Rand) index.DocUpdate {
	a := index.DocAttributes{
		Memory: r.Int64N(120), Atlas: r.Int64N(4), Created: r.Int64N(1 << 50),
		Type: uint8(r.IntN(6)), Status: uint8(r.IntN(3)), Verified: r.IntN(2) == 0,
	}
	if r.IntN(4) == 0 {
		a.ValidUntil = r.Int64N(1000) + 1
	}
	for _, t := range []string{"red", "green", "blue"} {
		if r.IntN(3) == 0 {
			a.Tags = append(a.Tags, t)
		}
	}
	if r.IntN(6) == 0 {
		return index.DocUpdate{DocAttributes: a, Deleted: true}
	}
	return index.DocUpdate{DocAttributes: a, Document: index.Analyze(randomText(r, r.IntN(3)),
		randomText(r, r.IntN(400)))}
}

func randomFilter(r *rand.Rand) (f index.Filter) {
	switch r.IntN(12) {
	case 0:
		f.Atlases = []int64{} // none, and not all
	case 1, 2, 3:
		f.Atlases = []int64{r.Int64N(4), r.Int64N(5)}
	}
	if r.IntN(3) == 0 {
		f.Types = r.Uint64N(64)
	}
	if r.IntN(2) == 0 {
		f.Statuses = 1
	}
	if r.IntN(3) == 0 {
		f.Tags = []string{"red", "blue"}[:1+r.IntN(2)]
	}
	return f
}

func TestSearchEqualsNaiveScorer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w := newModelIndex()
		for range 25 {
			testenv.NoError(t, w.randomStep(r))
			q, f, k := Parse(randomText(r, 1+r.IntN(6))), randomFilter(r), r.IntN(30)
			got, err := rank(w.snapshot, w.Fetch, q, f, 500, k)
			if want := w.naiveSearch(q, f, 500, k); err != nil || !w.matchesNaive(q, got, want) {
				t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
			}
			testenv.RequireEqual(t, w.snapshot.LiveDocs(), len(w.live), "documents")
		}
	})
}

// Terms have several blocks and pages. The memories of the segments are interleaved, and some are deleted.
func TestSearchEqualsNaiveScorerWithManyBlocks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	w := newModelIndex()
	for part := range 3 {
		for i := range int64(2500) {
			c := randomUpdate(r)
			c.Memory = 3*i + int64(part)
			c.Document = index.Analyze("", randomText(r, 30)+fmt.Sprintf(" rare%d", c.Memory))
			w.changes, w.seq = append(w.changes, c), w.seq+1
			w.changes[len(w.changes)-1].Seq = w.seq
			w.live[c.Memory] = c
			if c.Deleted {
				delete(w.live, c.Memory)
			}
		}
		testenv.NoError(t, w.flush(len(w.changes)))
	}
	for range 400 {
		c := randomUpdate(r)
		c.Memory = r.Int64N(7500)
		w.write(c)
	}
	steps := []func() error{func() error { return nil }, func() error { return w.merge(0, 2) }, func() error {
		return w.flush(300)
	}, func() error { return w.merge(0, 3) }}
	for i, step := range steps {
		testenv.NoError(t, step())
		for range 8 {
			q, f := Parse(randomText(r, 1+r.IntN(5))+fmt.Sprintf("rare%d", r.IntN(7500))), randomFilter(r)
			got, err := rank(w.snapshot, w.Fetch, q, f, 500, 20)
			if want := w.naiveSearch(q, f, 500, 20); err != nil || !w.matchesNaive(q, got, want) {
				t.Fatalf("step %d: %v\ngot  %+v\nwant %+v", i, err, got, want)
			}
		}
	}
}

// randomStep writes random updates, flushes or merges.
func (w *modelIndex) randomStep(r *rand.Rand) error {
	switch n := r.IntN(10); {
	case n < 7 || len(w.changes) == 0:
		for range 1 + r.IntN(20) {
			w.write(randomUpdate(r))
		}
	case n < 9 || len(w.order) < 2:
		return w.flush(1 + r.IntN(len(w.changes)))
	default:
		from := r.IntN(len(w.order) - 1)
		return w.merge(from, from+2+r.IntN(len(w.order)-from-1))
	}
	return nil
}
