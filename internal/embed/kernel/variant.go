package kernel

// A Variant is one implementation of the kernels. It is immutable and safe for concurrent use.
type Variant struct {
	name      string
	quantize  func(a *Activations, token int, x []float32)
	mul       func(dst []float32, m *Matrix, a *Activations)
	attention func(dst, qkv []float32, tokens int, scratch []float32)
	gelu      func(dst, x []float32)
	addNorm   func(x, residual, gamma, beta []float32, eps float32)
}

// portable is the variant that every machine has.
var portable = &Variant{
	name:      "go",
	quantize:  quantizeGo,
	mul:       mulGo,
	attention: attendGo,
	gelu:      geluGo,
	addNorm:   addNormGo,
}

// Variants returns those that this machine can run, the fastest first and plain Go last.
func Variants() []*Variant { return append(assemblyVariants(), portable) }

// Best returns the fastest variant that this machine can run.
func Best() *Variant { return Variants()[0] }

// Name returns "avx512vnni", "avx2" or "go".
func (v *Variant) Name() string { return v.name }
