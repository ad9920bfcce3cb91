package vector

// A QueryVector is the vector of a query with the tables of a scan.
type QueryVector struct {
	vector   []float32
	signBits []uint64
	byteSums [][256]float32 // by byte of a code: the components that its bits stand for
}

// NewQueryVector returns the tables of a vector.
func NewQueryVector(vector []float32) *QueryVector {
	p := &QueryVector{vector: vector, signBits: make([]uint64, (len(vector)+63)/64),
		byteSums: make([][256]float32, (len(vector)+63)/64*8)}
	for i, x := range vector {
		if x >= 0 {
			p.signBits[i/64] |= 1 << (i % 64)
		}
		// What the bits below this one stand for is there already.
		bit := 1 << (i % 8)
		below, with := p.byteSums[i/8][:bit], p.byteSums[i/8][bit:2*bit]
		for j, sum := range below {
			with[j] = sum + x
		}
	}
	return p
}

// Dot returns the dot product with a stored vector.
func (p *QueryVector) Dot(stored []byte) (float32, error) { return Dot(p.vector, stored) }

// estimateDot is half the product with the signs that a code stands for, up to a
// number that is the same for all codes. The sums of a word do not wait for each other.
func (p *QueryVector) estimateDot(code []uint64) (sum float32) {
	for i, w := range code {
		t := (*[8][256]float32)(p.byteSums[i*8:])
		a := t[0][byte(w)] + t[1][byte(w>>8)]
		b := t[2][byte(w>>16)] + t[3][byte(w>>24)]
		c := t[4][byte(w>>32)] + t[5][byte(w>>40)]
		d := t[6][byte(w>>48)] + t[7][byte(w>>56)]
		sum += (a + b) + (c + d)
	}
	return sum
}

func (p *QueryVector) matchesDimensions(c *codeTable) bool { return len(p.signBits) == c.wordsPerCode }
