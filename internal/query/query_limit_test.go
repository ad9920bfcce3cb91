package query

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// longText returns a text of many words with a given end.
func longText(n int, end string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "and Meeting%c%c of gardeners, ", 'a'+i%26, 'a'+i/26)
	}
	return text.String() + end
}

func TestQueryLimitKeepsRarestWords(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	lines := []string{"heliotropes"}
	for range 2 {
		lines = append(lines, strings.Split(longText(60, "tulips"), ", ")...)
	}
	v := buildSnapshot(t, d, append(lines, "tulips", "end")...)
	for _, text := range []string{
		longText(60, "and where do we put the heliotropes?"),
		longText(30, "tulips, heliotropes, ") + longText(60, ""),
	} {
		if got, err := searchRewritten(v, d, text); err != nil || len(got) == 0 || got[0] != 1 {
			t.Errorf("finds %v, %v", got, err)
		}
	}
	text := longText(30, "tulips, heliotropes, ") + strings.ReplaceAll(longText(60, ""), " of gardeners", "")
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(text))
	if err != nil || q.wordCount != maxQueryWords || q.WordCount() != 63 || len(q.Ignored()) != 63-maxQueryWords ||
		!slices.Contains(q.Ignored(), "tulips") || slices.Contains(q.Ignored(), "heliotropes") {
		t.Errorf("%d words of %d, ignored %v, %v", q.wordCount, q.WordCount(), q.Ignored(), err)
	}
	if q, err = rewriteQuery(v, index.NewCache(0), d.Fetch,
		Parse(longText(12, "where do we put the heliotropes"))); err != nil || q.Ignored() != nil {
		t.Errorf("a short one ignores %v, %v", q.Ignored(), err)
	}
}

func TestQueryLimitKeepsWordsAtBothEnds(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	lines := strings.Split(longText(60, "end"), ", ")
	for range 3 {
		lines = append(lines, "heliotropes, tulips and gardeners", "tulips", "heliotropes")
	}
	v := buildSnapshot(t, d, append(lines, "end")...)
	for text, want := range map[string]string{
		longText(60, "where do the tulips and heliotropes grow?"):            "heliotropes tulips",
		"where do the tulips and heliotropes grow? " + longText(60, ""):      "heliotropes tulips",
		"heliotropes: " + longText(60, "where do the tulips grow?"):          "heliotropes tulips",
		longText(30, "heliotropes, ") + longText(60, "heliotropes grow"):     "heliotropes",
		longText(30, "heliotropes grow with tulips, ") + longText(60, "end"): "",
	} {
		q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(text))
		var got []string
		for _, w := range []string{"heliotropes", "tulips"} {
			if _, counts := q.termIndex[w]; counts {
				got = append(got, w)
			}
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q counts, want %q, ignored %v, %v", got, want, q.Ignored(), err)
		}
	}
}

func TestQueryLimitKeepsBigramsOfUnsegmentedText(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	var filler strings.Builder
	for i := range rune(400) {
		filler.WriteRune('一' + i*7)
	}
	v := buildSnapshot(t, d, "量子纠缠的解释", string([]rune(filler.String())[:20]), "end")
	text := filler.String() + "量子纠缠"
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(text))
	if err != nil || q.wordCount != maxQuerySize || len(q.Ignored()) > 0 {
		t.Errorf("%d pairs, ignored %v, %v", q.wordCount, q.Ignored(), err)
	}
	if got, err := searchRewritten(v, d, text); err != nil || !slices.Contains(got, 1) {
		t.Errorf("finds %v, %v", got, err)
	}
}

func TestQueryLimitCountsWordsNotForms(t *testing.T) {
	t.Parallel()
	words := "relational databases migrations deployments schedules engineers pipelines translations features " +
		"settings changes tables queues backgrounds minutes operations handbooks describing releasing deciding " +
		"reviewing proving testing asking writing waiting freezing paging wanting heliotropes"
	d := indextest.NewStore()
	v := buildSnapshot(t, d, words, "end")
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(words))
	if err != nil || q.wordCount != 30 || len(q.terms) < 50 || q.Ignored() != nil {
		t.Errorf("%d words in %d terms, ignored %v, %v", q.wordCount, len(q.terms), q.Ignored(), err)
	}
	testenv.Equal(t, q.Matcher().MatchDoc("", words).MatchedWords(), 30, "the text has")
}

func TestQueryLimitEqualsNaiveCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w, cache := newModelIndex(), index.NewCache(1<<16)
		for range 6 {
			testenv.NoError(t, w.randomInflectedStep(r, 3))
		}
		df := map[string]int{}
		for _, c := range w.live {
			for _, t := range c.Document.Terms {
				df[t.Term]++
			}
		}
		text := "where is the " + inflectedText(r, 90)
		q, last := Parse(text), map[string]int{}
		for i, word := range strings.Fields(text) {
			for _, t := range Parse(word).terms {
				if at, known := q.termIndex[t.text]; known {
					last[q.terms[q.firstTerm[q.terms[at].wordIndex]].text] = 100*i + t.wordIndex
				}
			}
		}
		got, err := newVocabulary(w.snapshot, cache, w.Fetch).limitQuery(q)
		if err != nil || got.size() > maxQuerySize ||
			len(got.droppedWords) > 0 && got.size() <= maxQuerySize-3*bigramsPerWord ||
			got.wordCount+len(got.droppedWords) != q.wordCount {
			t.Fatalf("%d of %d words, %v", got.wordCount, q.wordCount, err)
		}
		held := map[string]int{}
		for _, t := range q.terms {
			word, n := q.terms[q.firstTerm[t.wordIndex]].text, df[t.text]
			if e := naiveExpansion(df, t.text); e != nil && q.isExpandable(&t) {
				n = max(n, e.docFreq)
			}
			held[word] = max(held[word], n)
		}
		ends := map[string]bool{}
		keepEnd := func(words []string) {
			for size, i := edgeWords*bigramsPerWord, 0; i < len(words); i++ {
				if ends[words[i]] {
					continue
				}
				if size -= q.sizeOf(q.terms[q.termIndex[words[i]]].wordIndex); size < 0 {
					return
				}
				ends[words[i]] = true
			}
		}
		var inOrder []string
		for g := range q.wordCount {
			inOrder = append(inOrder, q.terms[q.firstTerm[g]].text)
		}
		keepEnd(inOrder)
		position := func(word string) int { return q.terms[q.termIndex[word]].wordIndex }
		keepEnd(slices.SortedFunc(maps.Keys(held), func(a, b string) int {
			return cmp.Or(last[b]-last[a], position(b)-position(a))
		}))
		rarity := func(word string) int { return cmp.Or(held[word], 1<<30) }
		for word := range got.droppedWords {
			if ends[word] {
				t.Fatalf("%s at an end does not count", word)
			}
			for _, t := range got.terms {
				kept := got.terms[got.firstTerm[t.wordIndex]].text
				if !ends[kept] && rarity(kept) > rarity(word) {
					panic(fmt.Sprintf("%s counts, which %d hold, and %s does not, which %d hold", kept, held[kept],
						word, held[word]))
				}
			}
		}
		for _, p := range got.wordBigrams {
			if max(p[0], p[1]) >= got.wordCount {
				t.Fatalf("a pair %v of %d words", p, got.wordCount)
			}
		}
	})
}

func TestQueryLimitKeepsCorrectionToDroppedWord(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	lines := strings.Split(longText(60, "end"), ", ")
	for range 3 {
		lines = append(lines, "heliotropes, heliotrop")
	}
	v := buildSnapshot(t, d, append(lines, "heliotrop", "end")...)
	for misspelled, word := range map[string]string{"heliotrpoes": "heliotropes", "heliotrpo": "heliotrop"} {
		q, err := rewriteQuery(v, index.NewCache(0), d.Fetch,
			Parse(longText(30, "heliotropes, ")+longText(60, misspelled)))
		_, searched := q.termIndex[word]
		if err != nil || !slices.Equal(q.Corrections(), []Correction{{misspelled, word}}) || !searched ||
			slices.Contains(q.Ignored(), "heliotropes") || q.size() > maxQuerySize || q.WordCount() != 62 {
			t.Errorf("corrected %v, searched %v, size %d, %d words, ignored %v, %v", q.Corrections(), searched,
				q.size(), q.WordCount(), q.Ignored(), err)
		}
	}
}
