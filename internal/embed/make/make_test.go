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

	"github.com/loci-memory/loci/internal/testenv"
)

func randomNormal(seed uint64, rows, cols int) matrix {
	r := rand.New(rand.NewPCG(seed, 0))
	m := matrix{cols, make([]float64, rows*cols)}
	for i := range m.values {
		m.values[i] = r.NormFloat64()
	}
	return m
}

func assertNear(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-9) {
			t.Fatalf("%s: value %d is %v, not %v", what, i, got[i], want[i])
		}
	}
}

func TestHadamardRotateIsInvolution(t *testing.T) {
	t.Parallel()
	m := randomNormal(1, 3, 256)
	was := slices.Clone(m.values)
	hadamardRotate(m)
	if math.Abs(m.values[0]-was[0]) < 1e-9 {
		t.Error("nothing was rotated")
	}
	assertNear(t, "products", product(matrix{256, m.values},
		matrix{256, append(slices.Clone(m.values), make([]float64, 256)...)}).values[:3],
		product(matrix{256, was}, matrix{256, append(slices.Clone(was), make([]float64, 256)...)}).values[:3])
	hadamardRotate(m)
	assertNear(t, "rotated twice", m.values[:len(was)], was)
}

func TestCholeskyAndInverse(t *testing.T) {
	t.Parallel()
	h := addDamping(product(randomNormal(2, 12, 40), randomNormal(2, 12, 40)))
	r := cholesky(h)
	assertNear(t, "factor", product(r, r).values, h.values)
	u := invertTriangular(r)
	unit := matrix{12, make([]float64, 144)}
	for i := range 12 {
		unit.row(i)[i] = 1
	}
	assertNear(t, "inverse", product(r, u.transposed()).values, unit.values)
}

// Where inputs are correlated, other weights compensate for the rounding of one.
func TestQuantizeMinimizesOutputError(t *testing.T) {
	t.Parallel()
	const in, out, tokens = 128, 8, 400
	hidden, mix := randomNormal(3, tokens, 8), randomNormal(4, in, 8)
	inputs := product(hidden, mix)
	for i, noise := range randomNormal(5, tokens, in).values {
		inputs.values[i] += noise / 20
	}
	d := denseLayer{in: in, out: out}
	for _, w := range randomNormal(6, out, in).values {
		d.weights = append(d.weights, float32(w))
	}
	plain := toFloat64(d.weights, in)
	hadamardRotate(plain)
	flat := make([]float32, len(plain.values))
	for i, w := range plain.values {
		flat[i] = float32(w)
	}
	rotated := matrix{in, slices.Clone(inputs.values)}
	hadamardRotate(rotated)
	want := product(inputs, toFloat64(d.weights, in))
	roundingError := func(rounded []int8, scales []float32) (sum float64) {
		m := matrix{in, make([]float64, len(rounded))}
		for i, v := range rounded {
			m.values[i] = float64(v) * float64(scales[i/in])
		}
		for i, v := range product(rotated, m).values {
			sum += (v - want.values[i]) * (v - want.values[i])
		}
		return sum
	}
	nearest, careful := roundingError(quantizeRows(flat, in)), roundingError(quantize(d, inputs))
	if careful > nearest/2 {
		t.Errorf("the outputs are off by %g, and by %g with each weight rounded to the nearest", careful, nearest)
	}
}

func TestQuantizeRowsUsesRowScale(t *testing.T) {
	t.Parallel()
	rounded, scales := quantizeRows([]float32{1, -2, .5, 127, 63.6, 0, 0, 0, 0}, 3)
	testenv.EqualSlices(t, rounded, []int8{64, -127, 32, 127, 64, 0, 0, 0, 0})
	testenv.EqualSlices(t, scales, []float32{2. / 127, 1, 0})
}

func TestParseFindsTensors(t *testing.T) {
	t.Parallel()
	head := `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},` +
		`"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	file = append(file, head...)
	for _, v := range []float32{9, 1.5, -2} {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(v))
	}
	r := tensorReader{sourceModel: &sourceModel{}}
	testenv.NoError(t, r.parse(file))
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

func TestOpenWheelRejectsWrongSum(t *testing.T) {
	t.Parallel()
	wheel := filepath.Join(t.TempDir(), "other.whl")
	testenv.NoError(t, os.WriteFile(wheel, bytes.Repeat([]byte("x"), 100), 0o600))
	if err := run(wheel, "", true); err == nil || !strings.Contains(err.Error(), "want "+wheelSum) {
		t.Errorf("%v", err)
	}
}

func TestAttentionIsPerText(t *testing.T) {
	t.Parallel()
	qkv := randomNormal(7, 5, 3*width)
	both := attention(qkv, []int{2, 5})
	alone := attention(matrix{qkv.cols, qkv.values[2*qkv.cols:]}, []int{3})
	assertNear(t, "the second text", both.values[2*width:], alone.values)
	if one := attention(matrix{qkv.cols, qkv.row(0)}, []int{1}); !slices.Equal(one.values, qkv.row(0)[2*width:]) {
		t.Error("a piece alone does not get its own value")
	}
}
