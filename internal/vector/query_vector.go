package vector

// A QueryVector is the vector of a query with look-up tables for a scan.
type QueryVector struct {
	vector   []float32
	signBits []uint64
	byteSums [][256]float32 // sums of the components of the set bits, for each value of each byte of a code
}

// NewQueryVector builds the tables of a vector.
func NewQueryVector(vector []float32) *QueryVector {
	p := &QueryVector{vector: vector, signBits: make([]uint64, (len(vector)+63)/64),
		byteSums: make([][256]float32, (len(vector)+63)/64*8)}
	for i, x := range vector {
		if x >= 0 {
			p.signBits[i/64] |= 1 << (i % 64)
		}
		// Sums without this bit are complete already.
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

// estimateDot estimates the dot product with a vector from its signs. The result is half the product with the signs as
// 1 and -1, plus a constant of the query. The sums of a word have no data dependencies between them.
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

// matchesDimensions reports whether the vectors of a table have as many dimensions as the query.
func (p *QueryVector) matchesDimensions(c *codeTable) bool { return len(p.vector) == c.dimensions }
