package search

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
)

// naiveNearest is nearest by its definition: it looks at every term that begins
// so, in every segment and every unfolded row.
func (d *vocabulary) naiveNearest(word string) (string, error) {
	s := NewEditDistanceMatcher(word)
	dfs, distances, modelWords := map[string]int{}, map[string]int{}, map[string]int{}
	err := d.EachTerm([]string{""}, func(term []byte, live func() (int, error)) error {
		held, err := live()
		if err != nil {
			return err
		}
		modelWords[string(term)] += held
		distance := osaDistance(s.word, []rune(string(term)))
		begins := slices.ContainsFunc(s.prefixes(), func(b string) bool { return strings.HasPrefix(string(term), b) })
		if !begins && differsInFirstLetter(s.word, []rune(string(term))) {
			distance = maxEdits + 1 // after all others
		} else if !begins || distance > s.MaxDistance {
			return nil
		}
		if !analysis.OnlyLetters(term) || utf8.RuneCount(term) < minCorrectionRunes {
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

// testAlphabets are letters that get into one word, and what is none.
var testAlphabets = []string{"abc", "etao", "абвё", "éaeò", "aàáé", "e\u0301\u0302o", "nññ", "ab1", "ab_", "𐐨𐐩𐐪",
	"straß", "пp а", "aaaab"}

// randomWord is of 1 to 40 characters, now and then too long for a term.
func randomWord(r *rand.Rand) string {
	letters, n := []rune(testAlphabets[r.IntN(len(testAlphabets))]), 1+r.IntN(9)
	if r.IntN(6) == 0 {
		n = 20 + r.IntN(21)
	}
	w := make([]rune, n)
	for i := range w {
		w[i] = letters[min(int(r.ExpFloat64()), len(letters)-1)]
	}
	return string(w)
}

// misspell is a word with up to three slips of the key.
func misspell(r *rand.Rand, word string) string {
	w := []rune(word)
	for range r.IntN(4) {
		i := r.IntN(len(w))
		switch letter := []rune(randomWord(r))[0]; r.IntN(4) {
		case 0:
			w[i] = letter
		case 1:
			w = slices.Insert(w, i, letter)
		case 2:
			if len(w) > 1 {
				w = slices.Delete(w, i, i+1)
			}
		default:
			i = min(i, r.IntN(3)) // the first two are swapped most
			if i+1 < len(w) {
				w[i], w[i+1] = w[i+1], w[i]
			}
		}
	}
	return string(w)
}

// document holds terms that the analyzer would not make together.
func document(terms []string) Document {
	d := Document{length: uint32(len(terms))}
	for _, w := range slices.Compact(slices.Sorted(slices.Values(terms))) {
		d.terms = append(d.terms, termFreq{w, 1})
	}
	return d
}

// randomMisspelledStep writes, deletes, folds or merges memories of some words and of what
// they are misspelled as.
func (w *modelIndex) randomMisspelledStep(r *rand.Rand, words []string) error {
	switch n := len(w.changes); {
	case n > 0 && r.IntN(4) == 0:
		return w.flush(1 + r.IntN(n))
	case len(w.order) > 2 && r.IntN(4) == 0:
		return w.merge(0, 2)
	}
	for range 1 + r.IntN(8) {
		c := DocUpdate{DocAttributes: DocAttributes{Memory: r.Int64N(40)}, Deleted: r.IntN(4) == 0}
		if !c.Deleted {
			var terms []string
			for range r.IntN(30) {
				if term := misspell(r, words[r.IntN(len(words))]); len(term) <= analysis.MaxTermBytes {
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
			words[i] = randomWord(r)
		}
		w, cache := newModelIndex(), NewCache([]int{0, 2000, 1 << 20}[r.IntN(3)])
		before := w.snapshot
		for range 12 {
			if err := w.randomMisspelledStep(r, words); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				word := misspell(r, words[r.IntN(len(words))])
				if n := utf8.RuneCountInString(word); n < minMisspelledRunes || n > MaxMisspelledRunes {
					continue
				}
				for _, v := range []*Snapshot{w.snapshot, before} {
					d := newVocabulary(v, cache, cache.ReadThrough(w.fetch))
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

// A filter by letters may let too much pass, but nothing that is near.
func TestLetterMaskKeepsCloseWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		word := randomWord(r)
		for utf8.RuneCountInString(word) < minMisspelledRunes {
			word = randomWord(r)
		}
		s := NewEditDistanceMatcher(word)
		var l termDict
		for range 50 {
			x := misspell(r, word)
			l = termDict{}
			l.add([]byte(x))
			near := false
			err := l.eachFuzzyMatch(s, "", func([]byte, int) error { near = true; return nil })
			want := len(l.buckets) > 0 && osaDistance([]rune(word), []rune(x)) <= s.MaxDistance
			if err != nil || near != want {
				t.Fatalf("%q is near to %q: %v, want %v", x, word, near, want)
			}
		}
	})
}

func TestTermDictIsCachedPerLetter(t *testing.T) {
	t.Parallel()
	disk, cache, asked := newFakeStore(), NewCache(1<<20), 0
	fetch := func(segment int64, page int) ([]byte, error) { asked++; return disk.fetch(segment, page) }
	v := buildSnapshot(t, disk, "harbour hammer", "bahamas", "end")
	for _, c := range []struct {
		word  string
		asked bool // for pages: of words that may be meant they tell how many hold them
	}{{"hhqqq", true}, {"hhxxx", false}, {"hbxxx", true}, {"bbxxx", true}, {"bbqqq", false}, {"hbxxx", false},
		{"bhaxx", false}, {"harbuor", true}} {
		asked = 0
		d := newVocabulary(v, cache, fetch)
		if _, _, err := d.nearestTerm(c.word); err != nil || asked > 0 != c.asked {
			t.Errorf("%s: %d pages, %v", c.word, asked, err)
		}
	}
}

func TestSpellingRunsDuringWrites(t *testing.T) {
	t.Parallel()
	d, cache := newFakeStore(), NewCache(1<<20)
	v := buildSnapshot(t, d, "harbour", "hammer", "end")
	var all sync.WaitGroup
	for i := range int64(40) {
		old := v
		all.Go(func() {
			words := newVocabulary(old, cache, d.fetch)
			if got, _, err := words.nearestTerm("harbuor"); got != "harbour" || err != nil {
				t.Errorf("after %d: %s, %v", i, got, err)
			}
		})
		v = v.Apply([]DocUpdate{textUpdate(10+i, 10+i, "hammers harvest "+strings.Repeat("h", int(i+1)))})
	}
	all.Wait()
}

func TestCacheCountsTermDicts(t *testing.T) {
	t.Parallel()
	d, letters := newFakeStore(), "abcdefghijklmnop"
	var lines []string
	for i := range 200 {
		lines = append(lines, strings.Repeat(string(letters[i%16]), 3+i/16))
	}
	v := buildSnapshot(t, d, append(lines, "end")...)
	cache := NewCache(4000)
	for _, c := range letters {
		words := newVocabulary(v, cache, d.fetch)
		if _, _, err := words.nearestTerm(string(c) + "xyz"); err != nil {
			t.Fatal(err)
		}
		size := 0
		for e := cache.lru.Front(); e != nil; e = e.Next() {
			for _, s := range e.Value.(*cacheEntry).dict.buckets {
				size += 8*len(s.letterMasks) + len(s.texts)
			}
		}
		if cache.size > cache.limit || cache.size <= size || len(cache.entries) == 0 ||
			len(cache.entries) == len(letters) {
			t.Fatalf("%d bytes in %d lists, of %d", cache.size, len(cache.entries), size)
		}
	}
}

func TestSpellingIgnoresErasedWords(t *testing.T) {
	t.Parallel()
	d, cache := newFakeStore(), NewCache(1<<20)
	v := buildSnapshot(t, d, "secretary", "secrets", "end")
	q, err := v.RewriteQuery(cache, d.fetch, Parse("the secretray"))
	if err != nil || formatTerms(q) != "secretary:0.24 secretari:0.80" {
		t.Fatalf("before: %s, %v", formatTerms(q), err)
	}
	s, _ := v.Segments()[0].MarkDeleted([]int64{1})
	blob, err := Merge(t.Context(), d.fetch, []*Segment{s})
	if err != nil {
		t.Fatal(err)
	}
	d.putSegment(2, blob)
	if s, err = d.open(2); err != nil {
		t.Fatal(err)
	}
	if q, err = NewSnapshot([]*Segment{s}).RewriteQuery(cache, d.fetch, Parse("the secretray")); err != nil ||
		formatTerms(q) != formatTerms(Parse("the secretray")) {
		t.Errorf("after: %s, %v", formatTerms(q), err)
	}
}
