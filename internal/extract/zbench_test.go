package extract_test

import (
	"github.com/loci-memory/loci/internal/extract"
	"strings"
	"testing"
)

func BenchmarkPrompt(b *testing.B) {
	text := strings.Repeat("The staging database runs on port 5433 on host basalt, so please use the tunnel. I looked at the log and found nothing. Can you check it? ", 5)
	b.ReportAllocs()
	for b.Loop() {
		extract.FromPrompt(extract.Turn{Prompt: text})
	}
}
