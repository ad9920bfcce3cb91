package storetest

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// A FakeEmbedder is an embedder for tests: texts that share words have like vectors.
type FakeEmbedder struct {
	Name     string
	Embedded atomic.Int64  // that were embedded
	Gate     chan struct{} // each call waits for it, where it is there
	Constant bool          // all texts look the same to it

	mu      sync.Mutex
	Rejects string // texts that hold it; "*" refuses all
}

// A LocalEmbedder is a FakeEmbedder that computes in this process.
type LocalEmbedder struct{ FakeEmbedder }

// ComputesLocally marks the embedder.
func (*LocalEmbedder) ComputesLocally() {}

// Generation is the model's name.
func (m *FakeEmbedder) Generation() string { return m.Name }

// CountTokens returns the number of words of a text. Words with a question mark at both ends are unknown.
func (m *FakeEmbedder) CountTokens(text string) (pieces, unknown int) {
	for w := range strings.FieldsSeq(text) {
		pieces++
		if len(w) > 2 && w[0] == '?' && w[len(w)-1] == '?' {
			unknown++
		}
	}
	return pieces, unknown
}

// RejectTexts makes the model refuse other texts from now on.
func (m *FakeEmbedder) RejectTexts(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Rejects = what
}

// Embed returns a vector for each text, or an error if one of them is refused.
func (m *FakeEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.Gate != nil {
		select {
		case <-m.Gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	refuses := m.Rejects
	m.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if refuses == "*" || refuses != "" && strings.Contains(text, refuses) {
			return nil, errors.New("the model says no")
		}
		if m.Constant {
			text = ""
		}
		out[i] = VectorOf(text)
	}
	m.Embedded.Add(int64(len(texts)))
	return out, nil
}

// VectorOf is the vector of a text: its words, each in two of 96 dimensions.
func VectorOf(text string) []float32 {
	v, sum := make([]float32, 96), float32(0)
	for _, w := range append(strings.Fields(strings.ToLower(text)), "·") {
		h := fnv.New64a()
		h.Write([]byte(w))
		x := h.Sum64()
		v[x%96]++
		v[x>>20%96]--
	}
	for _, x := range v {
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(float64(max(sum, 1e-9))))
	}
	return v
}
