package embed

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/openai"
)

// Bounds of a request. Services refuse larger ones, some of them from 33 texts on.
const (
	maxBatchTexts = 32
	maxBatchBytes = 100 << 10
	maxTextBytes  = 8 << 10 // of one text; only a text of one endless word is longer
)

// maxResponseBytes bounds a response: 32 vectors of 8,192 numbers fit.
const maxResponseBytes = 8 << 20

// Attempts, timeout and pauses of requests to a service.
const (
	maxAttempts    = 3
	requestTimeout = 30 * time.Second
	maxRetryDelay  = 20 * time.Second
)

// A Remote requests its vectors from a service with the embeddings API of
// OpenAI (https://platform.openai.com/docs/api-reference/embeddings/create).
// Its errors contain neither the key nor any part of a text.
type Remote struct {
	client     *openai.Client
	model      string
	retryDelay time.Duration // before the second attempt, doubled before the third
	dimensions atomic.Int64  // of all vectors, once the first is known
}

// NewRemote returns an embedder that requests vectors of a model from a service. address is the base of an API or its
// whole Endpoint. A key may be empty. Nothing is sent yet.
func NewRemote(address, key, model string) (*Remote, error) {
	endpoint, err := Endpoint(address)
	if err != nil {
		return nil, err
	}
	if err := openai.CheckKey(key); err != nil {
		return nil, err
	}
	return &Remote{client: openai.New(endpoint, key, requestTimeout, maxResponseBytes), model: model,
		retryDelay: 250 * time.Millisecond}, nil
}

// route is the path of the API.
const route = "/embeddings"

// Endpoint returns the address of requests: a path without /embeddings at its end gets it.
func Endpoint(address string) (*url.URL, error) { return openai.Endpoint(address, route) }

// Generation identifies the model and the service.
func (r *Remote) Generation() string {
	_, place, _ := strings.Cut(strings.TrimSuffix(r.client.Address(), route), "://")
	return "openai:" + r.model + "@" + place
}

// CountTokens returns zeros, because the service does not count tokens.
func (r *Remote) CountTokens(string) (tokens, unknown int) { return 0, 0 }

// Embed returns a vector of norm 1 for each text. All vectors of a Remote have
// one length: a service that changes it causes an error.
func (r *Remote) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		list, rest := nextBatch(texts)
		vectors, err := r.embedWithRetry(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("embed: %s %w", r.client.Host(), err)
		}
		out, texts = append(out, vectors...), rest
	}
	return out, nil
}

// nextBatch returns as many texts as a request may contain, and at least one. Long texts are cut.
func nextBatch(texts []string) (list, rest []string) {
	size := 0
	for i, t := range texts {
		t = strings.ToValidUTF8(t[:min(len(t), maxTextBytes)], "") // without a part of a character
		if size += len(t); i == maxBatchTexts || i > 0 && size > maxBatchBytes {
			return list, texts[i:]
		}
		list = append(list, t)
	}
	return list, nil
}
