package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

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
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %v, not %v", what, i, got[i], want[i])
		}
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
