package vector

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/testenv"
)

// randomUnitVector returns a vector of norm 1 near one of a few centers, as vectors of texts are.
func randomUnitVector(r *rand.Rand, dimensions int) []float32 {
	centre := rand.New(rand.NewPCG(r.Uint64N(20), 1))
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(centre.NormFloat64() + r.NormFloat64())
	}
	return normalized(v)
}

func normalized(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func exactDot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestDotOfEncodedVectorIsPrecise(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 3, 64, 384, 1000} {
		for range 50 {
			a, b := randomUnitVector(r, n), randomUnitVector(r, n)
			if got, err := Dot(a, Encode(b)); err != nil || math.Abs(float64(got)-exactDot(a, b)) > .01 {
				t.Fatalf("%d dimensions: %v, %v for %v", n, got, err, exactDot(a, b))
			}
		}
	}
	testenv.Equal(t, testenv.Must(Dot(make([]float32, 4), Encode(make([]float32, 4))))(t), 0, "zeros give")
	if _, err := Dot(make([]float32, 4), Encode(make([]float32, 5))); err == nil {
		t.Error("a vector of another length has a product")
	}
}

// The order of the sums is part of a score, because another order rounds otherwise.
func TestDotSumsFourLanes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for n := 1; n < 50; n++ {
		a, b := randomUnitVector(r, n), Encode(randomUnitVector(r, n))
		var sums [4]float32
		for i, x := range a {
			lane := i % 4
			if i >= n/4*4 {
				lane = 0
			}
			sums[lane] += float32(x * float32(int8(b[vectorHeaderBytes+i])))
		}
		scale := math.Float32frombits(binary.LittleEndian.Uint32(b))
		testenv.Equal(t, testenv.Must(Dot(a, b))(t), scale*((sums[0]+sums[1])+(sums[2]+sums[3])), n)
	}
}

// nearest returns k of the nearest vectors of one workspace.
func nearest(c *BinaryCodes, docs Documents, p *QueryVector, k int) []Ref {
	s := NewScan(p, k)
	s.Add(1, c, docs)
	list, _ := s.Nearest()
	return list
}

// The ten best candidates of the binary codes, scored in int8, are nearly all of the ten nearest vectors in float32.
func TestBinaryCodesRecallNearest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	const n, dimensions = 8000, 384
	vectors := make([][]float32, n)
	list := make([]StoredVector, n)
	var changes []index.DocUpdate
	for i := range vectors {
		vectors[i] = randomUnitVector(r, dimensions)
		list[i] = StoredVector{int64(i), int64(i), Encode(vectors[i])}
		changes = append(changes, index.DocUpdate{Seq: int64(i + 1),
			DocAttributes: index.DocAttributes{Memory: int64(i)}})
	}
	c := testenv.Must(NewBinaryCodes().Apply(list))(t)
	v := index.NewSnapshot(nil).Apply(changes)
	held, candidates, all := 0, 0, 0
	for range 40 {
		q := randomUnitVector(r, dimensions)
		probe, hits, order := NewQueryVector(q), map[int64]float32{}, make([]int64, n)
		for _, x := range nearest(c, v.Filtered(index.Filter{}), probe, 200) {
			hits[x.Memory] = testenv.Must(probe.Dot(list[x.Memory].Vector))(t)
		}
		best := slices.SortedFunc(maps.Keys(hits), func(a, b int64) int { return cmp.Compare(hits[b], hits[a]) })[:10]
		scores := make([]float64, n)
		for i := range order {
			order[i], scores[i] = int64(i), exactDot(q, vectors[i])
		}
		slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(scores[b], scores[a]) })
		for _, m := range order[:10] {
			all++
			if slices.Contains(best, m) {
				held++
			}
			if _, isCandidate := hits[m]; isCandidate {
				candidates++
			}
		}
	}
	if held < all*95/100 || candidates < all*98/100 {
		t.Errorf("of %d nearest vectors, %d are candidates, and %d are among the best", all, candidates, held)
	}
}

