package main

import (
	"math"
	"slices"
)

const (
	block   = 128
	maxInt8 = 127
)

// hadamardRotate multiplies each row by the orthonormal Hadamard matrix in blocks of 128, by
// the fast Walsh-Hadamard transform.
func hadamardRotate(m matrix) {
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

// rowScale returns the scale of a row.
func rowScale(row []float64) float32 {
	top := 0.0
	for _, v := range row {
		top = max(top, math.Abs(v))
	}
	return float32(top / maxInt8)
}

// roundToInt8 returns the int8 value next to v. A row of zeros has the scale 0.
func roundToInt8(v float64, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	return int8(max(-maxInt8, min(maxInt8, math.RoundToEven(v/float64(scale)))))
}

// quantizeRows rounds each value to the nearest.
func quantizeRows(values []float32, cols int) (rounded []int8, scales []float32) {
	m := toFloat64(values, cols)
	for i := range m.rows() {
		scale := rowScale(m.row(i))
		scales = append(scales, scale)
		for _, v := range m.row(i) {
			rounded = append(rounded, roundToInt8(v, scale))
		}
	}
	return rounded, scales
}

// quantize rotates a dense layer and rounds it, so that its outputs for the inputs change least. It rounds column by
// column, and the remaining weights of a row compensate for the rounding. The method is GPTQ (Frantar et al., Accurate
// Post-Training Quantization for Generative Pre-trained Transformers, 2022), with columns in their order.
func quantize(d denseLayer, inputs matrix) (rounded []int8, scales []float32) {
	hadamardRotate(inputs)
	columns := inputs.transposed()
	inverseFactor := invertTriangular(cholesky(addDamping(product(columns, columns))))
	weights := toFloat64(d.weights, d.in)
	hadamardRotate(weights)
	rounded, scales = make([]int8, len(d.weights)), make([]float32, d.out)
	parallel(d.out, func(i int) {
		scales[i] = rowScale(weights.row(i))
		quantizeRow(rounded[i*d.in:][:d.in], weights.row(i), scales[i], inverseFactor)
	})
	return rounded, scales
}

func quantizeRow(to []int8, row []float64, scale float32, inverseFactor matrix) {
	for j := range row {
		to[j] = roundToInt8(row[j], scale)
		inverseRow := inverseFactor.row(j)
		roundingError := (row[j] - float64(float64(to[j])*float64(scale))) / inverseRow[j]
		subtractScaled(row[j+1:], inverseRow[j+1:], roundingError)
	}
}

// addDamping adds a hundredth of the mean of its diagonal to the diagonal of h. So h has an inverse, and rare inputs do
// not change weights much.
func addDamping(h matrix) matrix {
	mean := 0.0
	for i := range h.cols {
		mean += h.row(i)[i] / float64(h.cols)
	}
	for i := range h.cols {
		h.row(i)[i] += mean / 100
	}
	return h
}

// cholesky returns the upper triangular r of which r times its transpose is h, computed from the last column to the
// first.
func cholesky(h matrix) matrix {
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

// invertTriangular returns the inverse of an upper triangular matrix. For the factor of h, its transpose times itself
// is the inverse of h.
func invertTriangular(r matrix) matrix {
	u := matrix{r.cols, make([]float64, len(r.values))}
	for i := r.cols - 1; i >= 0; i-- {
		from, to := r.row(i), u.row(i)
		to[i] = 1
		for m := i + 1; m < r.cols; m++ {
			subtractScaled(to[m:], u.row(m)[m:], from[m])
		}
		for k := i; k < r.cols; k++ {
			to[k] /= from[i]
		}
	}
	return u
}

// subtractScaled subtracts factor times b from a.
func subtractScaled(a, b []float64, factor float64) {
	b = b[:len(a)]
	for i := range a {
		a[i] -= float64(factor * b[i])
	}
}
