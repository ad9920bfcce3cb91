package kernel

import (
	"fmt"
	"math"
	"slices"
)

// Block is the size of the Hadamard blocks.
const Block = 128

// Padded rounds a number of tokens up to the multiple of four that the kernels write.
func Padded(tokens int) int { return (tokens + 3) &^ 3 }

// Activations are the inputs of a layer, rotated and rounded to int8. The zero value is ready; it can be reused for
// other texts and widths, by one goroutine at a time.
type Activations struct {
	variant       *Variant
	tokens, width int
	bytes         []byte    // [Padded(tokens)][width], in the format of the variant
	signs         []byte    // additional data of a variant, in the same shape
	offsets       []int32   // [Padded(tokens)], likewise
	scale         []float32 // [Padded(tokens)]
	row           []float32 // one rotated row
	geluRow       []float32 // one row after GELU
	packedWeights []int64   // weights of plain Go
}

// Quantize takes the rows of x, which is [tokens][width] of values up to 1e36. Width
// must be a multiple of [Block]. x is left as it is.
func (v *Variant) Quantize(a *Activations, x []float32, tokens, width int) {
	a.reset(v, tokens, width)
	for t := range tokens {
		v.quantize(a, t, x[t*width:][:width])
	}
}

// QuantizeGELU quantizes x/2 (1 + erf(x/sqrt 2)) of each value. For values up to 12 its error is at most 2e-6, a
// thousandth of the rounding error of int8.
func (v *Variant) QuantizeGELU(a *Activations, x []float32, tokens, width int) {
	a.reset(v, tokens, width)
	a.geluRow = Resize(a.geluRow, width)
	for t := range tokens {
		v.gelu(a.geluRow, x[t*width:][:width])
		v.quantize(a, t, a.geluRow)
	}
}

// Resize returns a slice of n elements without meaning, s itself if it is large enough.
func Resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// reset makes room for tokens rows; those of padding have scale 0.
func (a *Activations) reset(v *Variant, tokens, width int) {
	if tokens < 1 || width < 1 || width%Block != 0 {
		panic(fmt.Sprintf("kernel: %d tokens of width %d", tokens, width))
	}
	padded := Padded(tokens)
	a.variant, a.tokens, a.width = v, tokens, width
	a.bytes = Resize(a.bytes, padded*width)
	a.scale = Resize(a.scale, padded)
	a.row = Resize(a.row, width)
	clear(a.scale[tokens:])
	clear(a.bytes[tokens*width:])
}

// quantizeGo stores a row as int8 values.
func quantizeGo(a *Activations, token int, x []float32) {
	copy(a.row, x)
	top := float32(0)
	for at := 0; at < len(x); at += Block {
		top = max(top, rotate((*[Block]float32)(a.row[at:])))
	}
	to := a.bytes[token*a.width:][:len(x)]
	step, scale := quantizationStep(top)
	a.scale[token] = scale
	for i, v := range a.row[:len(to)] {
		to[i] = byte(round(v * step))
	}
}

// rotate multiplies a block by the Hadamard matrix without its factor 1/sqrt(128), by the fast Walsh-Hadamard
// transform. It returns the largest magnitude. All variants have the same order of stages, so that sums round alike.
func rotate(x *[Block]float32) (top float32) {
	bits := uint32(0)
	for half := Block / 2; half >= 4; half /= 2 {
		for from := 0; from < Block; from += 2 * half {
			low, high := x[from:from+half], x[from+half:from+2*half]
			for i, a := range low {
				b := high[i]
				low[i], high[i] = a+b, a-b
			}
		}
	}
	for from := 0; from < Block; from += 4 {
		v := (*[4]float32)(x[from:])
		a, b, c, d := v[0]+v[2], v[1]+v[3], v[0]-v[2], v[1]-v[3]
		v[0], v[1], v[2], v[3] = a+b, a-b, c+d, c-d
		bits = max(bits, magnitudeBits(a+b), magnitudeBits(a-b), magnitudeBits(c+d), magnitudeBits(c-d))
	}
	return math.Float32frombits(bits)
}

// magnitudeBits returns the bits of x without its sign, which compare as the magnitude does.
func magnitudeBits(x float32) uint32 { return math.Float32bits(x) &^ (1 << 31) }

// minMagnitude is the largest magnitude of a row that counts as zero: below it the inverse is no finite number.
const minMagnitude = 1e-30

// quantizationStep returns the factor that scales a rotated row with the largest magnitude top to values up to 127. The
// returned scale undoes the factor and makes the rotation orthonormal.
func quantizationStep(top float32) (step, scale float32) {
	if top < minMagnitude {
		return 0, 0
	}
	return 127 / top, top * (1 / (127 * 11.313708498984761))
}

// round rounds to the nearest integer, halves to even, for magnitudes under 2^22. The sum with 1.5 x 2^23 has no bits
// for a fraction.
func round(x float32) int8 {
	const shift = 3 << 22
	return int8(float32(x+shift) - shift)
}
