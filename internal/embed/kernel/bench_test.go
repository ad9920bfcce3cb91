package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

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

func BenchmarkKernels(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	m := newModel(r)
	for _, v := range Variants() {
		for _, tokens := range []int{12, 64, 256} {
			var a Activations
			n := Padded(tokens)
			x, y, wide, scratch := randomNormal(r, n*384, 1), randomNormal(r, n*384, 1), randomNormal(r, n*1536, 1),
				randomNormal(r, ScratchLen(tokens), 1)
			qkv := randomNormal(r, n*1152, 1)
			bench := func(name string, f func()) {
				b.Run(fmt.Sprintf("%s/%d/%s", v.Name(), tokens, name), func(b *testing.B) {
					for b.Loop() {
						f()
					}
				})
			}
			bench("quantize384", func() { v.Quantize(&a, x, tokens, 384) })
			bench("qkv", func() { v.Mul(qkv, m.qkv, &a) })
			bench("out", func() { v.Mul(y, m.out, &a) })
			bench("up", func() { v.Mul(wide, m.up, &a) })
			bench("attention", func() { v.Attention(y, qkv, tokens, scratch) })
			bench("gelu and quantize1536", func() { v.QuantizeGELU(&a, wide, tokens, 1536) })
			bench("down", func() { v.Mul(y, m.down, &a) })
			bench("norm", func() { v.AddNorm(x[:tokens*384], y, m.gamma, m.beta, 1e-12) })
		}
	}
}
