package embed

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// sharedFolder is the folder of the golden data, beside the project.
const sharedFolder = "../../../shared/data"

// sharedFile returns a golden file, and skips the test where it is absent.
func sharedFile(t testing.TB, name string) []byte {
	t.Helper()
	if _, err := os.Stat(sharedFolder); err != nil {
		t.Skipf("the golden data are absent: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(sharedFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sharedLines[T any](t testing.TB, name string) []T { return readLines[T](t, sharedFile(t, name)) }

// readLines reads JSON, one value a line.
func readLines[T any](t testing.TB, data []byte) (list []T) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// bertVocabulary returns the vocabulary of the model, and skips the test where
// it is absent.
func bertVocabulary(t testing.TB) []string {
	t.Helper()
	var file struct {
		Model struct{ Vocab map[string]int }
	}
	if err := json.Unmarshal(sharedFile(t, "bert-uncased-tokenizer.json"), &file); err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(file.Model.Vocab))
	for piece, id := range file.Model.Vocab {
		list[id] = piece
	}
	return list
}

func newTokenizer(t testing.TB, vocabulary []string) *Tokenizer {
	t.Helper()
	tokenizer, err := NewTokenizer(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func TestTokenizerMatchesReference(t *testing.T) {
	t.Parallel()
	vocabulary := bertVocabulary(t)
	tokenizer := newTokenizer(t, vocabulary)
	fixtures := sharedLines[struct {
		Text   string
		IDs    []int32
		Tokens []string
	}](t, "wordpiece_fixtures.jsonl")
	if len(fixtures) != 85 {
		t.Errorf("%d fixtures, want 85", len(fixtures))
	}
	for _, f := range fixtures {
		got := tokenizer.Encode(nil, f.Text, len(f.IDs)+3)
		want := slices.Concat([]int32{101}, f.IDs, []int32{102})
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", f.Text, got, want)
		}
		for i, id := range f.IDs {
			if vocabulary[id] != f.Tokens[i] {
				t.Errorf("piece %d is %q in the vocabulary, and %q in the fixture", id, vocabulary[id], f.Tokens[i])
			}
		}
		if n := tokenizer.Count(f.Text); n != len(f.IDs) {
			t.Errorf("%q: counted %d, want %d", f.Text, n, len(f.IDs))
		}
	}
}

func TestEncodeMatchesModelIDs(t *testing.T) {
	t.Parallel()
	const most = 256 // of the model, and of the golden ids
	tokenizer := newTokenizer(t, bertVocabulary(t))
	golden := sharedLines[struct {
		ID, Text string
		IDs      []int32
	}](t, "minilm/golden.jsonl")
	if len(golden) != 253 {
		t.Errorf("%d golden texts, want 253", len(golden))
	}
	for _, g := range golden {
		if got := tokenizer.Encode(nil, g.Text, most); !slices.Equal(got, g.IDs) {
			t.Errorf("%s %q:\n%v, want\n%v", g.ID, g.Text, got, g.IDs)
		}
	}
}
