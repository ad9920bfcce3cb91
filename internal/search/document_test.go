package search

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

func TestTitleCountsThreeTimesUnlessItRepeatsContent(t *testing.T) {
	t.Parallel()
	line := "frozen lake " + strings.Repeat("x", 40)
	if d := Analyze(line, " "+line+"!"); d.freq("frozen") != 1 || d.length != 3 {
		t.Errorf("the first line gives %+v", d)
	}
	d := Analyze("frozen", "frozen lake")
	if d.freq("frozen") != 4 || d.freq("lake") != 1 || d.length != 3 {
		t.Errorf("got %+v", d)
	}
}

func TestTruncateTermKeepsLongTermsDistinct(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	a, b := Analyze("", long+"x"), Analyze("", long+"y")
	if len(a.terms) != 1 || len(a.terms[0].text) > analysis.MaxTermBytes || a.terms[0] == b.terms[0] {
		t.Errorf("got %v and %v", a.terms, b.terms)
	}
}

func checkDocument(t testing.TB, d Document) {
	if !d.valid() {
		t.Error("terms are not sorted, or without frequency")
	}
	for _, e := range d.terms {
		if e.text == "" || len(e.text) > analysis.MaxTermBytes || !utf8.ValidString(e.text) {
			t.Errorf("bad term %q", e.text)
		}
	}
}

func TestAnalyzeEncodedEqualsEncodedDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{analysistest.Prose, "", "one", "Снег идёт", "从星期五下午",
		strings.Repeat(analysistest.Prose+" ", 20), analysistest.Prose} {
		if got, want := AnalyzeEncoded("A title", text), Analyze("A title", text).Encode(); !bytes.Equal(got, want) {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
}

// valid reports terms in order, no two alike, each of which occurs.
func (d Document) valid() bool {
	last := ""
	for _, t := range d.terms {
		if t.freq == 0 || t.text <= last {
			return false
		}
		last = t.text
	}
	return true
}
