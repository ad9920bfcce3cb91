package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// A File is an open file. It is immutable, except for the first read error.
type File struct {
	Header
	data string
	err  error
}

// Open reads the head of a file. It does not touch the data, so that an
// embedded file stays on the disk until its tensors are used.
func Open(file string) (*File, error) {
	if len(file) < prefixBytes || !strings.HasPrefix(file, magic) {
		return nil, errors.New("model: this is not a model file")
	}
	number := func(at int) uint32 { return binary.LittleEndian.Uint32([]byte(file[at : at+4])) }
	if v := number(8); v != version {
		return nil, fmt.Errorf("model: the file has version %d of the format, not %d", v, version)
	}
	size := number(12)
	if uint64(size) > uint64(len(file)-prefixBytes) || alignUp(prefixBytes+int(size)) > len(file) {
		return nil, errors.New("model: the file ends within its head")
	}
	f := &File{data: file[alignUp(prefixBytes+int(size)):]}
	if err := json.Unmarshal([]byte(file[prefixBytes:prefixBytes+size]), &f.Header); err != nil {
		return nil, fmt.Errorf("model: head: %w", err)
	}
	for _, t := range f.Tensors {
		if _, err := t.bytes(len(f.data)); err != nil {
			return nil, fmt.Errorf("model: tensor %s %w", t.Name, err)
		}
	}
	return f, nil
}

// Check reads all data and compares them with the checksum in the head.
func (f *File) Check() error {
	sum := sha256.New()
	if _, err := sum.Write(unsafe.Slice(unsafe.StringData(f.data), len(f.data))); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("model: the data have the sum %s, not %s", got, f.SHA256)
	}
	return nil
}

// Int8 returns a tensor of this shape in place, because its bytes need no alignment. The file is read-only, and so is
// the slice: writing to it crashes the process. Without such a tensor it returns zeros, and Err reports it.
func (f *File) Int8(name string, shape ...int) []int8 {
	raw := f.tensorBytes(name, "i8", shape)
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(raw))), len(raw))
}

// Float32 returns a copy of a tensor of this shape. Without such a tensor it returns zeros, and Err reports it.
func (f *File) Float32(name string, shape ...int) []float32 {
	raw := f.tensorBytes(name, "f32", shape)
	values := make([]float32, len(raw)/4)
	for i := range values {
		b := raw[4*i:][:4]
		values[i] = math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
	}
	return values
}

// Text returns a tensor of type text without a copy.
func (f *File) Text(name string) string {
	for _, t := range f.Tensors {
		if t.Name == name {
			return f.tensorBytes(name, "text", t.Shape)
		}
	}
	return f.tensorBytes(name, "text", nil)
}

// Err returns an error for the first requested tensor that is missing.
func (f *File) Err() error { return f.err }

// tensorBytes returns the bytes of a tensor, or as many zeros.
func (f *File) tensorBytes(name, kind string, shape []int) string {
	size := elementSizes[kind]
	for _, n := range shape {
		size *= n
	}
	for _, t := range f.Tensors {
		if t.Name == name && t.Type == kind && slices.Equal(t.Shape, shape) {
			return f.data[t.Offset:][:size]
		}
	}
	if f.err == nil {
		f.err = fmt.Errorf("model: the file has no tensor %s of type %s and shape %v", name, kind, shape)
	}
	return strings.Repeat("\x00", size)
}
