package model

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/loci-memory/loci/internal/testenv"
)

func writeFile(t *testing.T) string {
	t.Helper()
	var w Writer
	w.Text("vocabulary", "a\nbc\n")
	w.Int8("rows", []int8{-127, 0, 127, 1, 2, 3}, 2, 3)
	w.Float32("scale", []float32{.5, -1e-30}, 2)
	file := testenv.Must(w.File(Header{Model: "tiny", Generation: "tiny/1", Width: 3}))(t)
	return string(file)
}

func openWritten(t *testing.T, file string) *File {
	t.Helper()
	return testenv.Must(Open(file))(t)
}

func TestWrittenFileReadsBack(t *testing.T) {
	t.Parallel()
	f := openWritten(t, writeFile(t))
	if f.Model != "tiny" || f.Generation != "tiny/1" || f.Width != 3 {
		t.Errorf("head: %+v", f.Header)
	}
	testenv.Equal(t, f.Text("vocabulary"), "a\nbc\n", "text")
	testenv.EqualSlices(t, f.Int8("rows", 2, 3), []int8{-127, 0, 127, 1, 2, 3}, "rows")
	testenv.EqualSlices(t, f.Float32("scale", 2), []float32{.5, -1e-30}, "scale")
	testenv.NoError(t, f.Err())
	testenv.NoError(t, f.Check())
}

func TestTensorsAreAligned(t *testing.T) {
	t.Parallel()
	file := writeFile(t)
	f := openWritten(t, file)
	testenv.Equal(t, (len(file)-len(f.data))%alignment, 0, "the data begin at")
	for _, tensor := range f.Tensors {
		testenv.Equal(t, tensor.Offset%alignment, 0, tensor.Name, tensor.Offset)
	}
}

func TestInt8DoesNotCopy(t *testing.T) {
	t.Parallel()
	f := openWritten(t, writeFile(t))
	rows := f.Int8("rows", 2, 3)
	testenv.Equal(t, unsafe.Pointer(unsafe.StringData(f.data[f.Tensors[1].Offset:])), unsafe.Pointer(&rows[0]),
		"the rows lie elsewhere")
}

func TestCheckDetectsChangedByte(t *testing.T) {
	t.Parallel()
	file := []byte(writeFile(t))
	file[len(file)-1] ^= 1
	if err := openWritten(t, string(file)).Check(); err == nil {
		t.Error("nobody noticed")
	}
}

func TestErrNamesFirstMissingTensor(t *testing.T) {
	t.Parallel()
	for want, read := range map[string]func(f *File) int{
		"rows of type i8 and shape [3 2]":   func(f *File) int { return len(f.Int8("rows", 3, 2)) - 6 },
		"rows of type f32 and shape [2 3]":  func(f *File) int { return len(f.Float32("rows", 2, 3)) - 6 },
		"scale of type text and shape [2]":  func(f *File) int { return len(f.Text("scale")) - 2 },
		"nobody of type text and shape []":  func(f *File) int { return len(f.Text("nobody")) - 1 },
		"nothing of type f32 and shape [0]": func(f *File) int { return len(f.Float32("nothing", 0)) },
	} {
		f := openWritten(t, writeFile(t))
		testenv.Equal(t, read(f), 0, want)
		f.Int8("later", 1)
		if err := f.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOpenRejectsBrokenFiles(t *testing.T) {
	t.Parallel()
	good := writeFile(t)
	with := func(head string) string {
		file := binary.LittleEndian.AppendUint32([]byte(good[:12]), uint32(len(head)))
		return string(append(file, head+strings.Repeat("\x00", 256)...))
	}
	tensor := func(change func(t *Tensor)) string {
		one := Tensor{Name: "x", Type: "f32", Shape: []int{2, 3}, Offset: 64}
		change(&one)
		head := testenv.Must(json.Marshal(Header{Tensors: []Tensor{one}}))(t)
		return with(string(head))
	}
	for name, file := range map[string]string{
		"nothing":           "",
		"no model":          "LOCIMODE" + good[8:],
		"cut in its head":   good[:40],
		"cut in its data":   good[:len(good)-64],
		"another version":   good[:8] + "\x02" + good[9:],
		"a long head":       good[:12] + "\xff\xff\xff\xff" + good[16:],
		"no JSON":           with("{"),
		"an unknown type":   tensor(func(t *Tensor) { t.Type = "f64" }),
		"a negative shape":  tensor(func(t *Tensor) { t.Shape = []int{-2, -3} }),
		"an empty shape":    tensor(func(t *Tensor) { t.Shape = []int{0} }),
		"a vast shape":      tensor(func(t *Tensor) { t.Shape = []int{math.MaxInt, math.MaxInt} }),
		"a large shape":     tensor(func(t *Tensor) { t.Shape = []int{200, 200, 200} }),
		"a crooked offset":  tensor(func(t *Tensor) { t.Offset = 32 }),
		"a negative offset": tensor(func(t *Tensor) { t.Offset = -64 }),
		"a far offset":      tensor(func(t *Tensor) { t.Offset = math.MaxInt &^ 63 }),
	} {
		if f, err := Open(file); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	testenv.Equal(t, testenv.ErrorOf(Open(tensor(func(*Tensor) {}))), nil, "a good one")
}

func TestWriterPanicsOnWrongShape(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it was written")
		}
	}()
	new(Writer).Int8("rows", make([]int8, 5), 2, 3)
}
