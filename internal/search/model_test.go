package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// disk keeps blobs as the store would.
type disk struct {
	pages map[int64][][]byte
	heads map[int64][]byte
	dead  map[int64][]byte
}

var errNoPage = errors.New("no such page")

func newDisk() *disk {
	return &disk{map[int64][][]byte{}, map[int64][]byte{}, map[int64][]byte{}}
}

func (d *disk) fetch(segment int64, page int) ([]byte, error) {
	if p := d.pages[segment]; page < len(p) {
		return p[page], nil
	}
	return nil, errNoPage
}

func (d *disk) put(id int64, b Blob) { d.heads[id], d.pages[id] = b.Head, b.Pages }

func (d *disk) open(id int64) (*Segment, error) { return Open(id, d.heads[id], d.dead[id]) }

// workspace is a store in small: a change log, segments and what truly is.
type workspace struct {
	*disk
	truth   map[int64]Change
	changes []Change
	order   []int64
	seq, id int64
	view    *View
}

func newWorkspace() *workspace {
	return &workspace{disk: newDisk(), truth: map[int64]Change{}, view: NewView(nil)}
}

func (w *workspace) write(c Change) {
	w.seq++
	c.Seq = w.seq
	w.changes = append(w.changes, c)
	if c.Gone {
		delete(w.truth, c.Memory)
	} else {
		w.truth[c.Memory] = c
	}
	w.view = w.view.With([]Change{c})
}

// reload builds the view anew from stored bytes.
func (w *workspace) reload() error {
	var segments []*Segment
	for _, id := range w.order {
		s, err := w.open(id)
		if err != nil {
			return err
		}
		segments = append(segments, s)
	}
	w.view = NewView(segments).With(w.changes)
	return nil
}

// fold turns the oldest n changes into a segment.
func (w *workspace) fold(n int) error {
	old := w.changes[:n]
	var killed []int64
	for _, c := range old {
		killed = append(killed, c.Memory)
	}
	blob, err := Build(old)
	if err != nil {
		return err
	}
	if err := w.kill(killed); err != nil {
		return err
	}
	w.id++
	w.put(w.id, blob)
	w.order = append(w.order, w.id)
	w.changes = slices.Clone(w.changes[n:])
	return w.reload()
}

func (w *workspace) kill(memories []int64) error {
	for _, id := range w.order {
		s, err := w.open(id)
		if err != nil {
			return err
		}
		if s, changed := s.Kill(memories); changed {
			w.dead[id] = s.Dead()
		}
	}
	return nil
}

func (w *workspace) merge(from, to int) error {
	var segments []*Segment
	for _, id := range w.order[from:to] {
		s, err := w.open(id)
		if err != nil {
			return err
		}
		segments = append(segments, s)
	}
	blob, err := Merge(context.Background(), w.fetch, segments)
	if err != nil {
		return err
	}
	w.id++
	w.put(w.id, blob)
	w.order = slices.Replace(w.order, from, to, w.id)
	return w.reload()
}

// naive ranks with nothing but maps, by the formula of the package comment.
func (w *workspace) naive(q Query, f Filter, now int64, k int) Result {
	length := int64(0)
	df := make([]int, len(q.terms))
	for _, c := range w.truth {
		length += int64(c.Document.length)
		for i, t := range q.terms {
			if t.in(c.Document) > 0 {
				df[i]++
			}
		}
	}
	norms := newNorms(len(w.truth), length)
	var r Result
	for _, c := range w.truth {
		score, found := float32(0), false
		for i, t := range q.terms {
			if freq := t.in(c.Document); freq > 0 {
				weight := t.weight * idf(len(w.truth), df[i])
				score += float32(weight * norms.compute(freq, int(lengthCode(c.Document.length))))
				found = true
			}
		}
		if found && f.admits(&c.Attributes) {
			r.Total++
			factor := standing(c.ValidUntil, c.Verified, now)
			r.Hits = append(r.Hits, Hit{Memory: c.Memory, Created: c.Created, Score: score * factor, factor: factor, code: lengthCode(c.Document.length)})
		}
	}
	slices.SortFunc(r.Hits, compare)
	r.Hits = r.Hits[:min(k, len(r.Hits))]
	return r
}

// agrees reports whether a search found what a naive one finds, and whether the
// index knows of the best hit which of the query's words it holds.
func (w *workspace) agrees(q Query, got, want Result) bool {
	if !same(got, want) || len(want.Hits) == 0 {
		return same(got, want)
	}
	best := want.Hits[0].Memory
	n, err := w.view.covered(w.fetch, q, best)
	return err == nil && n == covers(w.truth[best].Document, q)
}

