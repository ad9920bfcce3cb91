package main

import (
	"runtime"
	"sync"
)

// A matrix is row-major. The conversions round products before they are added, so that machines with fused operations
// give the same bits.
type matrix struct {
	cols   int
	values []float64
}

func (m matrix) rows() int           { return len(m.values) / m.cols }
func (m matrix) row(i int) []float64 { return m.values[i*m.cols:][:m.cols] }

func (m matrix) add(other matrix) {
	for i, v := range other.values {
		m.values[i] += v
	}
}

// weighted returns the rows times their weights.
func (m matrix) weighted(weights []float64) matrix {
	to := matrix{m.cols, make([]float64, len(m.values))}
	for i, v := range m.values {
		to.values[i] = v * weights[i/m.cols]
	}
	return to
}

func (m matrix) transposed() matrix {
	to := matrix{m.rows(), make([]float64, len(m.values))}
	for i, v := range m.values {
		to.values[i%m.cols*to.cols+i/m.cols] = v
	}
	return to
}

func toFloat64(values []float32, cols int) matrix {
	m := matrix{cols, make([]float64, len(values))}
	for i, v := range values {
		m.values[i] = float64(v)
	}
	return m
}

// product returns a times b transposed: the products of all rows of both. b has a multiple of four rows.
func product(a, b matrix) matrix {
	to := matrix{b.rows(), make([]float64, a.rows()*b.rows())}
	parallel(a.rows(), func(i int) {
		for j := 0; j < b.rows(); j += 4 {
			*(*[4]float64)(to.row(i)[j:]) = dot4(a.row(i), b.values[j*b.cols:])
		}
	})
	return to
}

// dot4 returns the products of a row and the next four rows of the same length.
func dot4(a, rows []float64) (sums [4]float64) {
	n := len(a)
	b0, b1, b2, b3 := rows[:n], rows[n:][:n], rows[2*n:][:n], rows[3*n:][:n]
	var s0, s1, s2, s3 float64
	for i, v := range a {
		s0 += float64(v * b0[i])
		s1 += float64(v * b1[i])
		s2 += float64(v * b2[i])
		s3 += float64(v * b3[i])
	}
	return [4]float64{s0, s1, s2, s3}
}

// dot returns the product of two rows.
func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += float64(v * b[i])
	}
	return sum
}

// parallel calls f with 0 to n-1, many at once.
func parallel(n int, f func(i int)) {
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for first := range workers {
		group.Go(func() {
			for i := first; i < n; i += workers {
				f(i)
			}
		})
	}
	group.Wait()
}
