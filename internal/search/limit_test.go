package search

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pasted is a text of many words, with some at its end.
func pasted(n int, end string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "and Meeting%c%c of gardeners, ", 'a'+i%26, 'a'+i/26)
	}
	return text.String() + end
}

func TestLongQueryIsAnsweredByItsRarestWords(t *testing.T) {
	t.Parallel()
	d := newDisk()
	lines := []string{"heliotropes"}
	for range 2 {
		lines = append(lines, strings.Split(pasted(60, "end"), ", ")...)
	}
	v := library(t, d, lines...)
	text := pasted(60, "and where do we put the heliotropes?")
	if got, err := answer(v, d, text); err != nil || len(got) == 0 || got[0] != 1 {
		t.Errorf("finds %v, %v", got, err)
	}
	q, err := v.Adapt(NewCache(0), d.fetch, Parse(text))
	if err != nil || q.groups != queryWords || q.Asks() != 63 || len(q.Ignored()) != 62-queryWords || !slices.Contains(q.Ignored(), "gardeners") ||
		slices.Contains(q.Ignored(), "heliotropes") {
		t.Errorf("%d words of %d, ignored %v, %v", q.groups, q.Asks(), q.Ignored(), err)
	}
	if q, err = v.Adapt(NewCache(0), d.fetch, Parse(pasted(12, "where do we put the heliotropes"))); err != nil || q.Ignored() != nil {
		t.Errorf("a short one ignores %v, %v", q.Ignored(), err)
	}
}

func TestLongTextsWithoutSpacesAreAnsweredToo(t *testing.T) {
	t.Parallel()
	d := newDisk()
	var filler strings.Builder
	for i := range rune(400) {
		filler.WriteRune('一' + i*7)
	}
	v := library(t, d, "量子纠缠的解释", string([]rune(filler.String())[:20]), "end")
	text := filler.String() + "量子纠缠"
	q, err := v.Adapt(NewCache(0), d.fetch, Parse(text))
	if err != nil || q.groups != maxSize || len(q.Ignored()) > 0 {
		t.Errorf("%d pairs, ignored %v, %v", q.groups, q.Ignored(), err)
	}
	if got, err := answer(v, d, text); err != nil || !slices.Contains(got, 1) {
		t.Errorf("finds %v, %v", got, err)
	}
}

func TestFormsOfWordsTakeNoPlaceOfOtherWords(t *testing.T) {
	t.Parallel()
	words := "relational databases migrations deployments schedules engineers pipelines translations features settings changes tables queues " +
		"backgrounds minutes operations handbooks describing releasing deciding reviewing proving testing asking writing waiting freezing paging wanting heliotropes"
	d := newDisk()
	v := library(t, d, words, "end")
	q, err := v.Adapt(NewCache(0), d.fetch, Parse(words))
	if err != nil || q.groups != 30 || len(q.terms) < 50 || q.Ignored() != nil {
		t.Errorf("%d words in %d terms, ignored %v, %v", q.groups, len(q.terms), q.Ignored(), err)
	}
	if n := q.Reader().Text("", words).Covered(); n != 30 {
		t.Errorf("the text has %d of them", n)
	}
}

func TestTheRarestWordsEqualThoseOfACount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w, cache := newWorkspace(), NewCache(1<<16)
		for range 6 {
			if err := w.actInflected(r, 3); err != nil {
				t.Fatal(err)
			}
		}
		df := map[string]int{}
		for _, c := range w.truth {
			for _, t := range c.Document.terms {
				df[t.text]++
			}
		}
		q := Parse("where is the " + inflectedText(r, 90))
		got, err := w.view.limit(cache, w.fetch, q)
		if err != nil || got.size() > maxSize || len(got.left) > 0 && got.size() <= maxSize-pairsPerWord || got.groups+len(got.left) != q.groups {
			t.Fatalf("%d of %d words, %v", got.groups, q.groups, err)
		}
		held := map[string]int{}
		for _, t := range q.terms {
			word, n := q.terms[q.first[t.group]].text, df[t.text]
			if k := familyOf(df, t.text); k != nil && q.hasFamily(&t) {
				n = max(n, k.held)
			}
			held[word] = max(held[word], n)
		}
		rarity := func(word string) int { return cmp.Or(held[word], 1<<30) }
		for word := range got.left {
			for _, t := range got.terms {
				if kept := got.terms[got.first[t.group]].text; rarity(kept) > rarity(word) {
					panic(fmt.Sprintf("%s counts, which %d hold, and %s does not, which %d hold", kept, held[kept], word, held[word]))
				}
			}
		}
		for _, p := range got.pairs {
			if max(p[0], p[1]) >= got.groups {
				t.Fatalf("a pair %v of %d words", p, got.groups)
			}
		}
	})
}

func TestAWordThatStandsTwiceInTheQueryCountsMore(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "apple pie", "cherry pie", "plum pie", "end of it")
	for query, want := range map[string]int64{
		"apple cherry cherry":                   2,
		"apple apple cherry":                    1,
		"plums, cherry, plum":                   3,
		"cherries and apples and a cherry":      2,
		"apple plum " + "cherry cherry cherry ": 2,
	} {
		got, err := answer(v, d, query)
		if err != nil || len(got) < 2 || got[0] != want {
			t.Errorf("%s finds %v, want %d first, %v", query, got, want, err)
		}
	}
	for query, want := range map[string]string{
		"apple":                             "apple:0.30 appl:1.00",
		"apple apple":                       "apple:0.40 appl:1.33",
		"plum plums":                        "plum:1.33 | plums:1.00 plumplum:0.10",
		"plums plum":                        "plums:0.30 plum:1.33",
		"baking baked bake":                 "baking:0.30 bake:1.50 bakedbak:0.10 | baked:1.00 bakingbak:0.10",
		"university universities universal": "university:0.30 univers:1.50 | universities:1.00 | universal:1.00",
	} {
		if got := spelled(Parse(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
