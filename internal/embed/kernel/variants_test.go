package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// For any number of tokens in a layer, the variants in assembly agree to the bit, and write nothing beyond the ends.
// Without assembly, the test checks the variant in Go for a few lengths.
func TestAssemblyVariantsAgreeForAllLengths(t *testing.T) {
	t.Parallel()
	variants, longest := assemblyVariants(), 256
	if len(variants) == 0 {
		variants, longest = Variants(), 20
	}
	r := rand.New(rand.NewPCG(5, 5))
	m := newModel(r)
	for tokens := 1; tokens <= longest; tokens++ {
		if tokens > 70 && tokens < 253 && tokens%15 > 1 {
			continue // near the borders of 4, 16 and 64 every case is covered
		}
		n, x := Padded(tokens), randomNormal(r, tokens*width, 1)
		var want []float32
		for _, v := range variants {
			var a Activations
			qkv, mixed := guard(r, make([]float32, n*3*width)), guard(r, make([]float32, n*width))
			wide, got := guard(r, make([]float32, n*4*width)), guard(r, make([]float32, n*width))
			v.Quantize(&a, guard(r, x), tokens, width)
			v.Mul(qkv, m.qkv, &a)
			scratch := guard(r, make([]float32, ScratchLen(tokens)))
			v.Attention(mixed, qkv, tokens, scratch)
			v.Quantize(&a, mixed, tokens, width)
			v.Mul(got, m.out, &a)
			v.AddNorm(got[:tokens*width], guard(r, x), m.gamma, m.beta, 1e-12)
			v.Quantize(&a, got, tokens, width)
			v.Mul(wide, m.up, &a)
			v.QuantizeGELU(&a, wide, tokens, 4*width)
			v.Mul(got, m.down, &a)
			for _, g := range []guarded{qkv, mixed, scratch, wide, got} {
				g.check(t)
			}
			if want == nil {
				want = slices.Clone(got[:tokens*width])
			}
			same(t, v.Name(), got, want)
		}
	}
}

func TestKernelsPanicOnWrongShape(t *testing.T) {
	t.Parallel()
	one := make([]float32, rowMultiple)
	m := Pack(make([]int8, rowMultiple*Block), one, one, Block)
	var a, other Activations
	Best().Quantize(&other, zeroSlice(2*Block), 1, 2*Block)
	for name, f := range map[string]func(){
		"width":   func() { Best().Mul(make([]float32, 4*rowMultiple), m, &other) },
		"variant": func() { portable.Mul(make([]float32, 4*rowMultiple), m, &Activations{}) },
		"weights": func() { Pack(make([]int8, rowMultiple*Block-1), one, one, Block) },
		"outputs": func() { Pack(make([]int8, Block), one[:1], one[:1], Block) },
		"inputs":  func() { Pack(make([]int8, 64*rowMultiple), one, one, 64) },
		"tokens":  func() { Best().Quantize(&a, nil, 0, Block) },
		"rows":    func() { Best().Quantize(&a, one, 1, Block) },
		"output": func() {
			Best().Attention(make([]float32, 3*width), make([]float32, 12*width), 1, make([]float32, ScratchLen(1)))
		},
		"scratch": func() { Best().Attention(make([]float32, 4*width), make([]float32, 12*width), 1, nil) },
		"gamma":   func() { Best().AddNorm(zeroSlice(width), zeroSlice(width), zeroSlice(width), nil, 0) },
		"rest": func() {
			Best().AddNorm(zeroSlice(width), zeroSlice(width-1), zeroSlice(width), zeroSlice(width), 0)
		},
		"sixteen": func() { Best().AddNorm(zeroSlice(17), zeroSlice(17), zeroSlice(17), zeroSlice(17), 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func zeroSlice(n int) []float32 { return make([]float32, n) }

// A model has the layers of the embedding model with weights at random.
type model struct {
	qkv, out, up, down *Matrix
	gamma, beta        []float32
}

func newModel(r *rand.Rand) *model {
	layer := func(in, out int) *Matrix {
		scale := make([]float32, out)
		for i := range scale {
			scale[i] = 5e-4
		}
		w := make([]int8, in*out)
		for i := range w {
			w[i] = int8(max(-127, min(127, r.NormFloat64()*40)))
		}
		return Pack(w, scale, randomNormal(r, out, .1), in)
	}
	return &model{layer(384, 1152), layer(384, 384), layer(384, 1536), layer(1536, 384), randomNormal(r, 384, 1),
		randomNormal(r, 384, .1)}
}

// values returns n finite values up to most. The first have their bits in data. The others are zeros, denormals,
// corners and normally distributed values.
func values(r *rand.Rand, data []byte, n int, most float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		v := float32(r.NormFloat64())
		switch {
		case len(data) >= 4*(i+1):
			v = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		case r.IntN(8) == 0:
			v = []float32{0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, -1e-40, most, -most}[r.IntN(6)]
		}
		if !(v >= -most && v <= most) {
			v = most
		}
		x[i] = v
	}
	return x
}

// A guarded slice is between values that must not be written, at an address that is aligned for float32 only.
type guarded []float32

const guardSize = 19

func guard(r *rand.Rand, x []float32) guarded {
	from := 1 + r.IntN(guardSize-1)
	g := make(guarded, from+len(x)+guardSize)
	for i := range g {
		g[i] = 4711
	}
	copy(g[from:], x)
	return g[from : from+len(x) : cap(g)]
}

func (g guarded) check(t *testing.T) {
	t.Helper()
	for i, v := range g[len(g):cap(g)] {
		testenv.RequireEqual(t, v, 4711, "value", i)
	}
}

// same fails unless all bits are equal.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		testenv.RequireEqual(t, math.Float32bits(got[i]), math.Float32bits(want[i]), "value", what, i, got[i], want[i])
	}
}

// integers returns the activations of a token.
func (a *Activations) integers(token int) []int {
	n := make([]int, a.width)
	for i := range n {
		at := token*a.width + i
		switch a.variant.name {
		case "avx512vnni":
			n[i] = int(a.bytes[at]) - 128
		case "avx2":
			n[i] = int(a.bytes[at])
			if a.signs[at] != 0 {
				n[i] = -n[i]
			}
		default:
			n[i] = int(int8(a.bytes[at]))
		}
	}
	return n
}
