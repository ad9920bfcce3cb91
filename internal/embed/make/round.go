package main

import (
	"math"
	"slices"
)

const (
	block   = 128
	largest = 127
)

// rotate multiplies each row by the orthonormal Hadamard matrix in blocks of 128, by
// the fast Walsh-Hadamard transform.
func rotate(m matrix) {
	for at := 0; at < len(m.values); at += block {
		x := m.values[at : at+block]
		for half := 1; half < block; half *= 2 {
			for i := range x {
				if i&half == 0 {
					x[i], x[i+half] = x[i]+x[i+half], x[i]-x[i+half]
				}
			}
		}
		for i := range x {
			x[i] /= math.Sqrt(block)
		}
	}
}

// step returns the scale of a row.
func step(row []float64) float32 {
	top := 0.0
	for _, v := range row {
		top = max(top, math.Abs(v))
	}
	return float32(top / largest)
}

// nearest returns the int8 value next to v. A row of zeros has the scale 0.
func nearest(v float64, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	return int8(max(-largest, min(largest, math.RoundToEven(v/float64(scale)))))
}

// roundRows rounds each value to the nearest.
func roundRows(values []float32, cols int) (rounded []int8, scales []float32) {
	m := widen(values, cols)
	for i := range m.rows() {
		scale := step(m.row(i))
		scales = append(scales, scale)
		for _, v := range m.row(i) {
			rounded = append(rounded, nearest(v, scale))
		}
	}
	return rounded, scales
}

// round rotates a dense layer and rounds it, so that its outputs for the inputs change
// least, rather than its weights: column by column, and what rounding a weight does to
// the output is made up for by the weights of its row that are not rounded yet. The
// method is that of "GPTQ: Accurate Post-Training Quantization for Generative
// Pre-trained Transformers" (2022), with columns in their order.
func round(d dense, inputs matrix) (rounded []int8, scales []float32) {
	rotate(inputs)
	columns := inputs.transposed()
	shares := invert(factor(damp(square(columns))))
	weights := widen(d.weights, d.in)
	rotate(weights)
	rounded, scales = make([]int8, len(d.weights)), make([]float32, d.out)
	parallel(d.out, func(i int) {
		scales[i] = step(weights.row(i))
		roundRow(rounded[i*d.in:][:d.in], weights.row(i), scales[i], shares)
	})
	return rounded, scales
}

func roundRow(to []int8, row []float64, scale float32, shares matrix) {
	for j := range row {
		to[j] = nearest(row[j], scale)
		share := shares.row(j)
		miss := (row[j] - float64(float64(to[j])*float64(scale))) / share[j]
		subtract(row[j+1:], share[j+1:], miss)
	}
}

// damp adds a hundredth of the mean of its diagonal to the diagonal of h, so that it
// has an inverse and no weight is moved far for inputs which are rare.
func damp(h matrix) matrix {
	mean := 0.0
	for i := range h.cols {
		mean += h.row(i)[i] / float64(h.cols)
	}
	for i := range h.cols {
		h.row(i)[i] += mean / 100
	}
	return h
}

// factor returns the upper triangular r of which r times its transpose is h: Cholesky's
// factor, from the last column to the first.
func factor(h matrix) matrix {
	r := matrix{h.cols, slices.Clone(h.values)}
	for j := h.cols - 1; j >= 0; j-- {
		right := r.row(j)[j+1:]
		top := math.Sqrt(r.row(j)[j] - dot(right, right))
		parallel(j, func(i int) {
			row := r.row(i)
			row[j] = (row[j] - dot(row[j+1:], right)) / top
		})
		r.row(j)[j] = top
		clear(r.row(j)[:j])
	}
	return r
}

// invert returns the inverse of an upper triangular matrix. Of the factor of h it is
// the upper triangular u of which the transpose times u is the inverse of h.
func invert(r matrix) matrix {
	u := matrix{r.cols, make([]float64, len(r.values))}
	for i := r.cols - 1; i >= 0; i-- {
		from, to := r.row(i), u.row(i)
		to[i] = 1
		for m := i + 1; m < r.cols; m++ {
			subtract(to[m:], u.row(m)[m:], from[m])
		}
		for k := i; k < r.cols; k++ {
			to[k] /= from[i]
		}
	}
	return u
}

// subtract takes factor times b from a.
func subtract(a, b []float64, factor float64) {
	b = b[:len(a)]
	for i := range a {
		a[i] -= float64(factor * b[i])
	}
}
