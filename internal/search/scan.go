package search

import (
	"cmp"
	"math/bits"
	"slices"
)

// scan is the state of one Nearest. What differs in more signs than limit has no
// hope: as many as are wanted differ in fewer.
type scan struct {
	view   *View
	filter *Filter
	gates  []gate
	probe  *Probe
	parts  []scanned
	want   int

	trusting bool // all are taken to be admitted

	limit  int
	counts []int // of found, by distance
	within int   // of found, up to limit
	found  []candidate
}

// scanned are codes that are looked at. Numbers of codes go on from one to the next.
type scanned struct {
	*codes
	dead   []uint64
	places *places // nil if they are not known
	first  int     // number of the first code
}

// A candidate is a code by its number.
type candidate struct {
	at, distance int32
	score        float32
}

// sampled is how many of those that are wanted a sample holds, about. Twice as many
// come together by chance once in a thousand times.
const sampled = 12

// stride is from one code of the sample to the next.
func (s *scan) stride() int { return max(1, s.want/sampled) }

// neighbours is how many codes of a sample stand side by side: memory is read in lines.
const neighbours = 4

// guess is a limit within which a sample promises twice as many as are wanted.
// Without it a scan takes five times as many before it knows how few have hope.
// Whether a memory is admitted is asked of the nearest alone, for it is slow.
func (s *scan) guess(all int) int {
	var sample []candidate
	for _, p := range s.parts {
		for from := 0; from < len(p.keys); from += neighbours * s.stride() {
			for i := from; i < min(from+neighbours, len(p.keys)); i++ {
				sample = append(sample, candidate{at: int32(p.first + i), distance: int32(distance(s.probe.bits, p.code(i)))})
			}
		}
	}
	counts := make([]int, all+1)
	for _, c := range sample {
		counts[c.distance]++
	}
	admitted, seen := make([]int, all+1), 0
	for from, want := 0, 2*sampled; from <= all; want *= 4 {
		to := from
		for n := counts[from]; n < want && to < all; n += counts[to] {
			to++
		}
		for _, c := range sample {
			if d := int(c.distance); d >= from && d <= to {
				if p, i := s.of(c); s.admits(p, i) {
					admitted[d]++
				}
			}
		}
		for ; from <= to; from++ {
			if seen += admitted[from]; seen >= 2*sampled {
				return from
			}
		}
	}
	return all
}

// run takes what differs in at most limit signs, and reports how many there are; it
// stops to count when there are as many as are wanted in fewer signs.
func (s *scan) run(limit int) int {
	s.limit, s.within = limit, 0
	s.counts, s.found = make([]int, limit+1), make([]candidate, 0, 3*s.want)
	for _, p := range s.parts {
		for i, d := p.next(0, s.probe.bits, s.limit); i < len(p.keys); i, d = p.next(i+1, s.probe.bits, s.limit) {
			if s.admits(&p, i) {
				s.take(candidate{at: int32(p.first + i), distance: int32(d)})
			}
		}
	}
	return s.within
}

// next finds the first code, from number i on, that differs from another one in at
// most limit signs, and in how many. This loop is most of a search by meaning: four
// codes of 384 dimensions at a time take two thirds of the time.
func (c *codes) next(i int, other []uint64, limit int) (int, int) {
	if c.words == 6 && len(other) == 6 {
		q := (*[6]uint64)(other)
		for rest := c.bits[i*6:]; len(rest) >= 24; rest = rest[24:] {
			if d := distance6(q, (*[6]uint64)(rest)); d <= limit {
				return i, d
			}
			if d := distance6(q, (*[6]uint64)(rest[6:])); d <= limit {
				return i + 1, d
			}
			if d := distance6(q, (*[6]uint64)(rest[12:])); d <= limit {
				return i + 2, d
			}
			if d := distance6(q, (*[6]uint64)(rest[18:])); d <= limit {
				return i + 3, d
			}
			i += 4
		}
	}
	for ; i < len(c.keys); i++ {
		if d := distance(other, c.code(i)); d <= limit {
			return i, d
		}
	}
	return i, 0
}

func distance(a, b []uint64) (n int) {
	for i, w := range a {
		n += bits.OnesCount64(w ^ b[i])
	}
	return n
}

func distance6(a, b *[6]uint64) int {
	return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
		bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4]) + bits.OnesCount64(a[5]^b[5])
}

func (s *scan) take(c candidate) {
	s.found = append(s.found, c)
	s.counts[c.distance]++
	s.within++
	for s.limit > 0 && s.within-s.counts[s.limit] >= s.want {
		s.within -= s.counts[s.limit]
		s.limit--
	}
	if len(s.found) == cap(s.found) && len(s.found) > 2*s.within {
		s.prune()
	}
}

// prune drops what has no hope any more.
func (s *scan) prune() {
	s.found = slices.DeleteFunc(s.found, func(c candidate) bool { return int(c.distance) > s.limit })
}

// weigh gives what was found its scores.
func (s *scan) weigh() {
	for n := range s.found {
		p, i := s.of(s.found[n])
		s.found[n].score = s.probe.weigh(p.code(i))
	}
}

// cut leaves the k of what was found that weigh most, in no order.
func (s *scan) cut(k int) {
	if len(s.found) > k {
		part(s.found, k, s.compare)
		s.found = s.found[:k]
	}
}

// compare orders candidates, the better first.
func (s *scan) compare(a, b candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	p, i := s.of(a)
	q, j := s.of(b)
	return cmp.Or(cmp.Compare(p.memories[i], q.memories[j]), cmp.Compare(p.keys[i], q.keys[j]))
}

// of is where the code of a candidate stands.
func (s *scan) of(c candidate) (*scanned, int) {
	last := len(s.parts) - 1
	for last > 0 && int(c.at) < s.parts[last].first {
		last--
	}
	return &s.parts[last], int(c.at) - s.parts[last].first
}

// admits judges the memory of a code, as far as it is not trusted.
func (s *scan) admits(p *scanned, i int) bool {
	return s.trusting && !isSet(p.dead, i) || s.admitted(p, i)
}

// admitted judges the memory of a code.
func (s *scan) admitted(p *scanned, i int) bool {
	if isSet(p.dead, i) {
		return false
	}
	switch segment, doc := s.locate(p, i); {
	case segment >= 0:
		return s.gates[segment].admits(s.view.segments[segment].columns, doc)
	case doc >= 0:
		return s.filter.admits(&s.view.rows[doc])
	}
	return false
}

// locate finds the document of a code's memory, where its place is known, or else
// wherever it is.
func (s *scan) locate(p *scanned, i int) (segment, doc int) {
	if p.places != nil {
		segment, doc = int(p.places.segment[i]), int(p.places.doc[i])
		if segment >= 0 && !isSet(s.view.segments[segment].dead, doc) {
			return segment, doc
		}
	}
	return s.view.locate(p.memories[i])
}
