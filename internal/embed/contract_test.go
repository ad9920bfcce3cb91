package embed

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
)

// allEmbedders are all embedders of the service.
var allEmbedders = map[string]func(t *testing.T) vector.Embedder{
	"built in": func(*testing.T) vector.Embedder { return miniLMs()[0] },
	"remote":   func(t *testing.T) vector.Embedder { return startService(t, hashEmbedder) },
}

// hashEmbedder returns vectors that are similar where texts share words.
func hashEmbedder(w http.ResponseWriter, _ *http.Request, in request) {
	type vector struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	answer := map[string][]vector{}
	for i, text := range slices.Backward(in.Input) {
		v := make([]float64, 64)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(word))
			v[h.Sum32()%64]++
		}
		answer["data"] = append(answer["data"], vector{i, v})
	}
	_ = json.NewEncoder(w).Encode(answer) // the client has disconnected
}

func TestEmbeddersSatisfyContract(t *testing.T) {
	t.Parallel()
	for name, open := range allEmbedders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkContract(t, open(t))
		})
	}
}

// checkContract checks the contract of vector.Embedder.
func checkContract(t *testing.T, e vector.Embedder) {
	texts := []string{"The cat sleeps on the warm mat.", "A cat sleeps on a warm mat.",
		"Quarterly taxes are due in March.",
		"猫は畳の上で寝る。", "quotes \" and \\ and\nlines\tand <tags> 🐈", "x"}
	got := embedOne(t, e, texts)
	if dot(got[0], got[1]) <= dot(got[0], got[2]) {
		t.Error("texts of like meaning are less alike than others")
	}
	if g := e.Generation(); g == "" || g != e.Generation() || strings.ContainsFunc(g, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		t.Errorf("the generation is %q", g)
	}
	for _, text := range texts {
		if pieces, unknown := e.CountTokens(text); pieces < 0 || unknown < 0 || unknown > pieces ||
			pieces > vector.MaxChunkTokens {
			t.Errorf("%q has %d pieces, %d of them unknown", text, pieces, unknown)
		}
	}
	t.Run("a text has one vector, whatever stands beside it", func(t *testing.T) {
		var many []string
		for len(many) < 100 {
			many = append(many, texts...)
		}
		for i, v := range embedOne(t, e, many) {
			if dot(v, got[i%len(texts)]) < .9999 {
				t.Errorf("text %d of many has another vector than alone", i)
			}
		}
	})
	t.Run("vectors belong to the caller", func(t *testing.T) {
		clear(embedOne(t, e, texts[:1])[0])
		embedOne(t, e, texts[:1])
	})
	t.Run("no texts have no vectors", func(t *testing.T) {
		testenv.Equal(t, len(testenv.Must(e.Embed(t.Context(), nil))(t)), 0)
	})
	t.Run("who has gone gets an error", func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if v, err := e.Embed(gone, texts); !errors.Is(err, context.Canceled) || v != nil {
			t.Errorf("%v, %v", v, err)
		}
	})
	t.Run("several may ask at once", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				v, err := e.Embed(t.Context(), texts[:2])
				if err != nil || dot(v[0], got[0]) < .9999 || dot(v[1], got[1]) < .9999 {
					t.Errorf("among others: %v, %v", v, err)
				}
			})
		}
		all.Wait()
	})
}

// embedOne returns the vectors of texts, which must have norm 1 and equal lengths.
func embedOne(t *testing.T, e vector.Embedder, texts []string) [][]float32 {
	t.Helper()
	got := testenv.Must(e.Embed(t.Context(), texts))(t)
	testenv.RequireEqual(t, len(got), len(texts), "texts have")
	for i, v := range got {
		if len(v) != len(got[0]) || len(v) == 0 || math.Abs(dot(v, v)-1) > 1e-4 {
			t.Fatalf("%q has a vector of %d numbers and the square %v", texts[i], len(v), dot(v, v))
		}
	}
	return got
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
