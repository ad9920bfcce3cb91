package embeddb

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/vector"
)

// A countingModel counts its calls and fails at one text.
type countingModel struct {
	vector.Embedder
	calls  int
	during func() // an Embed
}

func (m *countingModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.calls++
	m.during()
	if texts[0] == "refused" {
		return nil, errors.New("refused")
	}
	return make([][]float32, len(texts)), nil
}

type localModel struct{ *countingModel }

func (localModel) ComputesLocally() {}

func TestLocalModelYieldsToCalls(t *testing.T) {
	t.Parallel()
	texts := []string{"a", "b", "c", "d"}
	for _, c := range []struct {
		name              string
		local, stopping   bool
		perText           int64 // calls of users during each text
		texts             []string
		wantCalls, pauses int
		fails             bool
	}{
		{"a remote model", false, false, 1, texts, 1, 0, false},
		{"a local model beside calls", true, false, 1, texts, 4, 4, false},
		{"a local model alone", true, false, 0, texts, 4, 0, false},
		{"a local model at the end", true, true, 1, texts, 4, 0, false},
		{"a text that fails", true, false, 1, []string{"a", "refused", "c"}, 2, 1, true},
	} {
		users, pauses := int64(0), 0
		m := &countingModel{during: func() { users += c.perText }}
		w := New(nil, nil, m, false)
		if c.local {
			w.model = localModel{m}
		}
		w.stopping.Store(c.stopping)
		w.calls = func() int64 { return users }
		w.pause = func(_ context.Context, d time.Duration) bool {
			if pauses++; d <= 0 || d > maxYield {
				t.Errorf("%s: a pause of %v", c.name, d)
			}
			return true
		}
		vectors, err := w.callModel(t.Context(), c.texts)
		if m.calls != c.wantCalls || pauses != c.pauses || (err != nil) != c.fails ||
			!c.fails && len(vectors) != len(c.texts) {
			t.Errorf("%s: %d calls of the model, %d pauses, %d vectors, %v", c.name, m.calls, pauses, len(vectors), err)
		}
	}
}
