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
)

// plainNearest is nearest by its definition: it looks at every term that begins
// so, in every segment and every unfolded row.
func (d *dictionary) plainNearest(word string) (string, error) {
	s := newSpeller(word)
	dfs, distances, vocabulary := map[string]int{}, map[string]int{}, map[string]int{}
	err := d.each([]string{""}, func(term []byte, live func() (int, error)) error {
		held, err := live()
		if err != nil {
			return err
		}
		vocabulary[string(term)] += held
		far := alignment(s.word, []rune(string(term)))
		begins := slices.ContainsFunc(s.beginnings(), func(b string) bool { return strings.HasPrefix(string(term), b) })
		if !begins && otherFirst(s.word, []rune(string(term))) {
			far = mostErrors + 1 // after all others
		} else if !begins || far > s.most {
			return nil
		}
		if !onlyLetters(term) || utf8.RuneCount(term) < shortestRepair {
			return nil
		}
		if held > 0 {
			dfs[string(term)] += held
			distances[string(term)] = far
		}
		return nil
	})
	best := ""
	for w, far := range distances {
		if !standsAsWord(vocabulary, w) {
			continue
		}
		if best == "" || cmp.Or(far-distances[best], dfs[best]-dfs[w], strings.Compare(w, best)) < 0 {
			best = w
		}
	}
	return best, err
}

// alphabets are letters that get into one word, and what is none.
var alphabets = []string{"abc", "etao", "абвё", "éaeò", "aàáé", "e\u0301\u0302o", "nññ", "ab1", "ab_", "𐐨𐐩𐐪", "straß", "пp а", "aaaab"}

// someWord is of 1 to 40 characters, now and then too long for a term.
func someWord(r *rand.Rand) string {
	letters, n := []rune(alphabets[r.IntN(len(alphabets))]), 1+r.IntN(9)
	if r.IntN(6) == 0 {
		n = 20 + r.IntN(21)
	}
	w := make([]rune, n)
	for i := range w {
		w[i] = letters[min(int(r.ExpFloat64()), len(letters)-1)]
	}
	return string(w)
}

// slip is a word with up to three slips of the key.
func slip(r *rand.Rand, word string) string {
	w := []rune(word)
	for range r.IntN(4) {
		i := r.IntN(len(w))
		switch letter := []rune(someWord(r))[0]; r.IntN(4) {
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
		d.terms = append(d.terms, entry{w, 1})
	}
	return d
}

// actSpelled writes, deletes, folds or merges memories of some words and of what
// they are misspelled as.
func (w *workspace) actSpelled(r *rand.Rand, words []string) error {
	switch n := len(w.changes); {
	case n > 0 && r.IntN(4) == 0:
		return w.fold(1 + r.IntN(n))
	case len(w.order) > 2 && r.IntN(4) == 0:
		return w.merge(0, 2)
	}
	for range 1 + r.IntN(8) {
		c := Change{Attributes: Attributes{Memory: r.Int64N(40)}, Gone: r.IntN(4) == 0}
		if !c.Gone {
			var terms []string
			for range r.IntN(30) {
				term := []byte(slip(r, words[r.IntN(len(words))]))
				if len(term) > maxTerm {
					term = shorten(term)
				}
				terms = append(terms, string(term))
			}
			c.Document = document(terms)
		}
		w.write(c)
	}
	return nil
}

func TestRepairsEqualThoseOfAPlainWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		words := make([]string, 12)
		for i := range words {
			words[i] = someWord(r)
		}
		w, cache := newWorkspace(), NewCache([]int{0, 2000, 1 << 20}[r.IntN(3)])
		before := w.view
		for range 12 {
			if err := w.actSpelled(r, words); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				word := slip(r, words[r.IntN(len(words))])
				if n := utf8.RuneCountInString(word); n < repairWord || n > longestRepair {
					continue
				}
				for _, v := range []*View{w.view, before} {
					d := dictionary{view: v, cache: cache, fetch: cache.Through(w.fetch)}
					want, _ := d.plainNearest(word)
					if got, ok, err := d.nearest(word); err != nil || got != want || ok != (want != "") {
						t.Fatalf("%q is taken for %q, want %q, %v", word, got, want, err)
					}
				}
			}
			before = w.view
		}
	})
}

