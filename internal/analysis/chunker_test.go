package analysis

import (
	"testing"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

func BenchmarkChunkerSplit(b *testing.B) {
	b.SetBytes(int64(len(analysistest.Prose)))
	for b.Loop() {
		Chunker{MaxWords: RescoringChunkWords}.Split(analysistest.Prose)
	}
}
