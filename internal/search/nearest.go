package search

import (
	"cmp"
	"math/bits"
	"slices"
)

// wideFactor is how many times as many vectors as are wanted are picked by the
// number of signs that differ, before the query's components are weighed. Of the
// ten nearest of 21,000 passages, 200 picked by signs alone hold .983.
const wideFactor = 4

// A Probe is the vector of a query, made ready for a scan.
type Probe struct {
	vector []float32
	bits   []uint64
	sums   [][256]float32 // by byte of a code: the components that its bits stand for
}

// NewProbe makes a vector ready.
func NewProbe(vector []float32) *Probe {
	p := &Probe{vector: vector, bits: make([]uint64, (len(vector)+63)/64), sums: make([][256]float32, (len(vector)+63)/64*8)}
	for i, x := range vector {
		if x >= 0 {
			p.bits[i/64] |= 1 << (i % 64)
		}
		// What the bits below this one stand for is there already.
		sums, bit := p.sums[i/8][:], 1<<(i%8)
		for below := range bit {
			sums[bit+below] = sums[below] + x
		}
	}
	return p
}

// Dot is the product with a stored vector.
func (p *Probe) Dot(stored []byte) (float32, error) { return Dot(p.vector, stored) }

// weigh is half the product with the signs that a code stands for, up to a
// number that is the same for all codes.
func (p *Probe) weigh(code []uint64) (sum float32) {
	for i, w := range code {
		sums := p.sums[i*8 : i*8+8 : i*8+8]
		for b := range sums {
			sum += sums[b][byte(w>>(8*b))]
		}
	}
	return sum
}

func (p *Probe) fits(c *codes) bool { return len(p.bits) == c.words }

// A Vector names a stored vector.
type Vector struct{ Memory, Key int64 }

// Nearest picks the k vectors that promise most of those whose memories the view
// holds and the filter admits, the most promising first.
func (v *View) Nearest(c *Codes, p *Probe, f Filter, k int) []Vector {
	s := scan{view: v, filter: &f, probe: p, want: k * wideFactor, limit: len(p.bits) * 64, counts: make([]int, len(p.bits)*64+1)}
	for _, g := range v.segments {
		s.gates = append(s.gates, f.gate(g.columns))
	}
	if p.fits(c.base) {
		s.places = c.placesIn(v)
		s.run(c.base, c.dead)
	}
	if p.fits(c.fresh) {
		s.places = nil
		s.run(c.fresh, nil)
	}
	return s.best(k)
}

// scan is the state of one Nearest. What differs in more signs than limit has no
// hope: as many as are wanted differ in fewer.
type scan struct {
	view   *View
	filter *Filter
	gates  []gate
	places *places
	probe  *Probe
	want   int
	limit  int
	counts []int // of found, by distance
	within int   // of found, up to limit
	found  []candidate
}

// A candidate is the code number at of some codes.
type candidate struct {
	of       *codes
	at       int32
	distance int32
	score    float32
}

func (c candidate) vector() Vector { return Vector{c.of.memories[c.at], c.of.keys[c.at]} }

func (s *scan) run(c *codes, dead []uint64) {
	for i, d := c.next(0, s.probe.bits, s.limit); i < len(c.keys); i, d = c.next(i+1, s.probe.bits, s.limit) {
		if !isSet(dead, i) && s.admits(c.memories[i], i) {
			s.take(candidate{of: c, at: int32(i), distance: int32(d)})
		}
	}
}

// next finds the first code, from number i on, that differs from another one in at
// most limit signs, and in how many. This loop is most of a search by meaning: with
// the words of 384 dimensions in registers it takes half the time.
func (c *codes) next(i int, other []uint64, limit int) (int, int) {
	if c.words != 6 || len(other) != 6 {
		for ; i < len(c.keys); i++ {
			if d := distance(other, c.code(i)); d <= limit {
				return i, d
			}
		}
		return i, 0
	}
	a, b, e, f, g, h := other[0], other[1], other[2], other[3], other[4], other[5]
	for rest := c.bits[i*6:]; len(rest) >= 6; rest = rest[6:] {
		d := bits.OnesCount64(a^rest[0]) + bits.OnesCount64(b^rest[1]) + bits.OnesCount64(e^rest[2]) +
			bits.OnesCount64(f^rest[3]) + bits.OnesCount64(g^rest[4]) + bits.OnesCount64(h^rest[5])
		if d <= limit {
			return i, d
		}
		i++
	}
	return i, 0
}

func distance(a, b []uint64) (n int) {
	for i, w := range a {
		n += bits.OnesCount64(w ^ b[i])
	}
	return n
}

func (s *scan) take(c candidate) {
	s.found = append(s.found, c)
	s.counts[c.distance]++
	s.within++
	for s.limit > 0 && s.within-s.counts[s.limit] >= s.want {
		s.within -= s.counts[s.limit]
		s.limit--
	}
	if len(s.found) > 4*s.want && len(s.found) > 2*s.within {
		s.prune()
	}
}