// A filter by letters may let too much pass, but nothing that is near.
func TestNearWordsAreMadeOfNearlyTheSameLetters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		word := someWord(r)
		for utf8.RuneCountInString(word) < repairWord {
			word = someWord(r)
		}
		s := newSpeller(word)
		var l wordlist
		for range 50 {
			x := slip(r, word)
			l = wordlist{}
			l.add([]byte(x))
			near := false
			err := l.near(s, "", func([]byte, int) error { near = true; return nil })
			want := len(l.shapes) > 0 && alignment([]rune(word), []rune(x)) <= s.most
			if err != nil || near != want {
				t.Fatalf("%q is near to %q: %v, want %v", x, word, near, want)
			}
		}
	})
}

func TestASegmentIsWalkedOnceForALetter(t *testing.T) {
	t.Parallel()
	disk, cache, asked := newDisk(), NewCache(1<<20), 0
	fetch := func(segment int64, page int) ([]byte, error) { asked++; return disk.fetch(segment, page) }
	v := library(t, disk, "harbour hammer", "bahamas", "end")
	for _, c := range []struct {
		word  string
		asked bool // for pages: of words that may be meant they tell how many hold them
	}{{"hhqqq", true}, {"hhxxx", false}, {"hbxxx", true}, {"bbxxx", true}, {"bbqqq", false}, {"hbxxx", false}, {"bhaxx", false}, {"harbuor", true}} {
		asked = 0
		d := dictionary{view: v, cache: cache, fetch: fetch}
		if _, _, err := d.nearest(c.word); err != nil || asked > 0 != c.asked {
			t.Errorf("%s: %d pages, %v", c.word, asked, err)
		}
	}
}

func TestRepairsGoOnWhileOthersWrite(t *testing.T) {
	t.Parallel()
	d, cache := newDisk(), NewCache(1<<20)
	v := library(t, d, "harbour", "hammer", "end")
	var all sync.WaitGroup
	for i := range int64(40) {
		old := v
		all.Go(func() {
			words := dictionary{view: old, cache: cache, fetch: d.fetch}
			if got, _, err := words.nearest("harbuor"); got != "harbour" || err != nil {
				t.Errorf("after %d: %s, %v", i, got, err)
			}
		})
		v = v.With([]Change{note(10+i, 10+i, "hammers harvest "+strings.Repeat("h", int(i+1)))})
	}
	all.Wait()
}

func TestListsOfWordsCountInTheCache(t *testing.T) {
	t.Parallel()
	d, letters := newDisk(), "abcdefghijklmnop"
	var lines []string
	for i := range 200 {
		lines = append(lines, strings.Repeat(string(letters[i%16]), 3+i/16))
	}
	v := library(t, d, append(lines, "end")...)
	cache := NewCache(4000)
	for _, c := range letters {
		words := dictionary{view: v, cache: cache, fetch: d.fetch}
		if _, _, err := words.nearest(string(c) + "xyz"); err != nil {
			t.Fatal(err)
		}
		size := 0
		for e := cache.order.Front(); e != nil; e = e.Next() {
			for _, s := range e.Value.(*cached).words.shapes {
				size += 8*len(s.letters) + len(s.texts)
			}
		}
		if cache.size > cache.limit || cache.size <= size || len(cache.kept) == 0 || len(cache.kept) == len(letters) {
			t.Fatalf("%d bytes in %d lists, of %d", cache.size, len(cache.kept), size)
		}
	}
}

func TestAnErasedWordIsNobodysRepair(t *testing.T) {
	t.Parallel()
	d, cache := newDisk(), NewCache(1<<20)
	v := library(t, d, "secretary", "secrets", "end")
	q, err := v.Adapt(cache, d.fetch, Parse("the secretray"))
	if err != nil || spelled(q) != "secretary:0.24 secretari:0.80" {
		t.Fatalf("before: %s, %v", spelled(q), err)
	}
	s, _ := v.Segments()[0].Kill([]int64{1})
	blob, err := Merge(t.Context(), d.fetch, []*Segment{s})
	if err != nil {
		t.Fatal(err)
	}
	d.put(2, blob)
	if s, err = d.open(2); err != nil {
		t.Fatal(err)
	}
	if q, err = NewView([]*Segment{s}).Adapt(cache, d.fetch, Parse("the secretray")); err != nil || spelled(q) != spelled(Parse("the secretray")) {
		t.Errorf("after: %s, %v", spelled(q), err)
	}
}
