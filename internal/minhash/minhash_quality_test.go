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

// similarTexts lists the texts that share a band and are similar enough, by the number of shared bands.
func (a *archive) similarTexts(text string) (found []int) {
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
	return found
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

// A tally counts edits, those whose text was found, and other texts that were found and are different in truth.
type tally struct{ edits, found, different int }

func (y tally) recall() float64    { return float64(y.found) / float64(max(y.edits, 1)) }
func (y tally) precision() float64 { return float64(y.found) / float64(max(y.found+y.different, 1)) }

func (y *tally) add(a *archive, i int, edited string) {
	y.edits++
	for _, j := range a.similarTexts(edited) {
		if i == j {
			y.found++
		} else if !(licensed(a.texts[i]) && licensed(a.texts[j])) && eightGramJaccard(a.texts[i], a.texts[j]) < copies {
			y.different++
		}
	}
}

// longest bounds the texts that are edited: one edit of a longer one shows little and takes long.
const longest = 16 << 10

// Every text of a set is edited in every way, once and with a second edit, and searched among all others.
func TestBandsFindEditedTexts(t *testing.T) {
	t.Parallel()
	const minPrecision = .98 // measured: .9898 for code, 1 for the others
	minRecall := map[string]float64{"docs": .82, "code": .85, "xquad-ru": .83, "xquad-zh": .79, "jaquad": .85}
	for _, name := range datasettest.Present(t, slices.Sorted(maps.Keys(minRecall))...) {
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
				for i, text := range texts {
					edited := edit.make(e, text)
					if len(text) > longest || edited == text {
						continue
					}
					all.add(a, i, edited)
					other := edits[(k+1+e.IntN(len(edits)-1))%len(edits)]
					all.add(a, i, other.make(e, edited))
				}
				t.Logf("%s, after %s: %d edits, recall %.3f, precision %.4f", name, edit.name, all.edits, all.recall(),
					all.precision())
			}
			if all.recall() < minRecall[name] || all.precision() < minPrecision {
				t.Errorf("recall %.3f, precision %.4f", all.recall(), all.precision())
			}
		})
	}
}