// prune drops what has no hope any more.
func (s *scan) prune() {
	s.found = slices.DeleteFunc(s.found, func(c candidate) bool { return int(c.distance) > s.limit })
}

// best weighs what is left and returns the k best.
func (s *scan) best(k int) []Vector {
	s.prune()
	for i := range s.found {
		c := &s.found[i]
		c.score = s.probe.weigh(c.of.code(int(c.at)))
	}
	slices.SortFunc(s.found, func(a, b candidate) int {
		if n := cmp.Compare(b.score, a.score); n != 0 {
			return n
		}
		v, w := a.vector(), b.vector()
		return cmp.Or(cmp.Compare(v.Memory, w.Memory), cmp.Compare(v.Key, w.Key))
	})
	out := make([]Vector, min(k, len(s.found)))
	for i := range out {
		out[i] = s.found[i].vector()
	}
	return out
}

// admits judges the memory of code i, where its place is known, or else wherever
// it is.
func (s *scan) admits(memory int64, i int) bool {
	segment, doc := -1, 0
	if s.places != nil {
		segment, doc = int(s.places.segment[i]), int(s.places.doc[i])
	}
	if segment < 0 || isSet(s.view.segments[segment].dead, doc) {
		segment, doc = s.view.locate(memory)
	}
	switch {
	case segment >= 0:
		return s.gates[segment].admits(s.view.segments[segment].columns, doc)
	case doc >= 0:
		return s.filter.admits(&s.view.rows[doc])
	}
	return false
}

// locate finds the live document of a memory: in a segment, or, where that is
// below zero, in the unfolded rows; doc is below zero if there is none.
func (v *View) locate(memory int64) (segment, doc int) {
	v.tail.mu.RLock()
	row := v.tail.last(memory, len(v.rows))
	v.tail.mu.RUnlock()
	if row >= 0 {
		if isSet(v.dead, row) {
			return -1, -1
		}
		return -1, row
	}
	for i, g := range v.segments {
		if doc, ok := g.find(memory); ok && !isSet(g.dead, doc) {
			return i, doc
		}
	}
	return -1, -1
}

// Keys names the k vectors of a memory that promise most.
func (c *Codes) Keys(memory int64, p *Probe, k int) []Vector {
	s := scan{probe: p}
	of, dead := c.fresh, []uint64(nil)
	from, to := of.of(memory)
	if from == to {
		of, dead = c.base, c.dead
		from, to = of.of(memory)
	}
	if !p.fits(of) {
		return nil
	}
	for i := from; i < to; i++ {
		if !isSet(dead, i) {
			s.found = append(s.found, candidate{of: of, at: int32(i)})
		}
	}
	return s.best(k)
}

// places tells, for each code of a base, where the document of its memory stands
// in some segments: the segment's number, or -1, and the ordinal.
type places struct {
	of      []*columns
	segment []int16
	doc     []uint32
}

// placesIn finds the places in a view's segments, or knows them.
func (c *Codes) placesIn(v *View) *places {
	of := make([]*columns, len(v.segments))
	for i, g := range v.segments {
		of[i] = g.columns
	}
	if known := c.places.Load(); known != nil && slices.Equal(known.of, of) {
		return known
	}
	n := len(c.base.keys)
	p := &places{of, make([]int16, n), make([]uint32, n)}
	for i := range p.segment {
		p.segment[i] = -1
	}
	for i, g := range v.segments {
		p.add(i, g, c.base.memories)
	}
	c.places.Store(p)
	return p
}

// add walks over a segment and the memories of codes, both in order.
func (p *places) add(number int, g *Segment, memories []int64) {
	doc := 0
	for i, m := range memories {
		for doc < len(g.memories) && g.memories[doc] < m {
			doc++
		}
		if doc == len(g.memories) {
			return
		}
		if g.memories[doc] == m && (p.segment[i] < 0 || !isSet(g.dead, doc)) {
			p.segment[i], p.doc[i] = int16(number), uint32(doc)
		}
	}
}

// Stand gives hits by meaning what the state of their memories makes of their
// scores, and sorts them, best first. Those that the view does not hold go.
func (v *View) Stand(hits []Hit, now int64) []Hit {
	out := hits[:0]
	for _, h := range hits {
		segment, doc := v.locate(h.Memory)
		if doc < 0 {
			continue
		}
		if segment >= 0 {
			g := v.segments[segment]
			h.Created, h.factor = g.created[doc], standing(g.validUntil(doc), g.isVerified(doc), now)
		} else {
			a := &v.rows[doc]
			h.Created, h.factor = a.Created, standing(a.ValidUntil, a.Verified, now)
		}
		h.Score *= h.factor
		out = append(out, h)
	}
	Sort(out)
	return out
}
