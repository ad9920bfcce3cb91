package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
)

// A Writer collects the tensors of a file. Shapes must agree with lengths.
type Writer struct {
	tensors []Tensor
	data    bytes.Buffer
}

// Int8 adds a tensor of type i8.
func (w *Writer) Int8(name string, values []int8, shape ...int) {
	w.addTensor(name, "i8", len(values), shape)
	for _, v := range values {
		w.data.WriteByte(byte(v))
	}
}

// Float32 adds a tensor of type f32.
func (w *Writer) Float32(name string, values []float32, shape ...int) {
	w.addTensor(name, "f32", len(values), shape)
	for _, v := range values {
		w.data.Write(binary.LittleEndian.AppendUint32(w.data.AvailableBuffer(), math.Float32bits(v)))
	}
}

// Text adds a tensor of type text.
func (w *Writer) Text(name, text string) {
	w.addTensor(name, "text", len(text), []int{len(text)})
	w.data.WriteString(text)
}

func (w *Writer) addTensor(name, kind string, length int, shape []int) {
	product := 1
	for _, n := range shape {
		product *= n
	}
	if product != length {
		panic(fmt.Sprintf("model: %s has %d values and the shape %v", name, length, shape))
	}
	w.pad()
	w.tensors = append(w.tensors, Tensor{name, kind, shape, w.data.Len()})
}

func (w *Writer) pad() { w.data.Write(make([]byte, alignUp(w.data.Len())-w.data.Len())) }

// File returns the file, with the head completed by the tensors and the checksum of the data.
func (w *Writer) File(head Header) ([]byte, error) {
	w.pad()
	sum := sha256.Sum256(w.data.Bytes())
	head.SHA256, head.Tensors = hex.EncodeToString(sum[:]), w.tensors
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	file := binary.LittleEndian.AppendUint32([]byte(magic), version)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(text)))
	file = append(file, text...)
	file = append(file, make([]byte, alignUp(len(file))-len(file))...)
	return append(file, w.data.Bytes()...), nil
}
