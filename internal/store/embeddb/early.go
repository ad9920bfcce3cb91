package embeddb

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/vector"
)

// Bounds of texts that are embedded while their writers wait.
const (
	maxEarlyTokens = 64
	maxEarlyBytes  = 1 << 20 // of vectors that the worker has not used yet
)

// EmbedEarly returns the vector of a text that is about to be stored, or of the beginning of a longer one. The worker
// does not compute it again if the text is stored. There is no vector at the end of the context, while another text is
// embedded for its writer or yields to calls, without a model in this process, and for a text that it cannot read.
func (w *Worker) EmbedEarly(ctx context.Context, title, content string) []float32 {
	model, ok := w.model.(vector.LocalEmbedder)
	if !ok || w.standby.Load() || !w.embedsEarly.CompareAndSwap(false, true) {
		return nil
	}
	done, release := make(chan []float32, 1), func() { w.embedsEarly.Store(false) }
	go func() { // the model does not end with the context
		began, calls := time.Now(), w.calls()
		v := w.embedEarly(ctx, vector.Beginning(title, content, maxEarlyTokens, model))
		if pause := w.yieldAfter(began, calls); pause > 0 {
			time.AfterFunc(pause, release)
		} else {
			release()
		}
		done <- v
	}()
	select {
	case v := <-done:
		return v
	case <-ctx.Done():
		return nil
	}
}

func (w *Worker) embedEarly(ctx context.Context, text string) []float32 {
	if !vector.Readable(text, w.model) {
		return nil
	}
	vectors, err := w.model.Embed(ctx, []string{text})
	if err != nil {
		return nil // the worker reports it
	}
	w.early.Put(TextHash("", text), vectors[0])
	return vectors[0]
}

// takeEarly returns the early vector of a chunk, or nil.
func (w *Worker) takeEarly(chunk string) []float32 {
	key := TextHash("", chunk)
	v := w.early.Get(key)
	if v != nil {
		w.early.Remove(key)
	}
	return v
}

// Makes reports whether the vectors of a workspace are those of the worker's model.
func (w *Worker) Makes(s State) bool { return w.model != nil && s.MadeBy(w.model.Generation()) }
