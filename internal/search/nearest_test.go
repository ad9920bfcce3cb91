package search

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// direction is a vector of norm 1 near one of a few centres, as texts are.
func direction(r *rand.Rand, dimensions int) []float32 {
	centre := rand.New(rand.NewPCG(r.Uint64N(20), 1))
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(centre.NormFloat64() + r.NormFloat64())
	}
	return unitary(v)
}

func unitary(v []float32) []float32 {
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

func TestAStoredVectorKeepsItsProducts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 3, 64, 384, 1000} {
		for range 50 {
			a, b := direction(r, n), direction(r, n)
			got, err := Dot(a, EncodeVector(b))
			if err != nil || math.Abs(float64(got)-exactDot(a, b)) > .01 {
				t.Fatalf("%d dimensions: %v, %v for %v", n, got, err, exactDot(a, b))
			}
		}
	}
	if got, err := Dot(make([]float32, 4), EncodeVector(make([]float32, 4))); got != 0 || err != nil {
		t.Errorf("zeros give %v, %v", got, err)
	}
	if _, err := Dot(make([]float32, 4), EncodeVector(make([]float32, 5))); err == nil {
		t.Error("a vector of another length has a product")
	}
}

// The order of the sums is part of a score: others would round otherwise.
func TestAProductSumsEveryFourthComponent(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for n := 1; n < 50; n++ {
		a, b := direction(r, n), EncodeVector(direction(r, n))
		var sums [4]float32
		for i, x := range a {
			lane := i % 4
			if i >= n/4*4 {
				lane = 0
			}
			sums[lane] += float32(x * float32(int8(b[vectorHead+i])))
		}
		scale := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if got, err := Dot(a, b); err != nil || got != scale*((sums[0]+sums[1])+(sums[2]+sums[3])) {
			t.Errorf("%d dimensions: %v, %v", n, got, err)
		}
	}
}

// Ten nearest of many, picked by codes and then compared whole, hold nearly all
// of those that an exact search finds.
func TestCodesFindWhatIsNearest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	const n, dimensions = 8000, 384
	vectors := make([][]float32, n)
	list := make([]Coded, n)
	var changes []Change
	for i := range vectors {
		vectors[i] = direction(r, dimensions)
		list[i] = Coded{int64(i), int64(i), EncodeVector(vectors[i])}
		changes = append(changes, Change{Seq: int64(i + 1), Attributes: Attributes{Memory: int64(i)}})
	}
	c, err := NewCodes().With(list)
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(nil).With(changes)
	held, all := 0, 0
	for range 40 {
		q := direction(r, dimensions)
		var hits []int64
		for _, x := range v.Nearest(c, NewProbe(q), Filter{}, 200) {
			hits = append(hits, x.Memory)
		}
		order := make([]int64, n)
		for i := range order {
			order[i] = int64(i)
		}
		slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(exactDot(q, vectors[b]), exactDot(q, vectors[a])) })
		for _, m := range order[:10] {
			all++
			if slices.Contains(hits, m) {
				held++
			}
		}
	}
	if recall := float64(held) / float64(all); recall < .98 {
		t.Errorf("recall is %.3f", recall)
	}
}

// Codes and a view, under random writes of both, find what a plain walk finds.
func TestTheNearestAreThoseOfAPlainWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		const dimensions = 70
		type known struct {
			attributes Attributes
			there      bool
			vectors    [][]float32
			keys       []int64
		}
		model := map[int64]*known{}
		c, v, seq, key := NewCodes(), NewView(nil), int64(0), int64(0)
		var folded []*Segment
		var unfolded []Change
		last := rapid.IntRange(2, 3).Draw(t, "last step") // many a workspace is never folded
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, last).Draw(t, "step") {
			case 0, 1: // memories come, change and go
				var changes []Change
				for range rapid.IntRange(1, 30).Draw(t, "changes") {
					seq++
					m := r.Int64N(60)
					k := model[m]
					if k == nil {
						k = &known{}
						model[m] = k
					}
					k.attributes, k.there = Attributes{Memory: m, Status: uint8(r.IntN(2)), Atlas: r.Int64N(2)}, r.IntN(5) > 0
					changes = append(changes, Change{Seq: seq, Attributes: k.attributes, Gone: !k.there})
				}
				v, unfolded = v.With(changes), append(unfolded, changes...)
			case 2: // vectors come
				var list []Coded
				for range rapid.IntRange(1, 20).Draw(t, "vectors") {
					m := r.Int64N(60)
					if slices.ContainsFunc(list, func(x Coded) bool { return x.Memory == m }) {
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
						k.vectors, k.keys = append(k.vectors, direction(r, dimensions)), append(k.keys, key)
						list = append(list, Coded{m, key, EncodeVector(k.vectors[len(k.vectors)-1])})
					}
				}
				var err error
				if c, err = c.With(list); err != nil {
					t.Fatal(err)
				}
			case 3: // a fold
				b, err := Build(unfolded)
				if err != nil {
					t.Fatal(err)
				}
				var memories []int64
				for _, u := range unfolded {
					memories = append(memories, u.Memory)
				}
				for i, s := range folded {
					folded[i], _ = s.Kill(memories)
				}
				if b.Docs > 0 {
					s, err := Open(seq, b.Head, nil)
					if err != nil {
						t.Fatal(err)
					}
					folded = append(folded, s)
				}
				v, unfolded = NewView(folded), nil
			}
		}
		f := Filter{Statuses: 1 << r.IntN(2)}
		if r.IntN(2) == 0 {
			f.Atlases = []int64{r.Int64N(2)}
		}
		var want []Vector
		total := 0
		for m, k := range model {
			total += len(k.keys)
			for _, key := range k.keys {
				if k.there && f.admits(&k.attributes) {
					want = append(want, Vector{Memory: m, Key: key})
				}
			}
		}
		got := v.Nearest(c, NewProbe(direction(r, dimensions)), f, 1000)
		order := func(a, b Vector) int { return cmp.Compare(a.Key, b.Key) }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.EqualFunc(got, want, func(a, b Vector) bool { return a.Memory == b.Memory && a.Key == b.Key }) {
			t.Fatalf("found %v, not %v", got, want)
		}
		// Where fewer are asked for, as many come as there are: what is not admitted,
		// however near, takes the place of none.
		k := rapid.IntRange(1, 40).Draw(t, "k")
		some := v.Nearest(c, NewProbe(direction(r, dimensions)), f, k)
		if len(some) != min(k, len(want)) {
			t.Fatalf("found %d of %d, asked for %d", len(some), len(want), k)
		}
		for _, x := range some {
			if _, there := slices.BinarySearchFunc(want, x, order); !there {
				t.Fatalf("found %v, which is not admitted", x)
			}
		}
		if c.Len() != total {
			t.Fatalf("%d vectors, not %d", c.Len(), total)
		}
		for m, k := range model {
			if n := len(c.Keys(nil, m, NewProbe(direction(r, dimensions)), 10)); n != len(k.keys) {
				t.Fatalf("memory %d has %d vectors, not %d", m, n, len(k.keys))
			}
		}
	})
}

