package vector

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/loci-memory/loci/internal/quickselect"
)

// hammingScan is the state of one call of Nearest. It skips codes beyond maxDistance, which falls when enough nearer
// codes are found.
type hammingScan struct {
	docs   Documents
	query  *QueryVector
	tables []scanTable
	wanted int // number of candidates

	maxDistance int
	counts      []int // candidates by distance
	withinCount int   // candidates up to maxDistance
	candidates  []candidate
}

// scanTable is a table to scan. The numbers of codes continue from one table to the next.
type scanTable struct {
	*codeTable
	replaced    []uint64
	locations   *docLocations // nil if unknown
	firstNumber int           // number of the first code
}

// A candidate is a code by its number, with its Hamming distance to the query and its estimated dot product.
type candidate struct {
	number, distance int32
	score            float32
}

// collect collects the wanted number of nearest codes that match the filter, and those as near as the last of them. It
// lowers maxDistance when enough nearer codes are found.
func (s *hammingScan) collect() {
	s.maxDistance = len(s.query.vector)
	s.counts, s.candidates = make([]int, s.maxDistance+1), make([]candidate, 0, 3*s.wanted)
	for _, t := range s.tables {
		for i, d := t.nextWithin(0, s.query.signBits, s.maxDistance); i < len(t.keys); i, d = t.nextWithin(i+1,
			s.query.signBits, s.maxDistance) {
			if s.matchesFilter(&t, i) {
				s.add(candidate{number: int32(t.firstNumber + i), distance: int32(d)})
			}
		}
	}
	s.prune()
}

// nextWithin returns the first code from number i on within a distance of another one, and its distance. A semantic
// search spends most of its time in this loop. Four codes of 384 dimensions at a time take two thirds of the time.
func (c *codeTable) nextWithin(i int, other []uint64, limit int) (int, int) {
	if c.wordsPerCode == 6 && len(other) == 6 {
		q := (*[6]uint64)(other)
		for rest := c.bits[i*6:]; len(rest) >= 24; rest = rest[24:] {
			if d := hammingDistance384(q, (*[6]uint64)(rest)); d <= limit {
				return i, d
			}
			if d := hammingDistance384(q, (*[6]uint64)(rest[6:])); d <= limit {
				return i + 1, d
			}
			if d := hammingDistance384(q, (*[6]uint64)(rest[12:])); d <= limit {
				return i + 2, d
			}
			if d := hammingDistance384(q, (*[6]uint64)(rest[18:])); d <= limit {
				return i + 3, d
			}
			i += 4
		}
	}
	for ; i < len(c.keys); i++ {
		if d := hammingDistance(other, c.code(i)); d <= limit {
			return i, d
		}
	}
	return i, 0
}

func hammingDistance(a, b []uint64) (n int) {
	for i, w := range a {
		n += bits.OnesCount64(w ^ b[i])
	}
	return n
}

func hammingDistance384(a, b *[6]uint64) int {
	return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
		bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4]) + bits.OnesCount64(a[5]^b[5])
}

func (s *hammingScan) add(c candidate) {
	s.candidates = append(s.candidates, c)
	s.counts[c.distance]++
	s.withinCount++
	for s.maxDistance > 0 && s.withinCount-s.counts[s.maxDistance] >= s.wanted {
		s.withinCount -= s.counts[s.maxDistance]
		s.maxDistance--
	}
	if len(s.candidates) == cap(s.candidates) && len(s.candidates) > 2*s.withinCount {
		s.prune()
	}
}

// prune removes candidates beyond maxDistance.
func (s *hammingScan) prune() {
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return int(c.distance) > s.maxDistance })
}

// keepBest keeps the k candidates with the highest estimated dot products, in no order.
func (s *hammingScan) keepBest(k int) {
	if len(s.candidates) <= k {
		return
	}
	for n := range s.candidates {
		t, i := s.tableOf(s.candidates[n])
		s.candidates[n].score = s.query.estimateDot(t.code(i))
	}
	quickselect.Select(s.candidates, k, s.compareCandidates)
	s.candidates = s.candidates[:k]
}

// compareCandidates orders candidates by descending score, ties by memory id and key.
func (s *hammingScan) compareCandidates(a, b candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	t, i := s.tableOf(a)
	q, j := s.tableOf(b)
	return cmp.Or(cmp.Compare(t.memories[i], q.memories[j]), cmp.Compare(t.keys[i], q.keys[j]))
}

// tableOf returns the table of a candidate and its index there.
func (s *hammingScan) tableOf(c candidate) (*scanTable, int) {
	last := len(s.tables) - 1
	for last > 0 && int(c.number) < s.tables[last].firstNumber {
		last--
	}
	return &s.tables[last], int(c.number) - s.tables[last].firstNumber
}

// matchesFilter reports whether the memory of a code exists and matches the filter.
func (s *hammingScan) matchesFilter(t *scanTable, i int) bool {
	if isSet(t.replaced, i) {
		return false
	}
	segment, doc := s.locate(t, i)
	return doc >= 0 && s.docs.Matches(segment, doc)
}

// locate returns the live document of the memory of a code.
func (s *hammingScan) locate(t *scanTable, i int) (segment, doc int) {
	if t.locations != nil {
		segment, doc = int(t.locations.segment[i]), int(t.locations.doc[i])
		if segment >= 0 && !s.docs.IsDeleted(segment, doc) {
			return segment, doc
		}
	}
	return s.docs.Locate(t.memories[i])
}
