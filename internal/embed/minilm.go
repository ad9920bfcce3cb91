package embed

import (
	"context"
	_ "embed"
	"runtime"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/embed/kernel"
	"github.com/loci-memory/loci/internal/embed/model"
)

// modelFile is the file of the model. It is a string, so that the operating system maps it from the program. Its pages
// are read from disk when needed, and add nothing to the heap.
//
//go:embed minilm.bin
var modelFile string

// A MiniLM is the built-in embedder, all-MiniLM-L6-v2 in int8. It returns vectors of 384 values for texts of at most
// 254 pieces, and ignores further pieces. It is safe for concurrent use. Nothing is read or made before it is needed.
type MiniLM struct {
	variant   *kernel.Variant
	slots     chan struct{} // has a slot for each text that may be embedded at once
	scratch   sync.Pool     // of *scratch
	file      func() *model.File
	tokenizer func() *Tokenizer
	network   func() *network
}

// NewMiniLM returns the embedder with the fastest kernels of this machine. Each
// used embedder takes 10.6 MB, so a process needs only one.
func NewMiniLM() *MiniLM { return NewMiniLMWith(kernel.Best()) }

// NewMiniLMWith returns the embedder with kernels of this variant, for measurements and comparisons.
func NewMiniLMWith(v *kernel.Variant) *MiniLM {
	m := &MiniLM{variant: v, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	m.scratch.New = func() any { return new(scratch) }
	m.file = sync.OnceValue(func() *model.File { return must(model.Open(modelFile)) })
	m.tokenizer = sync.OnceValue(func() *Tokenizer {
		return must(NewTokenizer(strings.Fields(m.file().Text("vocabulary"))))
	})
	m.network = sync.OnceValue(func() *network { return must(newNetwork(m.file())) })
	return m
}

// must panics on an error of a broken build: the file is part of the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Generation identifies the model and everything else that determines its vectors.
func (m *MiniLM) Generation() string { return m.file().Generation }

// Kernel names the implementation of the arithmetic: "avx512vnni", "avx2" or "go".
func (m *MiniLM) Kernel() string { return m.variant.Name() }

// CountTokens returns the number of tokens of a text, and how many of them are unknown.
func (m *MiniLM) CountTokens(text string) (tokens, unknown int) {
	return m.tokenizer().CountTokens(text)
}

// ComputesLocally marks the embedder: a caller in the background gives it few texts at a time.
func (m *MiniLM) ComputesLocally() {}

// Embed returns a vector of norm 1 for each text. Texts are embedded one after another, since several at once are no
// cheaper. Before each of them the call waits until fewer texts are being embedded in the process than it has
// processors. The error is that of ctx.
func (m *MiniLM) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := m.acquire(ctx); err != nil {
			return nil, err
		}
		vectors[i] = m.embed(text)
	}
	return vectors, nil
}

func (m *MiniLM) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// embed leaves what enter has entered.
func (m *MiniLM) embed(text string) []float32 {
	defer func() { <-m.slots }()
	n := m.network()
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	s.ids = m.tokenizer().Encode(s.ids[:0], text, n.positions)
	return n.run(m.variant, s)
}
