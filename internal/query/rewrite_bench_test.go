package query

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci/internal/index"
)

// misspelled swaps two adjacent inner letters of a word.
func misspelled(r *rand.Rand, word string) string {
	b := []byte(word)
	i := 1 + r.IntN(len(b)-2)
	b[i], b[i+1] = b[i+1], b[i]
	return string(b)
}

// BenchmarkSearch searches 100,000 notes: English questions, some with misspelled words, questions of ambiguous
// language, and questions that are not English.
func BenchmarkSearch(b *testing.B) {
	h := hundredThousand()
	cache := index.NewCache(index.DefaultCacheBytes)
	for _, c := range []struct {
		name         string
		wrong, words int
		foreign      bool
	}{{"known", 0, 4, false}, {"open", 0, 4, false}, {"wrong=1", 1, 4, false}, {"wrong=2", 2, 4, false},
		{"foreign", 0, 4, true}, {"foreign", 0, 8, true}} {
		r := rand.New(rand.NewPCG(3, 4))
		queries := make([]Query, 200)
		for i := range queries {
			text := "where is the "
			switch {
			case c.name == "open":
				text = ""
			case c.foreign:
				text = "und "
			}
			for j := range c.words {
				w := ""
				for len(w) < 6 {
					w = h.zipf.text(1)
				}
				if j < c.wrong {
					w = misspelled(r, w)
				}
				text += w + " "
			}
			queries[i] = Parse(text)
		}
		for _, rows := range []int{0, 512} {
			snapshot := index.NewSnapshot(h.segments).Apply(h.changes[:rows])
			b.Run(fmt.Sprintf("%s/words=%d/rows=%d", c.name, c.words, rows), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, _, err := Search(snapshot, cache, h.Fetch, queries[i%len(queries)],
						index.Filter{Statuses: 1}, 0, 20); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
