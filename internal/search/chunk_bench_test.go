package search

import "testing"

func BenchmarkChunkerSplit(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		chunker{words: meanChunkWords}.split(prose)
	}
}

func BenchmarkMatchDoc(b *testing.B) {
	q := Parse("engineer on call, feature flag")
	r := q.Matcher()
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		r.MatchDoc(prose[:30], prose)
	}
}