// in is how often a document holds a term, or all words of a family together.
func (t queryTerm) in(d Document) (n int) {
	if t.kin == nil {
		return int(d.freq(t.text))
	}
	for _, w := range t.kin.words {
		n += int(d.freq(w))
	}
	return min(n, math.MaxUint8)
}

func covers(d Document, q Query) int {
	groups := map[int]bool{}
	for _, t := range q.terms {
		if t.in(d) > 0 {
			groups[t.group] = true
		}
	}
	return len(groups)
}

func same(a, b Result) bool {
	return a.Total == b.Total && slices.Equal(a.Hits, b.Hits)
}

var vocabulary = func() (list []string) {
	for i := range 60 {
		list = append(list, fmt.Sprintf("%c%cx%c", 'a'+i%7, 'b'+i%5, 'c'+i%11))
	}
	return append(list, "deploy", "deploys", "café", "cafe", "数据库", "数据", "v1.2.3", "getUser", "the")
}()

func someText(r *rand.Rand, n int) string {
	s := ""
	for range n {
		s += vocabulary[min(int(r.ExpFloat64()*12), len(vocabulary)-1)] + " "
	}
	return s
}

func someChange(r *rand.Rand) Change {
	a := Attributes{
		Memory: r.Int64N(120), Atlas: r.Int64N(4), Created: r.Int64N(1 << 50),
		Kind: uint8(r.IntN(6)), Status: uint8(r.IntN(3)), Verified: r.IntN(2) == 0,
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
		return Change{Attributes: a, Gone: true}
	}
	return Change{Attributes: a, Document: Analyze(someText(r, r.IntN(3)), someText(r, r.IntN(400)))}
}

func someFilter(r *rand.Rand) (f Filter) {
	if r.IntN(3) == 0 {
		f.Atlases = []int64{r.Int64N(4), r.Int64N(5)}
	}
	if r.IntN(3) == 0 {
		f.Kinds = r.Uint64N(64)
	}
	if r.IntN(2) == 0 {
		f.Statuses = 1
	}
	if r.IntN(3) == 0 {
		f.Tags = []string{"red", "blue"}[:1+r.IntN(2)]
	}
	return f
}

func TestSearchEqualsANaiveScorer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w := newWorkspace()
		for range 25 {
			if err := w.act(r); err != nil {
				t.Fatal(err)
			}
			q, f, k := Parse(someText(r, 1+r.IntN(6))), someFilter(r), r.IntN(30)
			got, err := w.view.Search(w.fetch, q, f, 500, k)
			if want := w.naive(q, f, 500, k); err != nil || !w.agrees(q, got, want) {
				t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
			}
			if w.view.Docs() != len(w.truth) {
				t.Fatalf("%d documents, want %d", w.view.Docs(), len(w.truth))
			}
		}
	})
}

// Terms of more documents than a block or a page holds, with the memories of
// the segments interleaved and some of them dead.
func TestManyBlocksEqualANaiveScorer(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	w := newWorkspace()
	for part := range 3 {
		for i := range int64(2500) {
			c := someChange(r)
			c.Memory = 3*i + int64(part)
			c.Document = Analyze("", someText(r, 30)+fmt.Sprintf(" rare%d", c.Memory))
			w.changes, w.seq = append(w.changes, c), w.seq+1
			w.changes[len(w.changes)-1].Seq = w.seq
			w.truth[c.Memory] = c
			if c.Gone {
				delete(w.truth, c.Memory)
			}
		}
		if err := w.fold(len(w.changes)); err != nil {
			t.Fatal(err)
		}
	}
	for range 400 {
		c := someChange(r)
		c.Memory = r.Int64N(7500)
		w.write(c)
	}
	steps := []func() error{func() error { return nil }, func() error { return w.merge(0, 2) }, func() error { return w.fold(300) }, func() error { return w.merge(0, 3) }}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			q, f := Parse(someText(r, 1+r.IntN(5))+fmt.Sprintf("rare%d", r.IntN(7500))), someFilter(r)
			got, err := w.view.Search(w.fetch, q, f, 500, 20)
			if want := w.naive(q, f, 500, 20); err != nil || !w.agrees(q, got, want) {
				t.Fatalf("step %d: %v\ngot  %+v\nwant %+v", i, err, got, want)
			}
		}
	}
}

// act does one random thing to the workspace.
func (w *workspace) act(r *rand.Rand) error {
	switch n := r.IntN(10); {
	case n < 7 || len(w.changes) == 0:
		for range 1 + r.IntN(20) {
			w.write(someChange(r))
		}
	case n < 9 || len(w.order) < 2:
		return w.fold(1 + r.IntN(len(w.changes)))
	default:
		from := r.IntN(len(w.order) - 1)
		return w.merge(from, from+2+r.IntN(len(w.order)-from-1))
	}
	return nil
}
