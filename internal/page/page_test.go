package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
)

// jsonOf returns a value as the transports write it.
func jsonOf(t rapid.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func TestJSONSizeIsAnUpperBound(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.String(), rapid.StringOf(
		rapid.SampledFrom([]rune("\x00\x01\x1f\x7f\t\n\"\\/<>&é\u2028\u2029“—漢🦊"))))
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		m := loci.Memory{ID: loci.ID(text), Title: text, Content: text, Tags: rapid.SliceOf(texts).Draw(t, "tags"),
			Status: loci.MemoryActive, Version: 1 << 40,
			Source:     &loci.Source{Name: loci.SourceText(text), URI: loci.SourceText(text)},
			Supersedes: []loci.ID{loci.ID(text)},
			CreatedAt:  1}
		if size, written := JSONSize(&m), len(jsonOf(t, m)); size < written || size > 2*written+3000 {
			t.Errorf("the size of %q is %d, and it has %d bytes", text, size, written)
		}
	})
}

func TestJSONSizeCountsTheValueOfAnInterface(t *testing.T) {
	t.Parallel()
	v := struct{ Value, None any }{Value: strings.Repeat("x", 1000)}
	if size, written := JSONSize(v), len(jsonOf(t, v)); size < written {
		t.Errorf("the size is %d, and it has %d bytes", size, written)
	}
}

func TestBudgetAlwaysHasRoomForTheFirstRecord(t *testing.T) {
	t.Parallel()
	var large, small Budget
	if !large.Spend(2*MaxBytes) || large.Spend(1) {
		t.Error("a record larger than a page is alone on one")
	}
	n := 0
	for small.Spend(MaxBytes / 100) {
		n++
	}
	if n < 95 || n > 99 {
		t.Errorf("a page has room for %d records of a hundredth of its size", n)
	}
}
