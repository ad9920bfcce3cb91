package embeddb_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A slowEmbedder says when it begins, and waits then, whatever its context.
type slowEmbedder struct {
	storetest.LocalEmbedder
	begun, proceed chan struct{}
}

func (m *slowEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.begun <- struct{}{}
	<-m.proceed
	return m.LocalEmbedder.Embed(ctx, texts)
}

// checkModelCalls lets the worker embed texts, and checks the vectors and how many the model computed.
func checkModelCalls(t *testing.T, w *embeddb.Worker, m *storetest.LocalEmbedder, want int64, texts ...string) {
	t.Helper()
	before := m.Embedded.Load()
	vectors := testenv.Must(embeddb.CallModel(w, ctx, texts))(t)
	for i, text := range texts {
		if !slices.Equal(vectors[i], storetest.VectorOf(text)) {
			t.Errorf("%q has another vector", text)
		}
	}
	testenv.Equal(t, m.Embedded.Load()-before, want, "of", texts, "the model embedded")
}

func TestEarlyVectorIsUsedOnceForItsText(t *testing.T) {
	t.Parallel()
	m := new(storetest.LocalEmbedder)
	w := embeddb.New(nil, nil, m, true)
	long := strings.Repeat("the boat of many words ", 20)
	if !slices.Equal(w.EmbedEarly(ctx, "", "the blue boat"), storetest.VectorOf("the blue boat")) ||
		w.EmbedEarly(ctx, "", long) == nil {
		t.Error("there is no early vector, or another one")
	}
	checkModelCalls(t, w, m, 1, "the blue boat", "the red boat")
	checkModelCalls(t, w, m, 2, "the blue boat", strings.TrimSpace(long))
	if w.EmbedEarly(ctx, "", "?a? ?b? ?c? boat") != nil {
		t.Error("a text that the model cannot read has an early vector")
	}
	if embeddb.New(nil, nil, &m.FakeEmbedder, true).EmbedEarly(ctx, "", "the blue boat") != nil {
		t.Error("a writer waits for a model elsewhere")
	}
}

func TestWritersDoNotWaitForEachOthersVectors(t *testing.T) {
	t.Parallel()
	m := &slowEmbedder{begun: make(chan struct{}, 9), proceed: make(chan struct{})}
	w := embeddb.New(nil, nil, m, true)
	wait, end := context.WithCancel(ctx)
	first := make(chan []float32)
	go func() { first <- w.EmbedEarly(wait, "", "the blue boat") }()
	<-m.begun
	if w.EmbedEarly(ctx, "", "the red boat") != nil {
		t.Error("two texts are embedded at once")
	}
	end()
	if <-first != nil {
		t.Error("a writer gets a vector after the end of its wait")
	}
	close(m.proceed)
	for w.EmbedEarly(ctx, "", "the green boat") == nil {
		runtime.Gosched()
	}
	checkModelCalls(t, w, &m.LocalEmbedder, 0, "the blue boat", "the green boat")
}
