package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// addSeeds adds inputs of every sort to a target of values, a seed and two sizes.
func addSeeds(f *testing.F) {
	f.Add([]byte{}, uint64(1), byte(0), byte(0))
	f.Add([]byte{0, 0, 128, 127, 1, 0, 0, 0, 255, 255, 127, 255}, uint64(2), byte(2), byte(2))
	f.Add([]byte("\x00\x00\x80\x3f\x00\x00\x80\xbf"), uint64(3), byte(6), byte(11))
	f.Add([]byte{127, 129, 0, 128, 255, 1}, uint64(4), byte(1), byte(16))
}

// FuzzMul compares products with sums of integers. Any int8 values can be given, because the transform of whole numbers
// is exact and its own inverse but for a factor.
func FuzzMul(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, shape, tokenCount byte) {
		r := rand.New(rand.NewPCG(seed, 1))
		in, out, tokens := Block*(1+int(shape%3)), rowMultiple*(1+int(shape/3%2)), 1+int(tokenCount)
		if shape < 250 {
			tokens = 1 + int(tokenCount)%21
		}
		w, q := edgeCases(r, data, in*out), edgeCases(r, data, in*tokens)
		scale, bias := make([]float32, out), make([]float32, out)
		for i := range scale {
			scale[i] = 1
		}
		m, x := Pack(w, scale, bias, in), make([]float32, in*tokens)
		for t := range tokens {
			row := q[t*in:][:in]
			row[0] = 127
			for i, v := range row {
				x[t*in+i] = float32(v)
			}
			for at := 0; at < in; at += Block {
				rotate((*[Block]float32)(x[t*in+at:]))
			}
		}
		for _, v := range Variants() {
			var a Activations
			got := guard(r, make([]float32, Padded(tokens)*out))
			v.Quantize(&a, guard(r, x), tokens, in)
			for i := range tokens {
				a.scale[i] = 1
			}
			v.Mul(got, m, &a)
			got.check(t)
			for range 200 {
				i, o := r.IntN(tokens), r.IntN(out)
				if want := product(q[i*in:][:in], w[o*in:][:in]); got[i*out+o] != float32(want) {
					t.Fatalf("%s: token %d, row %d is %v, not %d", v.Name(), i, o, got[i*out+o], want)
				}
			}
		}
	})
}

// edgeCases returns n integers from -127 to 127, many of them at the ends.
func edgeCases(r *rand.Rand, data []byte, n int) []int8 {
	w := weights(r, n)
	for i := range w {
		if i < len(data) {
			w[i] = max(-127, int8(data[i]))
		} else if r.IntN(3) == 0 {
			w[i] = []int8{-127, 127, 0}[r.IntN(3)]
		}
	}
	if r.IntN(8) == 0 {
		for i := range w {
			w[i] = 127
		}
	}
	return w
}

func product(a, b []int8) (sum int32) {
	for i, v := range a {
		sum += int32(v) * int32(b[i])
	}
	return sum
}

// FuzzQuantize compares every variant with the bits of plain Go.
func FuzzQuantize(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, shape, tokenCount byte) {
		r := rand.New(rand.NewPCG(seed, 2))
		width, tokens := Block*(1+int(shape%12)), 1+int(tokenCount%9)
		most := []float32{1, 1e36, 1e-38, 100}[shape/12%4]
		x := values(r, data, tokens*width, most)
		if r.IntN(4) == 0 {
			clear(x[:width])
		}
		var want Activations
		portable.Quantize(&want, x, tokens, width)
		for _, v := range Variants() {
			var a Activations
			v.Quantize(&a, guard(r, x), tokens, width)
			same(t, v.Name()+" scale", a.scale, want.scale)
			for i := range tokens {
				if got, want := a.integers(i), want.integers(i); !slices.Equal(got, want) {
					t.Fatalf("%s: token %d is %v, not %v", v.Name(), i, got, want)
				}
			}
		}
	})
}

func FuzzGELU(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, shape, size byte) {
		r := rand.New(rand.NewPCG(seed, 3))
		most := []float32{8, 1e18, 1e-30}[shape%3]
		x := values(r, data, 32*(1+int(size%49)), most)
		compare(t, r, x, float64(most)*1e-6, func(v *Variant, x []float32) { v.gelu(x, guard(r, x)) })
	})
}

func FuzzAddNorm(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, shape, size byte) {
		r := rand.New(rand.NewPCG(seed, 4))
		n, most := 16*(1+int(size%97)), []float32{8, 1e15, 1e-30}[shape%3]
		x, y := values(r, data, n, most), values(r, nil, n, most)
		gamma, beta := randomNormal(r, n, 1), randomNormal(r, n, 1)
		compare(t, r, x, normTolerance(x, y, gamma), func(v *Variant, x []float32) {
			v.AddNorm(x, guard(r, y), guard(r, gamma), guard(r, beta), 1e-12)
		})
	})
}

// normTolerance returns by how much two layer norms of the row x+y may differ. The mean is rounded in proportion to the
// largest value, and the norm divides that error by the standard deviation. No normed value is larger than the root of
// their number.
func normTolerance(x, y, gamma []float32) float64 {
	n, mean, variance, largest, factor := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		v := float64(x[i] + y[i])
		mean += v / n
		largest, factor = max(largest, math.Abs(v)), max(factor, math.Abs(float64(gamma[i])))
	}
	for i := range x {
		d := float64(x[i]+y[i]) - mean
		variance += d * d / n
	}
	return 1e-3 + factor*min(2*math.Sqrt(n), n*0x1p-23*largest/math.Sqrt(variance+1e-12))
}

func FuzzAttention(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, shape, tokenCount byte) {
		r := rand.New(rand.NewPCG(seed, 5))
		tokens := 1 + int(tokenCount)%20
		n, most := Padded(tokens), []float32{2, 1e-30, 1e12}[shape%3]
		qkv := values(r, data, n*3*width, most)
		tolerance := float64(most) * 1e-4
		if most > 2 { // scores differ so much that their rounding decides
			tolerance = 2.0001 * float64(most)
		}
		compare(t, r, make([]float32, n*width), tolerance, func(v *Variant, x []float32) {
			v.Attention(x, guard(r, qkv), tokens, guard(r, randomNormal(r, ScratchLen(tokens), 1)))
			clear(x[tokens*width:])
		})
	})
}

// compare runs f on copies of x. Variants in assembly must agree to the bit, and with plain Go within the tolerance.
func compare(t *testing.T, r *rand.Rand, x []float32, tolerance float64, f func(v *Variant, x []float32)) {
	t.Helper()
	want := slices.Clone(x)
	f(portable, want)
	var first guarded
	for _, v := range assemblyVariants() {
		got := guard(r, x)
		f(v, got)
		got.check(t)
		assertNear(t, v.Name(), got, want, tolerance)
		if first == nil {
			first = got
		}
		same(t, v.Name()+" and "+assemblyVariants()[0].Name(), got, first)
	}
}
