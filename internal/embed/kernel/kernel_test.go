package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// eachVariant runs f with every variant of this machine.
func eachVariant(t *testing.T, f func(t *testing.T, v *Variant)) {
	for _, v := range Variants() {
		t.Run(v.Name(), func(t *testing.T) {
			t.Parallel()
			f(t, v)
		})
	}
}

// randomNormal returns n values of a normal distribution.
func randomNormal(r *rand.Rand, n int, deviation float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * deviation)
	}
	return x
}

// weights returns n values from -127 to 127.
func weights(r *rand.Rand, n int) []int8 {
	w := make([]int8, n)
	for i := range w {
		w[i] = int8(r.IntN(255) - 127)
	}
	return w
}

func assertNear(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance) {
			t.Fatalf("%s: value %d is %v, not %v", what, i, got[i], want[i])
		}
	}
}

func TestQuantizeRotationCancelsWeightRotation(t *testing.T) {
	t.Parallel()
	eachVariant(t, func(t *testing.T, v *Variant) {
		r := rand.New(rand.NewPCG(1, 1))
		const in, out, tokens = 384, 64, 7
		x, plain := randomNormal(r, tokens*in, 1), randomNormal(r, out*in, .05)
		scale, bias, rounded := make([]float32, out), randomNormal(r, out, 1), make([]int8, out*in)
		for o := range out {
			row, top := append([]float32(nil), plain[o*in:][:in]...), float32(0)
			for at := 0; at < in; at += Block {
				top = max(top, rotate((*[Block]float32)(row[at:])))
			}
			scale[o] = top / 127 / float32(math.Sqrt(Block))
			for i, w := range row {
				rounded[o*in+i] = int8(math.RoundToEven(float64(w * 127 / top)))
			}
		}
		var a Activations
		got := make([]float32, Padded(tokens)*out)
		v.Quantize(&a, x, tokens, in)
		v.Mul(got, Pack(rounded, scale, bias, in), &a)
		for i := range tokens {
			for o := range out {
				want := float64(bias[o])
				for k := range in {
					want += float64(x[i*in+k]) * float64(plain[o*in+k])
				}
				if d := math.Abs(want - float64(got[i*out+o])); d > .05 {
					t.Errorf("token %d, row %d: %v, not %v", i, o, got[i*out+o], want)
				}
			}
		}
	})
}

func TestAttentionEqualsWeightedMean(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	for _, tokens := range []int{1, 2, 3, 4, 5, 15, 16, 17, 31, 64, 100, 256} {
		qkv := randomNormal(r, Padded(tokens)*3*width, 2)
		want := attention(qkv, tokens)
		for _, v := range Variants() {
			got := randomNormal(r, Padded(tokens)*width, 1)
			v.Attention(got, qkv, tokens, randomNormal(r, ScratchLen(tokens), 1))
			assertNear(t, v.Name(), got, want, 5e-5)
		}
	}
}

// attention computes the definition, in float64.
func attention(qkv []float32, tokens int) []float32 {
	dst, weight := make([]float32, tokens*width), make([]float64, tokens)
	for head := 0; head < width; head += headWidth {
		for q := range tokens {
			sum := 0.0
			for k := range tokens {
				dot := 0.0
				for j := range headWidth {
					dot += float64(qkv[q*3*width+head+j]) * float64(qkv[k*3*width+width+head+j])
				}
				weight[k] = math.Exp(dot / math.Sqrt(headWidth))
				sum += weight[k]
			}
			for j := range headWidth {
				mixed := 0.0
				for k := range tokens {
					mixed += weight[k] / sum * float64(qkv[k*3*width+2*width+head+j])
				}
				dst[q*width+head+j] = float32(mixed)
			}
		}
	}
	return dst
}

func TestGELUEqualsFormula(t *testing.T) {
	t.Parallel()
	eachVariant(t, func(t *testing.T, v *Variant) {
		for _, n := range []int{32, 128, 1536} {
			x, want := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = 12 * (float32(i)/float32(n) - .5)
				want[i] = float32(float64(x[i]) / 2 * (1 + math.Erf(float64(x[i])/math.Sqrt2)))
			}
			got := make([]float32, n)
			v.gelu(got, x)
			assertNear(t, "GELU", got, want, 2.5e-6)
		}
	})
}

func TestAddNormEqualsFormula(t *testing.T) {
	t.Parallel()
	eachVariant(t, func(t *testing.T, v *Variant) {
		r := rand.New(rand.NewPCG(3, 3))
		const eps = 1e-12
		for _, tokens := range []int{1, 3} {
			x, y := randomNormal(r, tokens*width, 3), randomNormal(r, tokens*width, 1)
			gamma, beta := randomNormal(r, width, 1), randomNormal(r, width, 1)
			want := make([]float32, len(x))
			for at := 0; at < len(x); at += width {
				mean, variance := 0.0, 0.0
				for i := at; i < at+width; i++ {
					mean += (float64(x[i]) + float64(y[i])) / width
				}
				for i := at; i < at+width; i++ {
					d := float64(x[i]) + float64(y[i]) - mean
					variance += d * d / width
				}
				for i := range width {
					want[at+i] = float32((float64(x[at+i])+float64(y[at+i])-mean)/math.Sqrt(variance+
						eps)*float64(gamma[i]) + float64(beta[i]))
				}
			}
			v.AddNorm(x, y, gamma, beta, eps)
			assertNear(t, "layer norm", x, want, 1e-5)
		}
	})
}

func TestNormalizeMakesUnitLength(t *testing.T) {
	t.Parallel()
	x, dst := []float32{1, 2, 3, 6, 9, 9}, make([]float32, 2)
	Mean(dst, x, 2)
	assertNear(t, "mean", dst, []float32{2, 4}, 0)
	Normalize(dst)
	assertNear(t, "unit", dst, []float32{.4472136, .8944272}, 1e-7)
	Normalize(x[:0])
	zero := make([]float32, 3)
	Normalize(zero)
	assertNear(t, "nothing", zero, make([]float32, 3), 0)
}

func TestDequantizeScales(t *testing.T) {
	t.Parallel()
	dst := make([]float32, 3)
	Dequantize(dst, []int8{-127, 0, 64}, .5)
	assertNear(t, "row", dst, []float32{-63.5, 0, 32}, 0)
}
