package vector

import (
	"math/bits"
	"slices"
)

// A Scan finds the vectors that are nearest to that of a query, in the documents of one or more workspaces. It picks
// candidates by Hamming distance, and ranks them by estimated dot products. It skips codes beyond maxDistance, which
// falls when enough nearer codes are found.
type Scan struct {
	query     *QueryVector
	k, wanted int // numbers of vectors and of candidates

	maxDistance int
	counts      []int // candidates by distance
	withinCount int   // candidates up to maxDistance
	near        []nearVector
	others      []Ref       // of AddMemory
	candidates  []candidate // of the table that is scanned
}

// NewScan returns a scan for k vectors.
func NewScan(p *QueryVector, k int) *Scan {
	n, wanted := len(p.vector), k*oversampling
	return &Scan{query: p, k: k, wanted: wanted, maxDistance: n, counts: make([]int, n+1),
		candidates: make([]candidate, 0, 3*wanted)}
}

// scanTable is a table to scan.
type scanTable struct {
	*codeTable
	replaced  []uint64
	locations *docLocations // nil if unknown
}

// A candidate is a code of a table by its index, with its Hamming distance to the query.
type candidate struct{ index, distance int32 }

// A nearVector is a candidate of any workspace, with its estimated dot product.
type nearVector struct {
	Ref
	distance int32
	estimate float32
}

// addTable collects the wanted number of nearest codes that match the filter, and those as near as the last of them. It
// lowers maxDistance when enough nearer codes are found.
func (s *Scan) addTable(workspace int64, docs Documents, t scanTable) {
	s.candidates = s.candidates[:0]
	for i, d := t.nextWithin(0, s.query.signBits, s.maxDistance); i < len(t.keys); i, d = t.nextWithin(i+1,
		s.query.signBits, s.maxDistance) {
		if t.matchesFilter(docs, i) {
			s.add(candidate{int32(i), int32(d)})
		}
	}
	s.prune()
	for _, x := range s.candidates {
		s.near = append(s.near, nearVector{Ref{workspace, t.memories[x.index], t.keys[x.index]}, x.distance,
			s.query.estimateDot(t.code(int(x.index)))})
	}
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

func (s *Scan) add(c candidate) {
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
func (s *Scan) prune() {
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return int(c.distance) > s.maxDistance })
}

// pruneNear removes vectors beyond maxDistance.
func (s *Scan) pruneNear() {
	s.near = slices.DeleteFunc(s.near, func(x nearVector) bool { return int(x.distance) > s.maxDistance })
}

// matchesFilter reports whether the memory of a code has a live document that matches the filter.
func (t *scanTable) matchesFilter(docs Documents, i int) bool {
	if isSet(t.replaced, i) {
		return false
	}
	if t.locations != nil {
		segment, doc := int(t.locations.segment[i]), int(t.locations.doc[i])
		if segment >= 0 && !docs.IsDeleted(segment, doc) {
			return docs.Matches(segment, doc)
		}
	}
	segment, doc := docs.Locate(t.memories[i])
	return doc >= 0 && docs.Matches(segment, doc)
}