// A scan that guesses how near the nearest are, from a sample, picks what one without
// a guess does, also where the sample misleads it.
func TestAGuessChangesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	const n, k = 10_000, 60
	for _, misled := range []bool{false, true} {
		q := direction(r, 384)
		list, changes := make([]Coded, n), make([]Change, n)
		for i := range list {
			v := direction(r, 384)
			if misled && i < n/2 && i%(k*wideFactor/sampled) == 0 {
				v = q
			}
			list[i] = Coded{int64(i), int64(i), EncodeVector(v)}
			changes[i] = Change{Seq: int64(i + 1), Attributes: Attributes{Memory: int64(i), Kind: uint8(i / 7 % 2)}}
		}
		c, err := NewCodes().With(list)
		if err != nil {
			t.Fatal(err)
		}
		v, p, f := NewView(nil).With(changes), NewProbe(q), Filter{Kinds: 1}
		s := &scan{view: v, filter: &f, probe: p, parts: []scanned{{codes: c.base}}, want: k * wideFactor}
		if limit := s.guess(384); limit == 384 || (s.run(limit) < s.want) != misled {
			t.Fatalf("the guess is %d, within which there are %d", limit, s.within)
		}
		want := plainlyNearest(c.base, p, s.want, k, func(m int64) bool { return f.admits(&changes[m].Attributes) })
		var got []int64
		for _, x := range v.Nearest(c, p, f, k) {
			got = append(got, x.Memory)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v, not %v", got, want)
		}
	}
}

// plainlyNearest sorts all: the k that weigh most of those that are at most as far as
// the wide-th.
func plainlyNearest(c *codes, p *Probe, wide, k int, admits func(int64) bool) []int64 {
	list := slices.DeleteFunc(slices.Clone(c.memories), func(m int64) bool { return !admits(m) })
	far := func(m int64) int { return distance(p.bits, c.code(int(m))) }
	slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(far(a), far(b)) })
	last := far(list[wide-1])
	list = slices.DeleteFunc(list, func(m int64) bool { return far(m) > last })
	weight := func(m int64) float32 { return p.weigh(c.code(int(m))) }
	slices.SortFunc(list, func(a, b int64) int { return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a, b)) })
	return list[:k]
}

// Where no filter keeps anything away, few or many of the best may be gone all the same.
func TestAScanThatTrustsShowsNothingThatIsGone(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	const n, k = 5000, 60
	q, list, changes := direction(r, 384), make([]Coded, n), make([]Change, n)
	for i := range list {
		list[i] = Coded{int64(i), int64(i), EncodeVector(direction(r, 384))}
		changes[i] = Change{Seq: int64(i + 1), Attributes: Attributes{Memory: int64(i)}}
	}
	c, err := NewCodes().With(list)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := Build(changes)
	if err != nil {
		t.Fatal(err)
	}
	segment, err := Open(1, blob.Head, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, f := NewProbe(q), Filter{Statuses: 1}
	nearest := plainlyNearest(c.base, p, k*wideFactor, k*wideFactor, func(int64) bool { return true })
	for _, gone := range []int{0, 1, spareVectors, spareVectors + 1, 3 * k} {
		dead, _ := segment.Kill(nearest[:gone])
		here := func(m int64) bool { return !slices.Contains(nearest[:gone], m) }
		var got []int64
		for _, x := range NewView([]*Segment{dead}).Nearest(c, p, f, k) {
			got = append(got, x.Memory)
		}
		want := plainlyNearest(c.base, p, k*wideFactor, k, here)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d gone: %v, not %v", gone, got, want)
		}
	}
}

func BenchmarkNearestOf100k(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 100_000
	list, changes := make([]Coded, n), make([]Change, n)
	for i := range list {
		list[i] = Coded{int64(i), int64(i), EncodeVector(direction(r, 384))}
		changes[i] = Change{Seq: int64(i + 1), Attributes: Attributes{Memory: int64(i), Status: uint8(i % 50 / 49)}}
	}
	blob, err := Build(changes)
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(1, blob.Head, nil)
	if err != nil {
		b.Fatal(err)
	}
	c, err := NewCodes().With(list)
	if err != nil {
		b.Fatal(err)
	}
	v, q := NewView([]*Segment{s}), direction(r, 384)
	for b.Loop() {
		v.Nearest(c, NewProbe(q), Filter{Statuses: 1}, 200)
	}
}
