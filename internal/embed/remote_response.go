package embed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/embed/kernel"
)

// finiteFloats are those of one vector. A number that is null, as some write NaN, or too large is an error.
type finiteFloats []float32

func (n *finiteFloats) UnmarshalJSON(raw []byte) error {
	if bytes.Contains(raw, []byte("null")) {
		return errors.New("null")
	}
	return json.Unmarshal(raw, (*[]float32)(n))
}

// decodeVectors reads the response to a number of texts.
func (r *Remote) decodeVectors(answer []byte, texts int) ([][]float32, error) {
	var a struct {
		Data []struct {
			Index     *int
			Embedding finiteFloats
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		// err could show a part of the response
		return nil, errors.New("answers with something else than lists of finite numbers")
	}
	if len(a.Data) != texts {
		return nil, fmt.Errorf("answers with another number of vectors (%d) than of texts (%d)", len(a.Data), texts)
	}
	out := make([][]float32, texts)
	for i, d := range a.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || out[i] != nil {
			return nil, fmt.Errorf("answers with the index %d twice, or beyond the %d texts", i, texts)
		}
		if len(d.Embedding) == 0 {
			return nil, errors.New("answers with an empty vector")
		}
		if !slices.ContainsFunc(d.Embedding, func(x float32) bool { return x != 0 }) {
			return nil, errors.New("answers with a vector of norm 0")
		}
		kernel.Normalize(d.Embedding)
		out[i] = d.Embedding
	}
	return out, r.checkDimensions(out)
}

// checkDimensions checks that all vectors have the length of the first one that the service returned.
func (r *Remote) checkDimensions(list [][]float32) error {
	want := int64(len(list[0]))
	for _, v := range list {
		if int64(len(v)) != want {
			return fmt.Errorf("answers with vectors of %d and of %d numbers", want, len(v))
		}
	}
	if !r.dimensions.CompareAndSwap(0, want) && r.dimensions.Load() != want {
		return fmt.Errorf("answers with vectors of %d numbers, and those before had %d: another model needs another "+
			"name", want, r.dimensions.Load())
	}
	return nil
}
