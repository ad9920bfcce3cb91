package query

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// naiveNearest is nearestTerm by its definition. It compares every term of the segments and of the memtable.
func (v *vocabulary) naiveNearest(word string) (string, error) {
	letters, maxDistance := []rune(word), index.NewEditDistanceMatcher(word).MaxDistance
	dfs, distances, modelWords := map[string]int{}, map[string]int{}, map[string]int{}
	err := v.EachTerm(analysistest.Letters(), func(term []byte, live func() (int, error)) error {
		held, err := live()
		if err != nil {
			return err
		}
		modelWords[string(term)] += held
		distance := analysistest.EditDistance(letters, []rune(string(term)))
		begins := strings.HasPrefix(string(term), string(letters[:1])) ||
			strings.HasPrefix(string(term), string([]rune{letters[1], letters[0]}))
		if !begins && differsInFirstLetter(letters, []rune(string(term))) {
			distance = 3 // after all others
		} else if !begins || distance > maxDistance {
			return nil
		}
		if !analysis.OnlyLetters(term) || utf8.RuneCount(term) < 3 {
			return nil
		}
		if held > 0 {
			dfs[string(term)] += held
			distances[string(term)] = distance
		}
		return nil
	})
	best := ""
	for w, distance := range distances {
		if !naiveIsSurfaceWord(modelWords, w) {
			continue
		}
		if best == "" || cmp.Or(distance-distances[best], dfs[best]-dfs[w], strings.Compare(w, best)) < 0 {
			best = w
		}
	}
	return best, err
}

// document returns a document of arbitrary terms.
func document(terms []string) index.Document {
	d := index.Document{Length: uint32(len(terms))}
	for _, w := range slices.Compact(slices.Sorted(slices.Values(terms))) {
		d.Terms = append(d.Terms, index.TermFreq{Term: w, Freq: 1})
	}
	return d
}

// randomMisspelledStep writes, deletes, flushes or merges memories with misspelled words.
func (w *modelIndex) randomMisspelledStep(r *rand.Rand, words []string) error {
	switch n := len(w.changes); {
	case n > 0 && r.IntN(4) == 0:
		return w.flush(1 + r.IntN(n))
	case len(w.order) > 2 && r.IntN(4) == 0:
		return w.merge(0, 2)
	}
	for range 1 + r.IntN(8) {
		c := index.DocUpdate{DocAttributes: index.DocAttributes{Memory: r.Int64N(40)}, Deleted: r.IntN(4) == 0}
		if !c.Deleted {
			var terms []string
			for range r.IntN(30) {
				if term := analysistest.Misspell(r, words[r.IntN(len(words))]); len(term) <= analysis.MaxTermBytes {
					terms = append(terms, term)
				}
			}
			c.Document = document(terms)
		}
		w.write(c)
	}
	return nil
}

func TestSpellingEqualsNaiveScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		words := make([]string, 12)
		for i := range words {
			words[i] = analysistest.RandomWord(r)
		}
		w, cache := newModelIndex(), index.NewCache([]int{0, 2000, 1 << 20}[r.IntN(3)])
		before := w.snapshot
		for range 12 {
			testenv.NoError(t, w.randomMisspelledStep(r, words))
			for range 6 {
				word := analysistest.Misspell(r, words[r.IntN(len(words))])
				if n := utf8.RuneCountInString(word); n < minMisspelledRunes || n > index.MaxMisspelledRunes {
					continue
				}
				for _, v := range []*index.Snapshot{w.snapshot, before} {
					d := newVocabulary(v, cache, cache.ReadThrough(w.Fetch))
					want, _ := d.naiveNearest(word)
					if got, ok, err := d.nearestTerm(word); err != nil || got != want || ok != (want != "") {
						t.Fatalf("%q is taken for %q, want %q, %v", word, got, want, err)
					}
				}
			}
			before = w.snapshot
		}
	})
}

func TestSpellingDictIsCachedPerLetter(t *testing.T) {
	t.Parallel()
	disk, cache, asked := indextest.NewStore(), index.NewCache(1<<20), 0
	fetch := func(segment int64, page int) ([]byte, error) { asked++; return disk.Fetch(segment, page) }
	v := buildSnapshot(t, disk, "harbour hammer", "bahamas", "end")
	for _, c := range []struct {
		word  string
		asked bool // pages are fetched, for the document frequencies of near words
	}{{"hhqqq", true}, {"hhxxx", false}, {"hbxxx", true}, {"bbxxx", true}, {"bbqqq", false}, {"hbxxx", false},
		{"bhaxx", false}, {"harbuor", true}} {
		asked = 0
		d := newVocabulary(v, cache, fetch)
		if _, _, err := d.nearestTerm(c.word); err != nil || asked > 0 != c.asked {
			t.Errorf("%s: %d pages, %v", c.word, asked, err)
		}
	}
}

// A workspace may have very many words with one first letter.
func TestSpellingReadsFewPagesForWordsOfThreeLetters(t *testing.T) {
	t.Parallel()
	disk, cache, pages := indextest.NewStore(), index.NewCache(1<<20), map[int]bool{}
	var words strings.Builder
	words.WriteString("cat")
	for i := range 26 * 26 * 26 {
		words.WriteString(" co" + string([]byte{'a' + byte(i/676), 'a' + byte(i/26%26), 'a' + byte(i%26)}))
	}
	v := buildSnapshot(t, disk, words.String(), "end")
	d := newVocabulary(v, cache, func(segment int64, page int) ([]byte, error) {
		pages[page] = true
		return disk.Fetch(segment, page)
	})
	if ok, err := d.isSurfaceWord("cat"); !ok || err != nil || len(pages) > 1 {
		t.Errorf("%v, %v, read %d pages", ok, err, len(pages))
	}
}

func TestSpellingRunsDuringWrites(t *testing.T) {
	t.Parallel()
	d, cache := indextest.NewStore(), index.NewCache(1<<20)
	v := buildSnapshot(t, d, "harbour", "hammer", "end")
	var all sync.WaitGroup
	for i := range int64(40) {
		old := v
		all.Go(func() {
			words := newVocabulary(old, cache, d.Fetch)
			if got, _, err := words.nearestTerm("harbuor"); got != "harbour" || err != nil {
				t.Errorf("after %d: %s, %v", i, got, err)
			}
		})
		v = v.Apply([]index.DocUpdate{indextest.Update(10+i, 10+i, "hammers harvest "+strings.Repeat("h", int(i+1)))})
	}
	all.Wait()
}

func TestSpellingIgnoresErasedWords(t *testing.T) {
	t.Parallel()
	d, cache := indextest.NewStore(), index.NewCache(1<<20)
	v := buildSnapshot(t, d, "secretary", "secrets", "end")
	q, err := rewriteQuery(v, cache, d.Fetch, Parse("the secretray"))
	if err != nil || formatTerms(q) != "secretary:0.24 secretari:0.80" {
		t.Fatalf("before: %s, %v", formatTerms(q), err)
	}
	s, _ := v.Segments()[0].MarkDeleted([]int64{1})
	blob, err := index.Merge(t.Context(), d.Fetch, []*index.Segment{s})
	if err != nil {
		t.Fatal(err)
	}
	d.Put(2, blob)
	s = testenv.Must(d.Open(2))(t)
	if q, err = rewriteQuery(index.NewSnapshot([]*index.Segment{s}), cache, d.Fetch,
		Parse("the secretray")); err != nil ||
		formatTerms(q) != formatTerms(Parse("the secretray")) {
		t.Errorf("after: %s, %v", formatTerms(q), err)
	}
}
