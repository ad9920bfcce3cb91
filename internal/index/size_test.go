package index

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// randomUpdates returns updates of n memories of about 60 words, of which every 25th is rare.
func randomUpdates(r *rand.Rand, n int) []DocUpdate {
	z := rand.NewZipf(r, 1.07, 8, 20_000)
	word := func(i uint64) string {
		w := rand.New(rand.NewPCG(i, 1))
		b := make([]byte, 3+w.IntN(9))
		for j := range b {
			b[j] = "etaoinshrdlucmfwypvbgk"[w.IntN(22)]
		}
		return string(b)
	}
	list := make([]DocUpdate, n)
	for i := range list {
		var text strings.Builder
		for range 50 + r.IntN(20) {
			if r.IntN(25) == 0 {
				text.WriteString(word(r.Uint64()) + " ")
			} else {
				text.WriteString(word(z.Uint64()) + " ")
			}
		}
		list[i] = DocUpdate{Seq: int64(i + 1), DocAttributes: DocAttributes{Memory: int64(i + 1), Atlas: 1,
			Created: int64(i)}, Document: Analyze("", text.String())}
	}
	return list
}

// TestSizesAreThoseOfTheHeap compares sizes with what the heap has more of. No other test may run meanwhile.
func TestSizesAreThoseOfTheHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	decoded := func(list []DocUpdate) []DocUpdate { // as rows of the log
		for i := range list {
			list[i].Document = testenv.Must(DecodeDocument(list[i].Document.Encode()))(t)
		}
		return list
	}
	for _, c := range []struct {
		name      string
		of, count int // documents of each, and their number
	}{
		{"snapshots of few changes", 50, 100}, {"a snapshot of many changes", 600, 1},
		{"small segments", 50, 200}, {"a large segment", 2000, 1},
	} {
		lists := make([][]DocUpdate, min(c.count, 10))
		headers := make([]EncodedSegment, len(lists))
		for i := range lists {
			lists[i] = randomUpdates(r, c.of)
			headers[i] = Build(lists[i])
		}
		isSegment := strings.Contains(c.name, "segment")
		var snapshots []*Snapshot
		var segments []*Segment
		before, size := heap(), 0
		for i := range c.count {
			if b := headers[i%len(headers)]; isSegment {
				s := testenv.Must(Open(int64(i), b.Header, nil))(t)
				s.excludes(func(_ int64, page int) ([]byte, error) { return b.Pages[page], nil }, 0)
				segments = append(segments, s)
				size += s.SizeBytes()
				continue
			}
			s := NewSnapshot(nil)
			for _, u := range lists[i%len(lists)] {
				s = s.Apply(decoded([]DocUpdate{u}))
			}
			snapshots = append(snapshots, s)
			size += s.SizeBytes()
		}
		got := heap() - before
		t.Logf("%s: weighed %d bytes, on the heap %d: %.2f; %d a document", c.name, size, got,
			float64(size)/float64(got), got/c.of/c.count)
		if ratio := float64(size) / float64(got); ratio < .8 || ratio > 1.5 {
			t.Errorf("%s: weighed %d bytes, on the heap %d", c.name, size, got)
		}
		runtime.KeepAlive(snapshots)
		runtime.KeepAlive(segments)
		runtime.KeepAlive(lists)
		runtime.KeepAlive(headers)
	}
}
