package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func gauss(seed uint64, rows, cols int) matrix {
	r := rand.New(rand.NewPCG(seed, 0))
	m := matrix{cols, make([]float64, rows*cols)}
	for i := range m.values {
		m.values[i] = r.NormFloat64()
	}
	return m
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-9) {
			t.Fatalf("%s: value %d is %v, not %v", what, i, got[i], want[i])
		}
	}
}

func TestTheRotationIsItsOwnInverse(t *testing.T) {
	t.Parallel()
	m := gauss(1, 3, 256)
	was := slices.Clone(m.values)
	rotate(m)
	if math.Abs(m.values[0]-was[0]) < 1e-9 {
		t.Error("nothing was rotated")
	}
	near(t, "products", square(matrix{256, append(m.values, make([]float64, 256)...)}).values[:3],
		product(matrix{256, was}, matrix{256, append(slices.Clone(was), make([]float64, 256)...)}).values[:3])
	rotate(m)
	near(t, "rotated twice", m.values[:len(was)], was)
}

func TestTheFactorAndItsInverseAreThose(t *testing.T) {
	t.Parallel()
	h := damp(square(gauss(2, 12, 40)))
	r := factor(h)
	near(t, "factor", product(r, r).values, h.values)
	u := invert(r)
	unit := matrix{12, make([]float64, 144)}
	for i := range 12 {
		unit.row(i)[i] = 1
	}
	near(t, "inverse", product(r, u.transposed()).values, unit.values)
}

// Where inputs go together, what rounding one weight does is made up for by others.
func TestRoundingHeedsTheInputs(t *testing.T) {
	t.Parallel()
	const in, out, tokens = 128, 8, 400
	hidden, mix := gauss(3, tokens, 8), gauss(4, in, 8)
	inputs := product(hidden, mix)
	for i, noise := range gauss(5, tokens, in).values {
		inputs.values[i] += noise / 20
	}
	d := dense{in: in, out: out}
	for _, w := range gauss(6, out, in).values {
		d.weights = append(d.weights, float32(w))
	}
	plain := widen(d.weights, in)
	rotate(plain)
	flat := make([]float32, len(plain.values))
	for i, w := range plain.values {
		flat[i] = float32(w)
	}
	rotated := matrix{in, slices.Clone(inputs.values)}
	rotate(rotated)
	want := product(inputs, widen(d.weights, in))
	miss := func(rounded []int8, scales []float32) (sum float64) {
		m := matrix{in, make([]float64, len(rounded))}
		for i, v := range rounded {
			m.values[i] = float64(v) * float64(scales[i/in])
		}
		for i, v := range product(rotated, m).values {
			sum += (v - want.values[i]) * (v - want.values[i])
		}
		return sum
	}
	nearest, careful := miss(roundRows(flat, in)), miss(round(d, inputs))
	if careful > nearest/2 {
		t.Errorf("the outputs are off by %g, and by %g with each weight rounded to the nearest", careful, nearest)
	}
}

func TestValuesAreRoundedWithTheScaleOfTheirRow(t *testing.T) {
	t.Parallel()
	rounded, scales := roundRows([]float32{1, -2, .5, 127, 63.6, 0, 0, 0, 0}, 3)
	if want := []int8{64, -127, 32, 127, 64, 0, 0, 0, 0}; !slices.Equal(rounded, want) {
		t.Errorf("%v, want %v", rounded, want)
	}
	if want := []float32{2. / 127, 1, 0}; !slices.Equal(scales, want) {
		t.Errorf("%v, want %v", scales, want)
	}
}

func TestTensorsAreFoundInAFile(t *testing.T) {
	t.Parallel()
	head := `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	file = append(file, head...)
	for _, v := range []float32{9, 1.5, -2} {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(v))
	}
	r := reader{published: &published{}}
	if err := r.parse(file); err != nil {
		t.Fatal(err)
	}
	if got := r.floats(2, "a"); !slices.Equal(got, []float32{1.5, -2}) || r.err != nil {
		t.Errorf("%v, %v", got, r.err)
	}
	for name, length := range map[string]int{"a": 3, "b": 2, "c": 1} {
		r.err = nil
		if got := r.floats(length, name); len(got) != length || r.err == nil {
			t.Errorf("%s: %v, and no error", name, got)
		}
	}
}

func TestAnotherWheelIsRefused(t *testing.T) {
	t.Parallel()
	wheel := filepath.Join(t.TempDir(), "other.whl")
	if err := os.WriteFile(wheel, bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(wheel, "", true); err == nil || !strings.Contains(err.Error(), "not "+wheelSum) {
		t.Errorf("%v", err)
	}
}

func TestAttentionStaysWithinItsText(t *testing.T) {
	t.Parallel()
	qkv := gauss(7, 5, 3*width)
	both := attend(qkv, []int{2, 5})
	alone := attend(matrix{qkv.cols, qkv.values[2*qkv.cols:]}, []int{3})
	near(t, "the second text", both.values[2*width:], alone.values)
	if one := attend(matrix{qkv.cols, qkv.row(0)}, []int{1}); !slices.Equal(one.values, qkv.row(0)[2*width:]) {
		t.Error("a piece alone does not get its own value")
	}
}
