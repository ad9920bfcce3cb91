//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// minTurnMilliseconds is the least duration of a turn.
const minTurnMilliseconds = 100

type report struct {
	sides   []side
	version string   // of ONNX Runtime
	skipped []string // unmeasured sides, and why
	rows    []tokenRow
}

// A tokenRow has the times of each side, in the order of rounds, and its vector.
type tokenRow struct {
	tokens  int
	times   [][]float64
	vectors [][]float32
}

// ratio returns the median ratio of two sides over the rounds.
func (r tokenRow) ratio(a, b int) float64 {
	ratios := make([]float64, len(r.times[a]))
	for i := range ratios {
		ratios[i] = r.times[a][i] / r.times[b][i]
	}
	return median(ratios)
}

func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return (sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2
}

// indexOf returns the index of a side, or -1.
func (r *report) indexOf(name string) int {
	return slices.IndexFunc(r.sides, func(s side) bool { return s.name == name })
}

func (r *report) measure(ctx context.Context, texts []text, rounds int) error {
	for _, t := range texts {
		one, err := r.measureRow(ctx, t, rounds)
		if err != nil {
			return fmt.Errorf("%d tokens: %w", t.tokens, err)
		}
		r.rows = append(r.rows, one)
	}
	return nil
}

// measureRow runs turns of all sides. The first turn of each is not counted: it
// warms up and sets the number of runs in a batch.
func (r *report) measureRow(ctx context.Context, t text, rounds int) (tokenRow, error) {
	n := len(r.sides)
	runs, one := make([]int, n), tokenRow{t.tokens, make([][]float64, n), make([][]float32, n)}
	for i, s := range r.sides {
		if _, _, err := s.embed(ctx, t.words, 1); err != nil {
			return tokenRow{}, fmt.Errorf("%s: %w", s.name, err)
		}
		ms, vector, err := s.embed(ctx, t.words, 3)
		if err != nil {
			return tokenRow{}, fmt.Errorf("%s: %w", s.name, err)
		}
		runs[i], one.vectors[i] = 1+int(minTurnMilliseconds/max(ms, .1)), vector
	}
	for range rounds {
		for i, s := range r.sides {
			ms, _, err := s.embed(ctx, t.words, runs[i])
			if err != nil {
				return tokenRow{}, fmt.Errorf("%s: %w", s.name, err)
			}
			one.times[i] = append(one.times[i], ms)
		}
	}
	return one, nil
}

// comparedPairs are the pairs that are compared.
var comparedPairs = [][2]string{{"avx2", "ort fp32"}, {"avx2", "ort fp32 without avx512"}, {"avx512vnni", "ort int8"}}

func (r *report) print(to io.Writer) {
	if r.version != "" {
		fmt.Fprintln(to, "ONNX Runtime", r.version)
	}
	for _, a := range r.skipped {
		fmt.Fprintln(to, a)
	}
	fmt.Fprintln(to, "\nCPU milliseconds of one text, medians of the rounds, and medians of their ratios:")
	r.table(to, func(row tokenRow, i int) string { return fmt.Sprintf("%.2f", median(row.times[i])) }, true)
	if exact := r.indexOf("ort fp32"); exact >= 0 {
		fmt.Fprintln(to, "\nCosine with the vector of float32:")
		r.table(to, func(row tokenRow, i int) string {
			return fmt.Sprintf("%.5f", cosine(row.vectors[i], row.vectors[exact]))
		}, false)
	}
}

func (r *report) table(to io.Writer, cell func(row tokenRow, side int) string, compared bool) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer w.Flush()
	fmt.Fprint(w, "tokens\t")
	for _, s := range r.sides {
		fmt.Fprint(w, s.name, "\t")
	}
	for _, pair := range r.pairs(compared) {
		fmt.Fprintf(w, "%s over %s\t", pair[0], pair[1])
	}
	fmt.Fprintln(w)
	for _, row := range r.rows {
		fmt.Fprint(w, row.tokens, "\t")
		for i := range r.sides {
			fmt.Fprint(w, cell(row, i), "\t")
		}
		for _, pair := range r.pairs(compared) {
			fmt.Fprintf(w, "%.2f\t", row.ratio(r.indexOf(pair[0]), r.indexOf(pair[1])))
		}
		fmt.Fprintln(w)
	}
}

// pairs returns the ratios whose sides were measured.
func (r *report) pairs(wanted bool) (pairs [][2]string) {
	for _, p := range comparedPairs {
		if wanted && r.indexOf(p[0]) >= 0 && r.indexOf(p[1]) >= 0 {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func cosine(a, b []float32) float64 {
	var dot, one, two float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		one += float64(a[i]) * float64(a[i])
		two += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(one*two)
}