// Under random writes of vectors and documents, Nearest returns the result of a naive scan.
func TestNearestEqualsNaiveScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		const dimensions = 70
		type known struct {
			attributes index.DocAttributes
			there      bool
			vectors    [][]float32
			keys       []int64
		}
		model := map[int64]*known{}
		c, v, seq, key := NewBinaryCodes(), index.NewSnapshot(nil), int64(0), int64(0)
		var folded []*index.Segment
		var unfolded []index.DocUpdate
		last := rapid.IntRange(2, 3).Draw(t, "last step") // some workspaces are never flushed
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, last).Draw(t, "step") {
			case 0, 1: // memories are written and deleted
				var changes []index.DocUpdate
				for range rapid.IntRange(1, 30).Draw(t, "changes") {
					seq++
					m := r.Int64N(60)
					k := model[m]
					if k == nil {
						k = &known{}
						model[m] = k
					}
					k.attributes, k.there = index.DocAttributes{Memory: m, Status: uint8(r.IntN(2)),
						Atlas: r.Int64N(2)},
						r.IntN(5) > 0
					changes = append(changes, index.DocUpdate{Seq: seq, DocAttributes: k.attributes, Deleted: !k.there})
				}
				v, unfolded = v.Apply(changes), append(unfolded, changes...)
			case 2: // vectors are computed
				var list []StoredVector
				for range rapid.IntRange(1, 20).Draw(t, "vectors") {
					m := r.Int64N(60)
					if slices.ContainsFunc(list, func(x StoredVector) bool { return x.Memory == m }) {
						continue
					}
					k := model[m]
					if k == nil {
						k = &known{}
						model[m] = k
					}
					k.vectors, k.keys = nil, nil
					for range 1 + r.IntN(3) {
						key++
						k.vectors, k.keys = append(k.vectors, randomUnitVector(r, dimensions)), append(k.keys, key)
						list = append(list, StoredVector{m, key, Encode(k.vectors[len(k.vectors)-1])})
					}
				}
				c = testenv.Must(c.Apply(list))(t)
			case 3: // flush
				b := index.Build(unfolded)
				var memories []int64
				for _, u := range unfolded {
					memories = append(memories, u.Memory)
				}
				for i, s := range folded {
					folded[i], _ = s.MarkDeleted(memories)
				}
				if b.Docs > 0 {
					s := testenv.Must(index.Open(seq, b.Header, nil))(t)
					folded = append(folded, s)
				}
				v, unfolded = index.NewSnapshot(folded), nil
			}
		}
		f := index.Filter{Statuses: 1 << r.IntN(2)}
		if r.IntN(2) == 0 {
			f.Atlases = []int64{r.Int64N(2)}
		}
		var want []Ref
		total := 0
		for m, k := range model {
			total += len(k.keys)
			for _, key := range k.keys {
				if k.there && f.Matches(&k.attributes) {
					want = append(want, Ref{Memory: m, Key: key})
				}
			}
		}
		got := nearest(c, v.Filtered(f), NewQueryVector(randomUnitVector(r, dimensions)), 1000)
		order := func(a, b Ref) int { return cmp.Compare(a.Key, b.Key) }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.EqualFunc(got, want, func(a, b Ref) bool { return a.Memory == b.Memory && a.Key == b.Key }) {
			t.Fatalf("found %v, not %v", got, want)
		}
		// Near vectors that the filter rejects must not displace others.
		k := rapid.IntRange(1, 40).Draw(t, "k")
		some := nearest(c, v.Filtered(f), NewQueryVector(randomUnitVector(r, dimensions)), k)
		testenv.RequireEqual(t, len(some), min(k, len(want)), "found", len(want), k)
		for _, x := range some {
			if _, exists := slices.BinarySearchFunc(want, x, order); !exists {
				t.Fatalf("found %v, which is not admitted", x)
			}
		}
		testenv.RequireEqual(t, c.Len(), total, "vectors")
		for m, k := range model {
			s := NewScan(NewQueryVector(randomUnitVector(r, dimensions)), 10)
			s.AddMemory(1, c, m, 10)
			list, exhausted := s.Nearest()
			if n := len(list); n != len(k.keys) || !exhausted {
				t.Fatalf("memory %d has %d vectors, not %d", m, n, len(k.keys))
			}
		}
	})
}

// naiveNearest returns the k best by score among the nearest wide codes by Hamming distance, ties included.
func naiveNearest(c *codeTable, p *QueryVector, wide, k int, admits func(int64) bool) []int64 {
	list := slices.DeleteFunc(slices.Clone(c.memories), func(m int64) bool { return !admits(m) })
	distance := func(m int64) int { return hammingDistance(p.signBits, c.code(int(m))) }
	slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(distance(a), distance(b)) })
	last := distance(list[wide-1])
	list = slices.DeleteFunc(list, func(m int64) bool { return distance(m) > last })
	weight := func(m int64) float32 { return p.estimateDot(c.code(int(m))) }
	slices.SortFunc(list, func(a, b int64) int { return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a, b)) })
	return list[:k]
}

