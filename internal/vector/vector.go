package vector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCorrupt is the error of stored bytes that are no vector of this package.
var ErrCorrupt = errors.New("vector: corrupt vector bytes")

// vectorHeaderBytes is the length of the scale before the components of a stored vector. The scale is a float32 (little
// endian). Each component is a signed byte, to be multiplied by the scale. Rounding usually changes a dot product by
// less than a thousandth. The bound is half the scale times the sum of the absolute components of the other vector.
const vectorHeaderBytes = 4

// Dimensions returns the number of dimensions of a stored vector.
func Dimensions(stored []byte) int { return max(0, len(stored)-vectorHeaderBytes) }

// Encode returns the stored form of a vector of norm 1.
func Encode(v []float32) []byte {
	most := float32(0)
	for _, x := range v {
		most = max(most, float32(math.Abs(float64(x))))
	}
	out := make([]byte, vectorHeaderBytes, vectorHeaderBytes+len(v))
	scale := most / 127
	binary.LittleEndian.PutUint32(out, math.Float32bits(scale))
	for _, x := range v {
		if scale > 0 {
			x /= scale
		}
		out = append(out, byte(int8(math.Round(float64(x)))))
	}
	return out
}

// Dot returns the dot product of a vector and a stored one, their cosine if both have norm 1. It is the same on every
// machine.
func Dot(v []float32, stored []byte) (float32, error) {
	if len(stored) != vectorHeaderBytes+len(v) {
		return 0, fmt.Errorf("%w: %d bytes for a vector of %d dimensions", ErrCorrupt, len(stored), len(v))
	}
	scale := math.Float32frombits(binary.LittleEndian.Uint32(stored))
	stored = stored[vectorHeaderBytes:]
	var a, b, c, d float32 // four sums without data dependencies between them
	for ; len(v) >= 4 && len(stored) >= 4; v, stored = v[4:], stored[4:] {
		a += float32(v[0] * float32(int8(stored[0])))
		b += float32(v[1] * float32(int8(stored[1])))
		c += float32(v[2] * float32(int8(stored[2])))
		d += float32(v[3] * float32(int8(stored[3])))
	}
	for i, x := range v {
		a += float32(x * float32(int8(stored[i])))
	}
	return scale * ((a + b) + (c + d)), nil
}

// packSigns sets the bits of the components of a stored vector that are not negative.
func packSigns(dst []uint64, stored []byte) {
	clear(dst)
	values, i := stored[vectorHeaderBytes:], 0
	for ; i+8 <= len(values); i += 8 {
		// The multiplication gathers the lowest bits of eight bytes in the highest byte.
		high := ^binary.LittleEndian.Uint64(values[i:]) >> 7 & 0x0101010101010101
		dst[i/64] |= high * 0x0102040810204080 >> 56 << (i % 64)
	}
	for ; i < len(values); i++ {
		if int8(values[i]) >= 0 {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

// Decode returns a stored vector, rounded by Encode.
func Decode(stored []byte) ([]float32, error) {
	if len(stored) <= vectorHeaderBytes {
		return nil, fmt.Errorf("%w: %d bytes for a vector", ErrCorrupt, len(stored))
	}
	scale := math.Float32frombits(binary.LittleEndian.Uint32(stored))
	v := make([]float32, len(stored)-vectorHeaderBytes)
	for i, x := range stored[vectorHeaderBytes:] {
		v[i] = scale * float32(int8(x))
	}
	return v, nil
}

// Mean returns the normalized mean of vectors of one length.
func Mean(vectors [][]float32) []float32 {
	sum, square := make([]float32, len(vectors[0])), 0.0
	for _, v := range vectors {
		for i, x := range v {
			sum[i] += x
		}
	}
	for _, x := range sum {
		square += float64(float64(x) * float64(x))
	}
	for i := range sum {
		sum[i] /= float32(math.Sqrt(max(square, 1e-30)))
	}
	return sum
}
