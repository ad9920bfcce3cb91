package query

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A search of one atlas ranks as in a workspace of its own. Segments, memtable and other atlases do not matter.
func TestSearchUsesStatisticsOfOneAtlas(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	whole, alone := newModelIndex(), newModelIndex()
	for i := range 60 {
		c := randomUpdate(r)
		c.Memory, c.Deleted, c.Atlas = int64(i), false, int64(i%2)
		c.Document = index.Analyze("", randomText(r, 1+r.IntN(60)))
		whole.write(c)
		if c.Atlas == 1 {
			alone.write(c)
		}
		if i == 20 {
			testenv.NoError(t, whole.flush(len(whole.changes)))
		}
	}
	whole.write(index.DocUpdate{DocAttributes: index.DocAttributes{Memory: 7, Atlas: 1}, Deleted: true})
	alone.write(index.DocUpdate{DocAttributes: index.DocAttributes{Memory: 7, Atlas: 1}, Deleted: true})
	for _, w := range []*modelIndex{whole, alone} {
		testenv.NoError(t, w.flush(len(w.changes)/2))
	}
	for range 60 {
		text := randomText(r, 1+r.IntN(5))
		f := index.Filter{Atlases: []int64{1}}
		_, got, err := Search(whole.snapshot, index.NewCache(1<<20), whole.Fetch, Parse(text), f, 0, 20)
		_, want, other := Search(alone.snapshot, index.NewCache(1<<20), alone.Fetch, Parse(text), index.Filter{}, 0, 20)
		if err != nil || other != nil || !sameResult(got, want) {
			t.Fatalf("%q, %v, %v:\ngot  %+v\nwant %+v", text, err, other, got, want)
		}
	}
}

// minScopeDocs is the number of documents from which on an atlas has statistics of its own.
const minScopeDocs = 16

// Words of another atlas do not correct misspelled ones, and do not decide about the language.
func TestSearchUsesVocabularyOfOneAtlas(t *testing.T) {
	t.Parallel()
	var list []index.DocUpdate
	for i := range 4 * minScopeDocs {
		lines, atlas := languageSamples["German"], int64(1)
		if i%4 > 0 {
			lines, atlas = languageSamples["English"], 2
		}
		c := indextest.Update(int64(i+1), int64(i+1), lines[i/4%len(lines)])
		c.Atlas = atlas
		list = append(list, c)
	}
	d := indextest.NewStore()
	v := d.Flush(t, 1, list[:3*minScopeDocs]).Apply(list[3*minScopeDocs:])
	for atlas, widened := range map[int64]bool{1: true, 2: false} {
		q, _, err := Search(v, index.NewCache(0), d.Fetch, Parse("Rechnung Lieferant"),
			index.Filter{Atlases: []int64{atlas}}, 0, 3)
		if err != nil || len(q.expansionTerms) > 0 != widened {
			t.Errorf("atlas %d: %s, %v", atlas, formatTerms(q), err)
		}
	}
	_, r, err := Search(v, index.NewCache(0), d.Fetch, Parse("Kantime"), index.Filter{Atlases: []int64{2}}, 0, 3)
	if err != nil || r.Total > 0 {
		t.Errorf("a word of another atlas repairs one: %v, %v", r.Hits, err)
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
