package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A search of one atlas ranks as in a workspace of its own, however both are spread over
// segments and unfolded rows, and whatever stands beside it.
func TestSearchUsesStatisticsOfOneAtlas(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	whole, alone := newModelIndex(), newModelIndex()
	for i := range 60 {
		c := randomUpdate(r)
		c.Memory, c.Deleted, c.Atlas = int64(i), false, int64(i%2)
		c.Document = Analyze("", randomText(r, 1+r.IntN(60)))
		whole.write(c)
		if c.Atlas == 1 {
			alone.write(c)
		}
		if i == 20 {
			if err := whole.flush(len(whole.changes)); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole.write(DocUpdate{DocAttributes: DocAttributes{Memory: 7, Atlas: 1}, Deleted: true})
	alone.write(DocUpdate{DocAttributes: DocAttributes{Memory: 7, Atlas: 1}, Deleted: true})
	for _, w := range []*modelIndex{whole, alone} {
		if err := w.flush(len(w.changes) / 2); err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		text := randomText(r, 1+r.IntN(5))
		f := Filter{Atlases: []int64{1}}
		_, got, err := whole.snapshot.SearchRewritten(NewCache(1<<20), whole.fetch, Parse(text), f, 0, 20)
		_, want, other := alone.snapshot.SearchRewritten(NewCache(1<<20), alone.fetch, Parse(text), Filter{}, 0, 20)
		if err != nil || other != nil || !sameResult(got, want) {
			t.Fatalf("%q, %v, %v:\ngot  %+v\nwant %+v", text, err, other, got, want)
		}
	}
}

// The words of another atlas are nothing that a misspelled one can stand for, nor do
// they tell the language.
func TestSearchUsesVocabularyOfOneAtlas(t *testing.T) {
	t.Parallel()
	var list []DocUpdate
	for i := range 4 * minScopeDocs {
		lines, atlas := languageSamples["German"], int64(1)
		if i%4 > 0 {
			lines, atlas = languageSamples["English"], 2
		}
		c := textUpdate(int64(i+1), int64(i+1), lines[i/4%len(lines)])
		c.Atlas = atlas
		list = append(list, c)
	}
	d := newFakeStore()
	v := flushedSnapshot(t, d, 1, list[:3*minScopeDocs]).Apply(list[3*minScopeDocs:])
	for atlas, widened := range map[int64]bool{1: true, 2: false} {
		q, _, err := v.SearchRewritten(NewCache(0), d.fetch, Parse("Rechnung Lieferant"),
			Filter{Atlases: []int64{atlas}}, 0, 3)
		if err != nil || len(q.expansionTerms) > 0 != widened {
			t.Errorf("atlas %d: %s, %v", atlas, formatTerms(q), err)
		}
	}
	_, r, err := v.SearchRewritten(NewCache(0), d.fetch, Parse("Kantime"), Filter{Atlases: []int64{2}}, 0, 3)
	if err != nil || r.Total > 0 {
		t.Errorf("a word of another atlas repairs one: %v, %v", r.Hits, err)
	}
}

// The statistics of an atlas with few documents say less than those of the workspace.
func TestSearchUsesWorkspaceStatisticsForSmallAtlas(t *testing.T) {
	t.Parallel()
	for docs, own := range map[int]bool{minScopeDocs - 1: false, minScopeDocs: true} {
		var list []DocUpdate
		for i := range 3 * minScopeDocs {
			c := textUpdate(int64(i+1), int64(i+1), fmt.Sprintf("tide %d", i%3))
			if c.Atlas = 1; i >= docs {
				c.Atlas = 2
			}
			list = append(list, c)
		}
		d := newFakeStore()
		v := flushedSnapshot(t, d, 1, list)
		if got := v.ScopedTo(&Filter{Atlases: []int64{1}}); (got.Docs() == docs) != own || (got == v) == own {
			t.Errorf("an atlas of %d documents is ranked by %d", docs, got.Docs())
		}
		if v.ScopedTo(&Filter{}) != v || v.ScopedTo(&Filter{Atlases: []int64{1, 2}}) != v {
			t.Error("more than one atlas has statistics of its own")
		}
	}
}

func TestParseWeakensStopWordsOfQueryLanguage(t *testing.T) {
	t.Parallel()
	for query, stops := range map[string][]string{
		"Сколько очков уступила защита":      {"сколько"},
		"Dónde están las facturas nuevas":    {"dónde", "están", "las"},
		"Wo liegen die Rechnungen vom Juni":  {"wo", "die", "vom"},
		`Wo liegt "die Rechnungen" vom Juni`: {"wo", "vom"},
		"Πότε άνοιξε το λιμάνι":              {"πότε", "το"},
		"what is the French word que":        nil,
		"que des les":                        nil,
		"invoices of the die maker":          nil,
	} {
		q := Parse(query)
		for _, term := range q.terms {
			low := term.weight == stopWordWeight || term.weight == float32(surfaceFormWeight*stopWordWeight) ||
				term.weight == float32(joinedWordWeight*stopWordWeight)
			if head := q.terms[slices.IndexFunc(q.terms, func(x queryTerm) bool {
				return x.wordIndex == term.wordIndex
			})]; low != slices.Contains(stops, head.text) {
				t.Errorf("%s: %q has the weight %v", query, term.text, term.weight)
			}
		}
	}
}
