package search

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

func TestDocumentsSurviveEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Analyze(rapid.String().Draw(t, "title"), rapid.String().Draw(t, "content"))
		got, err := DecodeDocument(d.Encode())
		if err != nil || got.length != d.length || len(got.terms) != len(d.terms) ||
			len(d.terms) > 0 && !reflect.DeepEqual(got, d) {
			t.Fatalf("%v: got %v, want %v", err, got, d)
		}
	})
}

func TestAttributesSurviveFlushAndMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) DocAttributes {
			n := rapid.Int64()
			return DocAttributes{
				n.Draw(t, "memory"), n.Draw(t, "atlas"), n.Draw(t, "created"), n.Draw(t, "until"),
				max(1, n.Draw(t, "group")), n.Draw(t, "position"),
				rapid.Uint8().Draw(t, "kind"), rapid.Uint8().Draw(t, "status"), rapid.Bool().Draw(t, "verified"),
				rapid.SliceOfNDistinct(rapid.String(), 0, 3, rapid.ID).Draw(t, "tags"),
			}
		})
		want := map[int64]DocAttributes{}
		d := newFakeStore()
		var parts []*Segment
		for i, a := range rapid.SliceOfDistinct(gen, func(a DocAttributes) int64 { return a.Memory }).Draw(t, "all") {
			want[a.Memory] = a
			blob, _ := Build([]DocUpdate{{Seq: 1, DocAttributes: a}})
			d.putSegment(int64(i), blob)
			s, err := d.open(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, s)
		}
		blob, err := Merge(t.Context(), d.fetch, parts)
		if err != nil || blob.Docs != len(want) {
			t.Fatal(err, blob.Docs)
		}
		s, err := Open(1, blob.Header, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Docs() {
			got := s.Attributes(i)
			if w := want[got.Memory]; len(w.Tags) == 0 {
				w.Tags = nil
				want[got.Memory] = w
			}
			if !reflect.DeepEqual(got, want[got.Memory]) {
				t.Fatalf("got %+v, want %+v", got, want[got.Memory])
			}
		}
	})
}

func FuzzDecodeDocument(f *testing.F) {
	f.Add(Analyze("title", analysistest.Prose).Encode())
	f.Add([]byte{FormatVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := DecodeDocument(data)
		if err == nil && !d.valid() {
			t.Error("a broken document was taken")
		}
	})
}

func randomSegment() EncodedSegment {
	var list []DocUpdate
	for i := range 200 {
		list = append(list, DocUpdate{Seq: int64(i), DocAttributes: DocAttributes{
			Memory: int64(i), Atlas: int64(i % 3), ValidUntil: int64(i % 2), Tags: []string{"x", "y"}[:i%3%2],
		}, Document: Analyze("", modelWords[i%7]+" "+analysistest.Prose)})
	}
	blob, err := Build(list)
	if err != nil {
		panic(err)
	}
	return blob
}

func FuzzOpen(f *testing.F) {
	blob := randomSegment()
	s, err := Open(1, blob.Header, nil)
	if err != nil {
		f.Fatal(err)
	}
	s, _ = s.MarkDeleted([]int64{3, 70, 199})
	f.Add(blob.Header, s.Tombstones())
	f.Fuzz(func(t *testing.T, head, dead []byte) {
		s, err := Open(1, head, dead)
		if err != nil {
			return
		}
		for i := range s.Docs() {
			s.Attributes(i)
		}
		s.MarkDeleted([]int64{1, 2, 3})
		fetch := func(_ int64, page int) ([]byte, error) { return blob.Pages[page%len(blob.Pages)], nil }
		_, _ = NewSnapshot([]*Segment{s}).Search(fetch, Parse("deployments frozen"), Filter{Tags: []string{"x"}}, 1, 5)
	})
}

func FuzzPage(f *testing.F) {
	blob := randomSegment()
	for _, p := range blob.Pages {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		s, err := Open(1, blob.Header, nil)
		if err != nil {
			t.Fatal(err)
		}
		fetch := func(int64, int) ([]byte, error) { return page, nil }
		v := NewSnapshot([]*Segment{s})
		for _, q := range []string{"deployments frozen", "zzz", "a"} {
			_, _ = v.Search(fetch, Parse(q), Filter{}, 0, 5)
		}
		_, _ = Merge(t.Context(), fetch, []*Segment{s, s})
	})
}

func FuzzAnalyze(f *testing.F) {
	for _, piece := range analysistest.Hostile {
		f.Add(strings.Repeat(piece, 3))
	}
	f.Add(analysistest.Prose)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		d := Analyze("", text)
		checkDocument(t, d)
		if got, err := DecodeDocument(d.Encode()); err != nil || len(got.terms) != len(d.terms) {
			t.Error(err, got)
		}
		q := Parse(text)
		if coveredWords(d, q) != q.wordCount {
			t.Errorf("%q does not find itself", text)
		}
		for _, s := range q.Match(text).Highlights() {
			if utf8.RuneCountInString(s) > snippetRunes || !strings.Contains(text, s) {
				t.Errorf("bad snippet %q", s)
			}
		}
	})
}
