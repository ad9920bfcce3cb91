package conformance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
	"github.com/loci-memory/loci/internal/vector"
)

// vectorFile has the vectors of semanticSets: the generation of the model on the first line, and one record a text. A
// record has the key of the text, and its vector as the store has it.
const vectorFile = "testdata/vectors.bin"

// A textKey identifies a text: the first bytes of its SHA-256.
type textKey [8]byte

func keyOf(text string) (k textKey) {
	sum := sha256.Sum256([]byte(text))
	copy(k[:], sum[:])
	return k
}

// A storedModel is the built-in model with the vectors of vectorFile. It embeds other texts, each once. It is no
// vector.LocalEmbedder, whose early vectors would be of parts of the texts.
type storedModel struct {
	vector.Embedder
	stored map[textKey][]float32
	mu     sync.Mutex
	known  map[string][]float32
}

// openStoredModel returns the model. Vectors of another generation are left out.
func openStoredModel(t *testing.T) *storedModel {
	t.Helper()
	m := &storedModel{Embedder: embed.NewMiniLM(), stored: map[textKey][]float32{}, known: map[string][]float32{}}
	data := testenv.Must(os.ReadFile(vectorFile))(t)
	generation, data, _ := bytes.Cut(data, []byte("\n"))
	if string(generation) != m.Generation() {
		return m
	}
	const keyBytes = len(textKey{})
	for record := range slices.Chunk(data, keyBytes+len(vector.Encode(make([]float32, modelWidth)))) {
		m.stored[textKey(record)] = testenv.Must(vector.Decode(record[keyBytes:]))(t)
	}
	return m
}

// modelWidth is the number of components of the model's vectors.
const modelWidth = 384

// Embed returns the stored vectors of texts, and embeds those without one.
func (m *storedModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([][]float32, len(texts))
	for i, text := range texts {
		if m.known[text] == nil {
			v := m.stored[keyOf(text)]
			if v == nil {
				embedded, err := m.Embedder.Embed(ctx, []string{text})
				if err != nil {
					return nil, err
				}
				v = embedded[0]
			}
			m.known[text] = v
		}
		list[i] = m.known[text]
	}
	return list, nil
}

// TestVectorsMatchGoldenFile compares stored vectors with those of the model, for a sample of the texts. -update embeds
// all of them.
func TestVectorsMatchGoldenFile(t *testing.T) {
	t.Parallel()
	model := embed.NewMiniLM()
	var texts []string
	for _, s := range semanticSets(t) {
		for _, d := range s.Documents {
			texts = append(texts, vector.Chunks(cmp.Or(d.Title, title.Derive(d.Text)), d.Text, model)...)
		}
		for _, q := range s.Queries {
			texts = append(texts, vector.Chunks("", q.Text, model)...)
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if flag.Lookup("update").Value.String() == "true" {
		file := []byte(model.Generation() + "\n")
		for i, v := range testenv.Must(model.Embed(t.Context(), texts))(t) {
			key := keyOf(texts[i])
			file = append(append(file, key[:]...), vector.Encode(v)...)
		}
		testenv.NoError(t, os.WriteFile(vectorFile, file, 0o644))
	}
	stored := openStoredModel(t).stored
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return stored[keyOf(text)] != nil })
	if len(missing) > 0 || len(stored) != len(texts) {
		t.Fatalf("%s has %d vectors, and lacks those of %d of the %d texts: make golden", vectorFile, len(stored),
			len(missing), len(texts))
	}
	for i := 0; i < len(texts); i += len(texts) / 10 {
		v := testenv.Must(model.Embed(t.Context(), texts[i:i+1]))(t)[0]
		if c := dot(v, stored[keyOf(texts[i])]); !(math.Abs(c-1) < .001) { // variants of the kernels differ by as much
			t.Errorf("the stored vector of %.40q has the cosine %.6f with that of the model: make golden", texts[i], c)
		}
	}
}
