package index_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

func TestTitleCountsThreeTimesUnlessItRepeatsContent(t *testing.T) {
	t.Parallel()
	line := "frozen lake " + strings.Repeat("x", 40)
	if d := index.Analyze(line, " "+line+"!"); indextest.Freq(d, "frozen") != 1 || d.Length != 3 {
		t.Errorf("the first line gives %+v", d)
	}
	d := index.Analyze("frozen", "frozen lake")
	if indextest.Freq(d, "frozen") != 4 || indextest.Freq(d, "lake") != 1 || d.Length != 3 {
		t.Errorf("got %+v", d)
	}
}

func TestTruncateTermKeepsLongTermsDistinct(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	a, b := index.Analyze("", long+"x"), index.Analyze("", long+"y")
	if len(a.Terms) != 1 || len(a.Terms[0].Term) > analysis.MaxTermBytes || a.Terms[0] == b.Terms[0] {
		t.Errorf("got %v and %v", a.Terms, b.Terms)
	}
}

func TestAnalyzeEncodedEqualsEncodedDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{analysistest.Prose, "", "one", "Снег идёт", "从星期五下午",
		strings.Repeat(analysistest.Prose+" ", 20), analysistest.Prose} {
		if got, want := index.AnalyzeEncoded("A title", text),
			index.Analyze("A title", text).Encode(); !bytes.Equal(got, want) {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
}

func TestDocumentsSurviveEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := index.Analyze(rapid.String().Draw(t, "title"), rapid.String().Draw(t, "content"))
		got, err := index.DecodeDocument(d.Encode())
		if err != nil || got.Length != d.Length || len(got.Terms) != len(d.Terms) ||
			len(d.Terms) > 0 && !reflect.DeepEqual(got, d) {
			t.Fatalf("%v: got %v, want %v", err, got, d)
		}
	})
}

func FuzzDecodeDocument(f *testing.F) {
	f.Add(index.Analyze("title", analysistest.Prose).Encode())
	f.Add([]byte{index.FormatVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := index.DecodeDocument(data)
		last := ""
		for _, e := range d.Terms {
			if err == nil && (e.Freq == 0 || e.Term <= last) {
				t.Errorf("accepts %q with frequency %d after %q", e.Term, e.Freq, last)
			}
			last = e.Term
		}
	})
}
