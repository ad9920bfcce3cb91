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
