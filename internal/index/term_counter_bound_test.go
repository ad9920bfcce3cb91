package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestAnalyzeBoundsTextWhoseNormalFormGrows counts what is computed for 64 KB of U+FDFA, whose normal form has 11 times
// as many bytes. Its first 512 KiB are indexed, eight times what as much ASCII has.
func TestAnalyzeBoundsTextWhoseNormalFormGrows(t *testing.T) {
	t.Parallel()
	emitted := func(text string) (bytes int) {
		a := analysis.Analyzer{MaxNormal: analysis.MaxNormal, Emit: func(term []byte, r analysis.TokenType) {
			if r == analysis.Word {
				bytes += len(term) + 1
			}
		}}
		a.Analyze(text)
		return bytes
	}
	const size = 64 << 10
	ascii, grown := emitted(strings.Repeat("word ", size/5)), emitted(strings.Repeat("\ufdfa ", size/4))
	if grown > 8*ascii+analysis.MaxTermBytes || grown < 4*ascii {
		t.Errorf("%d bytes of terms, %d of ASCII", grown, ascii)
	}
	if n := emitted(strings.Repeat("\ufdfa", size/3)); n > 9*ascii {
		t.Errorf("%d bytes of terms without spaces, %d of ASCII", n, ascii)
	}
	if words := len(analysis.NormalizedWords(strings.Repeat("\ufdfa", size/3))); words > 10*size {
		t.Errorf("%d bytes of words for a routing", words)
	}
	long, beyond := strings.Repeat("\ufdfa", size/3), strings.Repeat("\ufdfa", size/3)+" last"
	testenv.Equal(t, minhash.NewShingles(long).Jaccard(minhash.NewShingles(beyond)), 1,
		"the end of the text is compared")
	whole := Analyze("", strings.Repeat("word ", analysis.MaxNormal/10-1)+"end")
	if !slices.ContainsFunc(whole.Terms, func(x TermFreq) bool { return x.Term == "end" }) {
		t.Error("the end of the longest text of ASCII is not indexed")
	}
}
