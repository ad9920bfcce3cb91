package query

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci/internal/index"
)

// BenchmarkSpelling corrects one misspelled word over 100,000 notes: with cached dictionaries, without a cache, and
// without a near word.
func BenchmarkSpelling(b *testing.B) {
	h := hundredThousand()
	r := rand.New(rand.NewPCG(5, 6))
	near, distance := make([]string, 200), make([]string, 200)
	for i := range near {
		w := ""
		for len(w) < 5+i%5 {
			w = h.zipf.text(1)
		}
		near[i], distance[i] = misspelled(r, w), w[:1]+"zq"+w[1:]+"jx"
	}
	for _, c := range []struct {
		name  string
		words []string
		rows  int
		keep  int
	}{{"near", near, 0, index.DefaultCacheBytes}, {"far", distance, 0, index.DefaultCacheBytes},
		{"near", near, 512, index.DefaultCacheBytes}, {"far", distance, 512, index.DefaultCacheBytes},
		{"first", near, 0, 0}} {
		lists, snapshot := index.NewCache(c.keep), index.NewSnapshot(h.segments).Apply(h.changes[:c.rows])
		v := newVocabulary(snapshot, lists, index.NewCache(index.DefaultCacheBytes).ReadThrough(h.Fetch))
		for _, w := range c.words {
			if _, _, err := v.nearestTerm(w); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("%s/rows=%d", c.name, c.rows), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, err := v.nearestTerm(c.words[i%len(c.words)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
