package embeddb

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/vector"
)

// While users call, a model in this process uses at most one part in yieldFactor+1 of one processor: after each text it
// pauses that many times as long as the text took, but not longer than maxYield.
const (
	yieldFactor = 3
	maxYield    = 200 * time.Millisecond
)

// callModel returns the vectors of chunks. A model in this process gets one after another, and yields to calls.
func (w *Worker) callModel(ctx context.Context, chunks []string) ([][]float32, error) {
	if _, ok := w.model.(vector.LocalEmbedder); !ok {
		return w.model.Embed(ctx, chunks)
	}
	vectors := make([][]float32, 0, len(chunks))
	for i, text := range chunks {
		if v := w.takeEarly(text); v != nil {
			vectors = append(vectors, v)
			continue
		}
		began, calls := time.Now(), w.calls()
		v, err := w.model.Embed(ctx, chunks[i:i+1])
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v...)
		if pause := w.yieldAfter(began, calls); pause > 0 {
			w.pause(ctx, pause)
		}
	}
	return vectors, nil
}

// yieldAfter returns the pause after a text that the model began at a time, when users had made so many calls.
func (w *Worker) yieldAfter(began time.Time, calls int64) time.Duration {
	if w.calls() == calls || w.stopping.Load() || w.oneShot {
		return 0
	}
	return min(maxYield, yieldFactor*time.Since(began))
}
