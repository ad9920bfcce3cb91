package embed

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/openai"
)

// embedWithRetry sends a request, and retries where that may help.
func (r *Remote) embedWithRetry(ctx context.Context, texts []string) ([][]float32, error) {
	in := map[string]any{"model": r.model, "input": texts, "encoding_format": "float"}
	for try := 1; ; try++ {
		answer, err := r.client.Post(ctx, in)
		if err == nil {
			return r.decodeVectors(answer, len(texts))
		}
		e, ok := errors.AsType[*openai.Error](err)
		if !ok || !e.Transient || try == maxAttempts ||
			!sleep(ctx, cmp.Or(e.RetryAfter, jitter(r.retryDelay<<(try-1)))) {
			return nil, err
		}
	}
}

// jitter subtracts up to half.
func jitter(d time.Duration) time.Duration { return d - time.Duration(rand.Int64N(int64(d)/2+1)) }

// sleep pauses. It returns false without a pause if ctx ends before it.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); d > maxRetryDelay || ok && time.Until(end) < d {
		return false
	}
	return contextio.Sleep(ctx, d)
}
