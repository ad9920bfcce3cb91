package kernel

const (
	// One int64 holds three rows of weights, 21 bits each, so that one product computes three. Sums of 64 products of
	// up to 127 x 127 fit into 21 bits.
	packedRows      = 3
	packedBits      = 21
	accumulateSteps = 64
)

// mulGo computes the product in plain Go: three rows of weights by four tokens at a time.
func mulGo(dst []float32, m *Matrix, a *Activations) {
	a.packedWeights = Resize(a.packedWeights, m.in)
	for o := 0; o < m.out; o += packedRows {
		m.packRows(a.packedWeights, o)
		for t := 0; t < len(a.scale); t += 4 {
			sums := a.dot(t)
			for i := range 4 {
				for r := range min(packedRows, m.out-o) {
					dst[(t+i)*m.out+o+r] = float32(sums[i][r])*(m.scale[o+r]*a.scale[t+i]) + m.bias[o+r]
				}
			}
		}
	}
}

// packRows writes three rows of weights from row o on as one; after the last row it comes again.
func (m *Matrix) packRows(to []int64, o int) {
	var from [packedRows][]int8
	for r := range from {
		row := min(o+r, m.out-1)
		from[r] = m.weights[row/panelRows*panelRows*m.in+row%panelRows*4:]
	}
	for k := 0; k < len(to); k += 4 {
		a, b, c := (*[4]int8)(from[0][k*panelRows:]), (*[4]int8)(from[1][k*panelRows:]),
			(*[4]int8)(from[2][k*panelRows:])
		quad := (*[4]int64)(to[k:])
		for i := range quad {
			quad[i] = int64(a[i]) + int64(b[i])<<packedBits + int64(c[i])<<(2*packedBits)
		}
	}
}

// dot returns the products of four tokens from t on with the joined rows.
func (a *Activations) dot(t int) (sums [4][packedRows]int32) {
	x0, x1 := a.bytes[t*a.width:][:a.width], a.bytes[(t+1)*a.width:][:a.width]
	x2, x3 := a.bytes[(t+2)*a.width:][:a.width], a.bytes[(t+3)*a.width:][:a.width]
	for k := 0; k < a.width; k += accumulateSteps {
		b0, b1 := (*[accumulateSteps]byte)(x0[k:]), (*[accumulateSteps]byte)(x1[k:])
		b2, b3 := (*[accumulateSteps]byte)(x2[k:]), (*[accumulateSteps]byte)(x3[k:])
		var s0, s1, s2, s3 int64
		for i, w := range (*[accumulateSteps]int64)(a.packedWeights[k:]) {
			s0 += w * int64(int8(b0[i]))
			s1 += w * int64(int8(b1[i]))
			s2 += w * int64(int8(b2[i]))
			s3 += w * int64(int8(b3[i]))
		}
		unpackSums(&sums[0], s0)
		unpackSums(&sums[1], s1)
		unpackSums(&sums[2], s2)
		unpackSums(&sums[3], s3)
	}
	return sums
}

// unpackSums adds the three sums in s.
func unpackSums(to *[packedRows]int32, s int64) {
	for i := range to {
		low := s << (64 - packedBits) >> (64 - packedBits)
		to[i] += int32(low)
		s = (s - low) >> packedBits
	}
}
