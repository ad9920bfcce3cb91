package embed

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/embed/model"
	"github.com/loci-memory/loci/internal/testenv"
)

// readLines reads a file of JSON in testdata, one value a line.
func readLines[T any](t testing.TB, name string) (list []T) {
	t.Helper()
	data := testenv.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
	for line := range bytes.Lines(data) {
		var v T
		testenv.NoError(t, json.Unmarshal(line, &v))
		list = append(list, v)
	}
	return list
}

// modelVocabulary returns the vocabulary in the model file.
func modelVocabulary(t testing.TB) []string {
	t.Helper()
	f := testenv.Must(model.Open(modelFile))(t)
	return strings.Fields(f.Text("vocabulary"))
}

func newTokenizer(t testing.TB, vocabulary []string) *Tokenizer {
	t.Helper()
	return testenv.Must(NewTokenizer(vocabulary))(t)
}

func TestTokenizerMatchesReference(t *testing.T) {
	t.Parallel()
	vocabulary := modelVocabulary(t)
	tokenizer := newTokenizer(t, vocabulary)
	fixtures := readLines[struct {
		Text   string
		IDs    []int32
		Tokens []string
	}](t, "tokens.jsonl")
	testenv.Equal(t, len(fixtures), 85, "fixtures want 85")
	for _, f := range fixtures {
		got := tokenizer.Encode(nil, f.Text, len(f.IDs)+3)
		want := slices.Concat([]int32{101}, f.IDs, []int32{102})
		testenv.EqualSlices(t, got, want, f.Text)
		for i, id := range f.IDs {
			testenv.Equal(t, vocabulary[id], f.Tokens[i], "piece", id)
		}
		if n, _ := tokenizer.CountTokens(f.Text); n != len(f.IDs) {
			t.Errorf("%q: counted %d, want %d", f.Text, n, len(f.IDs))
		}
	}
}

// A goldenText has the ids and the vector that the published model computes in float32, rounded to four digits.
type goldenText struct {
	Text   string
	IDs    []int32
	Vector []float32
}

func goldenTexts(t testing.TB) []goldenText {
	t.Helper()
	list := readLines[goldenText](t, "golden.jsonl")
	testenv.Equal(t, len(list), 55, "golden texts want 55")
	return list
}

func TestEncodeMatchesModelIDs(t *testing.T) {
	t.Parallel()
	const most = 256 // of the model, and of the golden ids
	tokenizer := newTokenizer(t, modelVocabulary(t))
	for _, g := range goldenTexts(t) {
		testenv.EqualSlices(t, tokenizer.Encode(nil, g.Text, most), g.IDs, g.Text)
	}
}