// The filter rejects documents, and some or many of the best are deleted. One scan of the parts of the codes in many
// workspaces finds the same vectors as that of all in one.
func TestScanRanksNearestMatchingCodes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	const n, k = 5000, 60
	list, changes := make([]StoredVector, n), make([]index.DocUpdate, n)
	for i := range list {
		list[i] = StoredVector{int64(i), int64(i), Encode(randomUnitVector(r, 384))}
		changes[i] = index.DocUpdate{Seq: int64(i + 1), DocAttributes: index.DocAttributes{Memory: int64(i),
			Type: uint8(i / 7 % 2)}}
	}
	all := testenv.Must(NewBinaryCodes().Apply(list))(t)
	p := NewQueryVector(randomUnitVector(r, 384))
	for _, f := range []index.Filter{{}, {Types: 1}} {
		matches := func(m int64) bool { return f.Matches(&changes[m].DocAttributes) }
		best := naiveNearest(all.base, p, k*oversampling, k*oversampling, matches)
		for _, deletedCount := range []int{0, 1, 3 * k} {
			want := naiveNearest(all.base, p, k*oversampling, k, func(m int64) bool {
				return matches(m) && !slices.Contains(best[:deletedCount], m)
			})
			slices.Sort(want)
			for _, size := range []int{n, 700, 20} {
				s := NewScan(p, k)
				for from := 0; from < n; from += size {
					to := min(n, from+size)
					blob := index.Build(changes[from:to])
					segment := testenv.Must(index.Open(1, blob.Header, nil))(t)
					segment, _ = segment.MarkDeleted(best[:deletedCount])
					s.Add(int64(from), testenv.Must(NewBinaryCodes().Apply(list[from:to]))(t),
						index.NewSnapshot([]*index.Segment{segment}).Filtered(f))
				}
				var got []int64
				found, exhausted := s.Nearest()
				for _, x := range found {
					got = append(got, x.Memory)
					testenv.Equal(t, x.Workspace, x.Memory/int64(size)*int64(size), "workspace of", x.Memory)
				}
				testenv.EqualSlices(t, got, want, deletedCount, size)
				testenv.Equal(t, exhausted, false, "exhausted")
			}
		}
	}
}

func TestBinaryCodesRejectOtherDimensionsOfSameCodeLength(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	stored := func(memory int64, dimensions int) []StoredVector {
		return []StoredVector{{memory, memory, Encode(randomUnitVector(r, dimensions))}}
	}
	c := testenv.Must(NewBinaryCodes().Apply(stored(1, 384)))(t)
	if _, err := c.Apply(stored(2, 380)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("380 after 384 dimensions: %v", err)
	}
	for dimensions, want := range map[int]bool{384: true, 380: false} {
		testenv.Equal(t, NewQueryVector(randomUnitVector(r, dimensions)).matchesDimensions(c.delta), want, "dimensions",
			dimensions)
	}
}

func TestPackSignsKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stored := append(make([]byte, vectorHeaderBytes), rapid.SliceOfN(rapid.Byte(), 1, 400).Draw(t, "values")...)
		want := make([]uint64, (len(stored)-vectorHeaderBytes+63)/64)
		got := slices.Repeat([]uint64{^uint64(0)}, len(want))
		for i, x := range stored[vectorHeaderBytes:] {
			if x < 128 {
				want[i/64] |= 1 << (i % 64)
			}
		}
		if packSigns(got, stored); !slices.Equal(got, want) {
			t.Fatalf("%x, not %x", got, want)
		}
	})
}

func TestVectorCacheKeepsCopiesWithinItsSize(t *testing.T) {
	t.Parallel()
	const most, weight = 3, 8 + 48 + 160
	c, buffer := NewCache(cache.NewBudget(most*weight*cacheShare)), make([]byte, 8)
	for key := range int64(most + 1) {
		buffer[0] = byte(key)
		c.Put(key, key+20, int(key)+10, buffer)
	}
	var seen []int
	others := c.Each([]int64{0, 1, 2, 3, 4}, func(i int, workspace int64, chunk int, stored []byte) {
		seen = append(seen, i, int(workspace), chunk, int(stored[0]))
	})
	testenv.EqualSlices(t, seen, []int{1, 21, 11, 1, 2, 22, 12, 2, 3, 23, 13, 3})
	testenv.EqualSlices(t, others, []int64{0, 4})
}
