package model

import "errors"

const (
	magic       = "LOCIMODL"
	version     = 1
	prefixBytes = 16 // bytes before the head
	alignment   = 64
)

// A Header describes the contents of a file.
type Header struct {
	Model string `json:"model"`
	// identifies the model and everything else that determines its vectors
	Generation string `json:"generation"`
	Source     string `json:"source"`  // its origin
	License    string `json:"license"` // SPDX, of the source

	Layers     int `json:"layers"`
	Heads      int `json:"heads"`
	Width      int `json:"width"`
	Inner      int `json:"inner"`      // width between the dense layers up and down
	Vocabulary int `json:"vocabulary"` // pieces
	Positions  int `json:"positions"`  // the most pieces of a text

	SHA256  string   `json:"sha256"` // of the data
	Tensors []Tensor `json:"tensors"`
}

// A Tensor is the position and shape of a tensor.
type Tensor struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"` // in bytes from the beginning of the data
}

// elementSizes has the bytes of one element of each type.
var elementSizes = map[string]int{"i8": 1, "f32": 4, "text": 1}

// bytes returns the size of the tensor, or an error if it has none or exceeds limit bytes of data.
func (t Tensor) bytes(limit int) (size int, err error) {
	size = elementSizes[t.Type]
	for _, n := range t.Shape {
		if n < 0 || n > limit || size > limit {
			return 0, errors.New("is larger than the file")
		}
		size *= n
	}
	switch {
	case size == 0:
		return 0, errors.New("has no bytes")
	case t.Offset < 0 || t.Offset%alignment != 0 || t.Offset > limit-size:
		return 0, errors.New("lies outside of the data")
	}
	return size, nil
}

// alignUp rounds up to a multiple of align.
func alignUp(n int) int { return (n + alignment - 1) &^ (alignment - 1) }
