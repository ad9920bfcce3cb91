package query

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/testenv"
)

func randomSegment() index.EncodedSegment {
	var list []index.DocUpdate
	for i := range 200 {
		list = append(list, index.DocUpdate{Seq: int64(i), DocAttributes: index.DocAttributes{
			Memory: int64(i), Atlas: int64(i % 3), ValidUntil: int64(i % 2), Tags: []string{"x", "y"}[:i%3%2],
		}, Document: index.Analyze("", modelWords[i%7]+" "+analysistest.Prose)})
	}
	blob := index.Build(list)
	return blob
}

func FuzzOpen(f *testing.F) {
	blob := randomSegment()
	s := testenv.Must(index.Open(1, blob.Header, nil))(f)
	s, _ = s.MarkDeleted([]int64{3, 70, 199})
	f.Add(blob.Header, s.Tombstones())
	f.Fuzz(func(t *testing.T, head, dead []byte) {
		s, err := index.Open(1, head, dead)
		if err != nil {
			return
		}
		for i := range s.Docs() {
			s.Attributes(i)
		}
		s.MarkDeleted([]int64{1, 2, 3})
		fetch := func(_ int64, page int) ([]byte, error) { return blob.Pages[page%len(blob.Pages)], nil }
		_, _ = rank(index.NewSnapshot([]*index.Segment{s}), fetch, Parse("deployments frozen"),
			index.Filter{Tags: []string{"x"}}, 1, 5)
	})
}

func FuzzPage(f *testing.F) {
	blob := randomSegment()
	for _, p := range blob.Pages {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		s := testenv.Must(index.Open(1, blob.Header, nil))(t)
		fetch := func(int64, int) ([]byte, error) { return page, nil }
		v := index.NewSnapshot([]*index.Segment{s})
		for _, q := range []string{"deployments frozen", "zzz", "a"} {
			_, _ = rank(v, fetch, Parse(q), index.Filter{}, 0, 5)
		}
		_, _ = index.Merge(t.Context(), fetch, []*index.Segment{s, s})
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
		d := index.Analyze("", text)
		indextest.CheckDocument(t, d)
		if got, err := index.DecodeDocument(d.Encode()); err != nil || len(got.Terms) != len(d.Terms) {
			t.Error(err, got)
		}
		q := Parse(text)
		testenv.Equal(t, coveredWords(d, q), q.wordCount, text)
		for _, s := range q.Match(text).Highlights() {
			if utf8.RuneCountInString(s) > snippetRunes || !strings.Contains(text, s) {
				t.Errorf("bad snippet %q", s)
			}
		}
	})
}

// ndcg returns the mean nDCG@10 of a dataset, with a workspace for each group.
func ndcg(t testing.TB, j relevance.Dataset) float64 {
	snapshots, ids := map[string]*index.Snapshot{}, map[int64]string{}
	d := indextest.NewStore()
	groups := map[string][]index.DocUpdate{}
	for i, doc := range j.Documents {
		ids[int64(i)] = doc.ID
		c := index.DocUpdate{Seq: int64(i), DocAttributes: index.DocAttributes{Memory: int64(i)},
			Document: index.Analyze(doc.Title, doc.Text)}
		groups[doc.Group] = append(groups[doc.Group], c)
	}
	for g, changes := range groups {
		snapshots[g] = d.Flush(t, int64(len(snapshots)), changes)
	}
	sum := 0.
	for _, q := range j.Queries {
		// The search does not boost by dates, so the words of dates keep their full weight.
		r := testenv.Must(rank(snapshots[q.Group], d.Fetch, withFullDates(Parse(q.Text)), index.Filter{}, 0, 10))(t)
		got := 0.
		for i, h := range r.Hits {
			got += q.Relevant[ids[h.Memory]] / math.Log2(float64(i+2))
		}
		sum += got / ideal(len(q.Relevant))
	}
	return sum / float64(len(j.Queries))
}

func ideal(n int) (sum float64) {
	for i := range min(n, 10) {
		sum += 1 / math.Log2(float64(i+2))
	}
	return sum
}

func TestSearchReachesQualityFloors(t *testing.T) {
	t.Parallel()
	floors := map[string]float64{"docs": .75, "code": .73, "xquad-en": .965, "xquad-ru": .87, "xquad-zh": .96,
		"jaquad": .91, "locomo-turns": .52, "locomo-sessions": .84}
	for _, name := range datasettest.Present(t, slices.Sorted(maps.Keys(floors))...) {
		t.Run(name, func(t *testing.T) {
			got := ndcg(t, datasettest.Read(t, name))
			t.Logf("%s nDCG@10 %.4f", name, got)
			if got < floors[name] {
				t.Errorf("nDCG@10 %.4f, want at least %.4f", got, floors[name])
			}
		})
	}
}
