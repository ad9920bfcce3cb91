package query

import (
	"testing"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

func BenchmarkMatchDoc(b *testing.B) {
	q := Parse("engineer on call, feature flag")
	r := q.Matcher()
	b.SetBytes(int64(len(analysistest.Prose)))
	for b.Loop() {
		r.MatchDoc(analysistest.Prose[:30], analysistest.Prose)
	}
}
