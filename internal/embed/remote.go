package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
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
	endpoint, host string
	apiKey, model  string
	http           *http.Client
	retryDelay     time.Duration // before the second attempt, doubled before the third
	dimensions     atomic.Int64  // of all vectors, once the first is known
}

// NewRemote returns an embedder that requests vectors of a model from a service. address is the base of an API or its
// whole Endpoint. A key may be empty. Nothing is sent yet.
func NewRemote(address, key, model string) (*Remote, error) {
	endpoint, err := Endpoint(address)
	if err != nil {
		return nil, err
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	r := &Remote{endpoint: endpoint.String(), host: endpoint.Host, apiKey: key, model: model,
		retryDelay: 250 * time.Millisecond}
	r.http = &http.Client{
		Timeout: requestTimeout,
		// A redirect could send key and texts to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return r, nil
}

// Endpoint returns the address of requests. A path that ends with /embeddings is used unchanged; to another path, such
// as /v1, that is appended. Without a path it is /v1/embeddings.
func Endpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		// err would show the address
		return nil, errors.New("must be an address like https://api.openai.com/v1, without user and query")
	}
	u.Host = strings.ToLower(u.Host)
	if u.Path = strings.TrimRight(u.Path, "/"); u.Path == "" {
		u.Path = "/v1"
	}
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u.Path += "/embeddings"
	}
	u.RawPath = ""
	return u, nil
}

// CheckKey rejects a key that no header can contain, without showing it.
func CheckKey(key string) error {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return errors.New("contains an invalid character: copy the key again")
		}
	}
	return nil
}

// Generation identifies the model and the service.
func (r *Remote) Generation() string {
	_, place, _ := strings.Cut(strings.TrimSuffix(r.endpoint, "/embeddings"), "://")
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
			return nil, fmt.Errorf("embed: %s %w", r.host, err)
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
