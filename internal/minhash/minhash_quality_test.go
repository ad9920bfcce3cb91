package minhash

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/relevance/datasettest"
)

// candidates is for how many texts at most the sets are compared.
const candidates = 16

// archive holds texts and finds near copies as the store does.
type archive struct {
	texts []string
	sets  []Shingles
	bands map[int64][]int
}

func newArchive(texts []string) *archive {
	a := &archive{texts: texts, bands: map[int64][]int{}}
	for i, text := range texts {
		a.sets = append(a.sets, NewShingles(text))
		for _, b := range Bands(text) {
			a.bands[b] = append(a.bands[b], i)
		}
	}
	return a
}

// similarTexts lists the texts that share a band and are similar enough, by the number of shared bands. met counts all
// that share a band.
func (a *archive) similarTexts(text string) (found []int, met int) {
	shared := map[int]int{}
	for _, b := range Bands(text) {
		for _, i := range a.bands[b] {
			shared[i]++
		}
	}
	list := slices.SortedFunc(maps.Keys(shared), func(i, j int) int { return cmp.Or(shared[j]-shared[i], i-j) })
	set := NewShingles(text)
	for _, i := range list[:min(len(list), candidates)] {
		if set.Jaccard(a.sets[i]) >= SimilarityThreshold {
			found = append(found, i)
		}
	}
	return found, len(list)
}

// licensed reports the licence header of a source file. Many files have the same
// one, and a chunk may hold little else: near copies in truth.
func licensed(text string) bool { return strings.Count(strings.ToLower(text), "licen") >= 3 }

// eightGramJaccard returns the Jaccard similarity of the sets of eight adjacent characters. It does not depend on
// words, hashes and samples.
func eightGramJaccard(s, t string) float64 {
	grams := func(s string) map[string]bool {
		list := []rune(strings.Join(strings.Fields(strings.ToLower(s)), " "))
		set := map[string]bool{}
		for i := range max(len(list)-7, 0) {
			set[string(list[i:i+8])] = true
		}
		return set
	}
	a, b := grams(s), grams(t)
	both := 0
	for g := range a {
		if b[g] {
			both++
		}
	}
	return float64(both) / float64(max(len(a)+len(b)-both, 1))
}

// copies is the least similarity of near copies within a dataset. Finding one by an edit of the other is then no
// mistake. It is well above SimilarityThreshold.
const copies = .8

// tally counts what was found for edits.
type tally struct {
	edits, found, shareBand int
	strangers               int // found, and not what was edited
	unlicensed, different   int // of these, without headers; and without near copies too
}

func (y tally) recall() float64           { return float64(y.found) / float64(max(y.edits, 1)) }
func (y tally) precision(bad int) float64 { return float64(y.found) / float64(max(y.found+bad, 1)) }

func (y *tally) add(a *archive, i int, edited string) {
	found, met := a.similarTexts(edited)
	y.edits++
	y.shareBand += met
	for _, j := range found {
		if i == j {
			y.found++
			continue
		}
		y.strangers++
		if licensed(a.texts[i]) && licensed(a.texts[j]) {
			continue
		}
		y.unlicensed++
		if eightGramJaccard(a.texts[i], a.texts[j]) < copies {
			y.different++
		}
	}
}

func (y *tally) join(z tally) {
	y.edits += z.edits
	y.found += z.found
	y.shareBand += z.shareBand
	y.strangers += z.strangers
	y.unlicensed += z.unlicensed
	y.different += z.different
}

// longest bounds the texts that are edited: one edit of a longer one shows little and takes long.
const longest = 16 << 10

// Every text of a set is edited in every way, once and with a second edit, and searched among all others.
func TestBandsFindEditedTexts(t *testing.T) {
	t.Parallel()
	const minPrecision, minRecall = .95, .8
	for _, name := range datasettest.Present(t, "docs", "code", "xquad-ru", "xquad-zh", "jaquad") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var texts []string
			for _, d := range datasettest.Read(t, name).Documents {
				texts = append(texts, d.Text)
			}
			a := newArchive(texts)
			e := &editor{rand.New(rand.NewPCG(1, 2)), texts}
			var all tally
			for k, edit := range edits {
				var once, twice tally
				for i, text := range texts {
					if len(text) > longest {
						continue
					}
					edited := edit.make(e, text)
					if edited == text {
						continue
					}
					once.add(a, i, edited)
					other := edits[(k+1+e.IntN(len(edits)-1))%len(edits)]
					twice.add(a, i, other.make(e, edited))
				}
				t.Logf("%-18s %4d texts, recall %.3f, with another edit %.3f", edit.name, once.edits, once.recall(),
					twice.recall())
				all.join(once)
				all.join(twice)
			}
			t.Logf("%s: %d edits, recall %.3f, precision %.4f (%.4f with near copies in the set, %.4f with licence "+
				"headers too), %.2f share a band",
				name, all.edits, all.recall(), all.precision(all.different), all.precision(all.unlicensed),
				all.precision(all.strangers), float64(all.shareBand)/float64(all.edits))
			if all.recall() < minRecall || all.precision(all.different) < minPrecision {
				t.Errorf("recall %.3f, precision %.4f", all.recall(), all.precision(all.different))
			}
		})
	}
}
