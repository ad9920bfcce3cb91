package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// embedWithRetry sends a request, and retries where that may help.
func (r *Remote) embedWithRetry(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": r.model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		answer, err := r.send(ctx, body)
		if err == nil {
			return r.decodeVectors(answer, len(texts))
		}
		p, again := errors.AsType[transientError](err)
		if !again || try == maxAttempts || !sleep(ctx, cmp.Or(p.retryAfter, jitter(r.retryDelay<<(try-1)))) {
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
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// send makes one attempt and returns the body of a response with status 200.
func (r *Remote) send(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("cannot be asked: the address is malformed")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	if r.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+r.apiKey)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxResponseBytes+1))
	switch {
	case err != nil:
		return nil, transportError(ctx, err)
	case res.StatusCode != http.StatusOK:
		return nil, statusError(res, answer)
	case len(answer) > maxResponseBytes:
		return nil, fmt.Errorf("answers with more than %d MiB", maxResponseBytes>>20)
	}
	return answer, nil
}
