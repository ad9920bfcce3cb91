package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

func BenchmarkAnalyze(b *testing.B) {
	b.SetBytes(int64(len(analysistest.Prose)))
	b.ReportAllocs()
	for b.Loop() {
		index.Analyze("", analysistest.Prose)
	}
}

// zipf generates synthetic notes of about 470 bytes, seeded. Word frequencies follow Zipf's law over 120,000 words.
type zipf struct {
	z     *rand.Zipf
	words []string
}

func newZipf() *zipf {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 120_000)
	for i := range words {
		n := 3 + r.IntN(9)
		w := make([]byte, n)
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgk"[r.IntN(22)]
		}
		words[i] = string(w)
	}
	words[2] = "and" // makes the workspace English: see language.go
	return &zipf{rand.NewZipf(r, 1.07, 8, uint64(len(words)-1)), words}
}

func (z *zipf) text(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = z.words[z.z.Uint64()]
	}
	return strings.Join(list, " ")
}

type benchCorpus struct {
	*indextest.Store
	changes  []index.DocUpdate
	zipf     *zipf
	segments []*index.Segment
}

// hundredThousand flushes 100,000 notes, 512 at a time, and merges them in tiers.
var hundredThousand = sync.OnceValue(func() *benchCorpus {
	h := &benchCorpus{Store: indextest.NewStore(), zipf: newZipf()}
	var batch []index.DocUpdate
	for i := range 100_000 {
		batch = append(batch, index.DocUpdate{Seq: int64(i), DocAttributes: index.DocAttributes{
			Memory: int64(i), Atlas: int64(i % 7), Created: int64(i) * 1e6, Type: uint8(i % 6),
			Tags: []string{fmt.Sprint("t", i%50)},
		}, Document: index.Analyze("", h.zipf.text(68))})
		if len(batch) == 512 {
			h.flush(batch)
			h.changes, batch = batch, nil
		}
	}
	return h
})

func (h *benchCorpus) flush(batch []index.DocUpdate) {
	blob := index.Build(batch)
	h.insert(blob, nil)
	for {
		var docs []int
		for _, s := range h.segments {
			docs = append(docs, s.LiveDocs())
		}
		pick := index.SelectMerge(docs, index.FanIn)
		if pick == nil {
			return
		}
		var from, rest []*index.Segment
		for i, s := range h.segments {
			if len(pick) > 0 && pick[0] == i {
				from, pick = append(from, s), pick[1:]
			} else {
				rest = append(rest, s)
			}
		}
		h.segments = rest
		blob, err := index.Merge(context.Background(), h.Fetch, from)
		h.insert(blob, err)
	}
}

func (h *benchCorpus) insert(blob index.EncodedSegment, err error) {
	if err != nil {
		panic(err)
	}
	id := int64(len(h.Headers))
	h.Put(id, blob)
	s, err := h.Open(id)
	if err != nil {
		panic(err)
	}
	h.segments = append(h.segments, s)
}

func BenchmarkRank(b *testing.B) {
	h := hundredThousand()
	snapshot := index.NewSnapshot(h.segments)
	fetch := index.NewCache(index.DefaultCacheBytes).ReadThrough(h.Fetch)
	for _, n := range []int{1, 2, 4, 8} {
		queries := make([]Query, 200)
		for i := range queries {
			queries[i] = Parse(h.zipf.text(n))
		}
		b.Run(fmt.Sprintf("words=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			i, total := 0, 0
			for b.Loop() {
				r, err := rank(snapshot, fetch, queries[i%len(queries)], index.Filter{Statuses: 1}, 0, 20)
				if err != nil {
					b.Fatal(err)
				}
				i, total = i+1, total+r.Total
			}
			b.ReportMetric(float64(total)/float64(i), "matches/op")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	h := hundredThousand()
	heads, pages := 0, 0
	for _, s := range h.segments {
		heads += len(h.Headers[s.ID()])
		for _, p := range h.Pages[s.ID()] {
			pages += len(p)
		}
	}
	for b.Loop() {
		for _, s := range h.segments {
			if _, err := h.Open(s.ID()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(heads)/1e6, "headMB")
	b.ReportMetric(float64(pages)/1e6, "pagesMB")
	b.ReportMetric(float64(len(h.segments)), "segments")
}

func BenchmarkBuild(b *testing.B) {
	h := hundredThousand()
	for b.Loop() {
		index.Build(h.changes)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(h.changes)), "ns/doc")
}

func BenchmarkMerge(b *testing.B) {
	h := hundredThousand()
	for b.Loop() {
		if _, err := index.Merge(b.Context(), h.Fetch, h.segments); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100_000), "ns/doc")
}

// BenchmarkSnapshotApply adds one row at a time to a memtable of up to 512.
func BenchmarkSnapshotApply(b *testing.B) {
	h := hundredThousand()
	base := index.NewSnapshot(h.segments)
	snapshot, rows := base, int64(0)
	for b.Loop() {
		if rows%512 == 0 {
			snapshot = base
		}
		c := h.changes[rows%512]
		c.Seq = 1e6 + rows
		snapshot = snapshot.Apply([]index.DocUpdate{c})
		rows++
	}
}

func BenchmarkSearchWithMemtable(b *testing.B) {
	h := hundredThousand()
	snapshot := index.NewSnapshot(h.segments).Apply(h.changes)
	fetch := index.NewCache(index.DefaultCacheBytes).ReadThrough(h.Fetch)
	q := Parse(h.zipf.text(2))
	for b.Loop() {
		if _, err := rank(snapshot, fetch, q, index.Filter{Statuses: 1}, 0, 20); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHighlights(b *testing.B) {
	q := Parse("engineer on call, feature flag")
	for b.Loop() {
		q.Match(analysistest.Prose).Highlights()
	}
}

func BenchmarkDecodeDocument(b *testing.B) {
	data := index.Analyze("", analysistest.Prose).Encode()
	for b.Loop() {
		if _, err := index.DecodeDocument(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data)), "bytes")
}

func BenchmarkMatchDoc(b *testing.B) {
	q := Parse("engineer on call, feature flag")
	m := q.Matcher()
	b.SetBytes(int64(len(analysistest.Prose)))
	for b.Loop() {
		m.MatchDoc(analysistest.Prose[:30], analysistest.Prose)
	}
}
