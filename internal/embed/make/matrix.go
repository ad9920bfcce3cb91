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

// product returns a times b transposed: the products of all rows of both.
func product(a, b matrix) matrix {
	to := matrix{b.rows(), make([]float64, a.rows()*b.rows())}
	parallel(a.rows(), func(i int) {
		for j := range b.rows() {
			to.row(i)[j] = dot(a.row(i), b.row(j))
		}
	})
	return to
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
