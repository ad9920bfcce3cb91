package embeddb

import (
	"context"
	"errors"

	"github.com/loci-memory/loci/internal/job"
)

// RunRound does one round of a worker that was not started.
func RunRound(ctx context.Context, w *Worker) error {
	err := w.run(ctx)
	if _, ok := errors.AsType[job.After](err); ok {
		return nil
	}
	return err
}

// CallModel returns the vectors of chunks as the worker gets them.
func CallModel(w *Worker, ctx context.Context, chunks []string) ([][]float32, error) {
	return w.callModel(ctx, chunks)
}
