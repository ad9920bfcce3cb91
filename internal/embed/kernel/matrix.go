package kernel

import "fmt"

const (
	panelRows   = 16 // rows of a matrix that lie together
	rowMultiple = 64 // rows of which the outputs are a multiple
)

// A Matrix is a dense layer, packed for the kernels. It is immutable.
type Matrix struct {
	in, out int
	weights []int8    // [out/panel][in/4][panel][4]
	offsets []int32   // [out]: -128 times the sum of the row's weights
	scale   []float32 // [out]
	bias    []float32 // [out]
}

// Pack packs a layer of len(scale) outputs. Weights are [out][in], row-major, within -127 to 127 and rotated along the
// input (see the package comment). A weight is multiplied by the scale of its row. Bias has one value for each row.
// Pack copies weights, and keeps scale and bias. It panics unless in is a multiple of [Block], the number of outputs is
// a multiple of 64, and the lengths agree.
func Pack(weights []int8, scale, bias []float32, in int) *Matrix {
	out := len(scale)
	if in <= 0 || in%Block != 0 || out%rowMultiple != 0 || len(bias) != out || len(weights) != in*out {
		panic(fmt.Sprintf("kernel: a matrix of %d weights, %d scales and %d biases for %d inputs", len(weights), out,
			len(bias), in))
	}
	m := &Matrix{in: in, out: out, weights: make([]int8, in*out), offsets: make([]int32, out), scale: scale, bias: bias}
	for row := range out {
		m.pack(row, weights[row*in:][:in])
	}
	return m
}

func (m *Matrix) pack(row int, weights []int8) {
	to := m.weights[row/panelRows*panelRows*m.in+row%panelRows*4:]
	sum := int32(0)
	for k := 0; k < len(weights); k += 4 {
		w := weights[k : k+4 : k+4]
		copy(to[k*panelRows:], w)
		sum += int32(w[0]) + int32(w[1]) + int32(w[2]) + int32(w[3])
	}
	m.offsets[row] = -128 * sum
}

// Mul writes m's layer of a to dst, which is [Padded(tokens)][out]: the int32 sum of products times both scales, plus
// the bias. The activations must be of this variant and as wide as the matrix.
func (v *Variant) Mul(dst []float32, m *Matrix, a *Activations) {
	if a.variant != v || a.width != m.in {
		panic(fmt.Sprintf("kernel: %s multiplies activations of another variant or width %d with a matrix for %d "+
			"inputs", v.name, a.width, m.in))
	}
	v.mul(dst[:Padded(a.tokens)*m.out], m, a)
}
