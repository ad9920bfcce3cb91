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
	"unicode/utf8"
)

// What a request holds at most. Services refuse larger ones, some of them from
// 33 texts on.
const (
	maxBatchTexts = 32
	maxBatchBytes = 100 << 10
	maxTextBytes  = 8 << 10 // of one text; only words without an end are longer
)

// maxResponseBytes is the most bytes of an answer that are read: 32 vectors of 8,192
// numbers fit.
const maxResponseBytes = 8 << 20

// How often, how long and with which pauses a service is asked.
const (
	maxAttempts    = 3
	requestTimeout = 30 * time.Second
	maxRetryDelay  = 20 * time.Second
)

// A Remote has its vectors from a service that speaks the embeddings API of
// OpenAI (https://platform.openai.com/docs/api-reference/embeddings/create).
// Its errors hold neither the key nor anything of a text.
type Remote struct {
	endpoint, host string
	apiKey, model  string
	http           *http.Client
	retryDelay     time.Duration // before the second try, and twice as long before the third
	dimensions     atomic.Int64  // of all vectors, once the first is there
}

// NewRemote returns an embedder that asks the service at address, the base of
// an API or the whole of its Endpoint, for vectors of a model. A key may be
// empty. Nothing is sent yet.
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
		// A redirect could lead key and texts elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return r, nil
}

// Endpoint returns where requests go: an address whose path ends with
// /embeddings is meant as it is; to another path, such as /v1, that is added;
// without a path it is /v1/embeddings.
func Endpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		// err shows what it is
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

// CheckKey refuses a key that no header can hold, without showing it.
func CheckKey(key string) error {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return errors.New("holds a character that no key has")
		}
	}
	return nil
}

// Generation names the model and where it is asked.
func (r *Remote) Generation() string {
	_, place, _ := strings.Cut(strings.TrimSuffix(r.endpoint, "/embeddings"), "://")
	return "openai:" + r.model + "@" + place
}

// Pieces gives zeros: the service does not tell.
func (r *Remote) Pieces(string) (pieces, unknown int) { return 0, 0 }

// Embed returns a vector of norm 1 for each text. All that a Remote ever
// returns are of one length: a service that changes it is at fault.
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

// nextBatch takes as many texts as a request holds, and at least one. What is too
// long is cut.
func nextBatch(texts []string) (list, rest []string) {
	size := 0
	for i, t := range texts {
		t = t[:truncateUTF8(t, maxTextBytes)]
		if size += len(t); i == maxBatchTexts || i > 0 && size > maxBatchBytes {
			return list, texts[i:]
		}
		list = append(list, t)
	}
	return list, nil
}

// truncateUTF8 is how many of at most n bytes of s hold whole characters.
func truncateUTF8(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
