package search

import "testing"

func BenchmarkSpans(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		cutter{words: meanWords}.spans(prose)
	}
}

func BenchmarkText(b *testing.B) {
	q := Parse("engineer on call, feature flag")
	r := q.Reader()
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		r.Text(prose[:30], prose)
	}
}
