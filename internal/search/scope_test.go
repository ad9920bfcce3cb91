package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A search of one atlas ranks as in a workspace of its own, however both are spread over
// segments and unfolded rows, and whatever stands beside it.
func TestOneAtlasRanksAsAWorkspaceOfItsOwn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	whole, alone := newWorkspace(), newWorkspace()
	for i := range 60 {
		c := someChange(r)
		c.Memory, c.Gone, c.Atlas = int64(i), false, int64(i%2)
		c.Document = Analyze("", someText(r, 1+r.IntN(60)))
		whole.write(c)
		if c.Atlas == 1 {
			alone.write(c)
		}
		if i == 20 {
			if err := whole.fold(len(whole.changes)); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole.write(Change{Attributes: Attributes{Memory: 7, Atlas: 1}, Gone: true})
	alone.write(Change{Attributes: Attributes{Memory: 7, Atlas: 1}, Gone: true})
	for _, w := range []*workspace{whole, alone} {
		if err := w.fold(len(w.changes) / 2); err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		text := someText(r, 1+r.IntN(5))
		f := Filter{Atlases: []int64{1}}
		_, got, err := whole.view.Answer(NewCache(1<<20), whole.fetch, Parse(text), f, 0, 20)
		_, want, other := alone.view.Answer(NewCache(1<<20), alone.fetch, Parse(text), Filter{}, 0, 20)
		if err != nil || other != nil || !same(got, want) {
			t.Fatalf("%q, %v, %v:\ngot  %+v\nwant %+v", text, err, other, got, want)
		}
	}
}

// The words of another atlas are nothing that a misspelled one can stand for, nor do
// they tell the language.
func TestOneAtlasHasItsOwnVocabularyAndLanguage(t *testing.T) {
	t.Parallel()
	var list []Change
	for i := range 4 * scopeDocs {
		lines, atlas := tongues["German"], int64(1)
		if i%4 > 0 {
			lines, atlas = tongues["English"], 2
		}
		c := note(int64(i+1), int64(i+1), lines[i/4%len(lines)])
		c.Atlas = atlas
		list = append(list, c)
	}
	d := newDisk()
	v := folded(t, d, 1, list[:3*scopeDocs]).With(list[3*scopeDocs:])
	for atlas, widened := range map[int64]bool{1: true, 2: false} {
		q, _, err := v.Answer(NewCache(0), d.fetch, Parse("Rechnung Lieferant"), Filter{Atlases: []int64{atlas}}, 0, 3)
		if err != nil || len(q.families) > 0 != widened {
			t.Errorf("atlas %d: %s, %v", atlas, spelled(q), err)
		}
	}
	_, r, err := v.Answer(NewCache(0), d.fetch, Parse("Kantime"), Filter{Atlases: []int64{2}}, 0, 3)
	if err != nil || r.Total > 0 {
		t.Errorf("a word of another atlas repairs one: %v, %v", r.Hits, err)
	}
}

// The statistics of an atlas with few documents say less than those of the workspace.
func TestASmallAtlasRanksByItsWorkspace(t *testing.T) {
	t.Parallel()
	for docs, own := range map[int]bool{scopeDocs - 1: false, scopeDocs: true} {
		var list []Change
		for i := range 3 * scopeDocs {
			c := note(int64(i+1), int64(i+1), fmt.Sprintf("tide %d", i%3))
			if c.Atlas = 1; i >= docs {
				c.Atlas = 2
			}
			list = append(list, c)
		}
		d := newDisk()
		v := folded(t, d, 1, list)
		if got := v.scoped(&Filter{Atlases: []int64{1}}); (got.Docs() == docs) != own || (got == v) == own {
			t.Errorf("an atlas of %d documents is ranked by %d", docs, got.Docs())
		}
		if v.scoped(&Filter{}) != v || v.scoped(&Filter{Atlases: []int64{1, 2}}) != v {
			t.Error("more than one atlas has statistics of its own")
		}
	}
}

func TestStopWordsOfTheLanguageOfTheQueryWeighLess(t *testing.T) {
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
			low := term.weight == stopWeight || term.weight == float32(beside*stopWeight) || term.weight == float32(joinedWeight*stopWeight)
			if head := q.terms[slices.IndexFunc(q.terms, func(x queryTerm) bool { return x.group == term.group })]; low != slices.Contains(stops, head.text) {
				t.Errorf("%s: %q has the weight %v", query, term.text, term.weight)
			}
		}
	}
}
