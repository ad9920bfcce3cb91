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
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// What a request holds at most. Services refuse larger ones, some of them from
// 33 texts on.
const (
	maxTexts = 32
	maxBytes = 100 << 10
	maxText  = 8 << 10 // of one text; only words without an end are longer
)

// maxAnswer is the most bytes of an answer that are read: 32 vectors of 8,192
// numbers fit.
const maxAnswer = 8 << 20

// How often, how long and with which pauses a service is asked.
const (
	tries        = 3
	answerWithin = 30 * time.Second
	longestPause = 20 * time.Second
)

// A Remote has its vectors from a service that speaks the embeddings API of
// OpenAI (https://platform.openai.com/docs/api-reference/embeddings/create).
// Its errors hold neither the key nor anything of a text.
type Remote struct {
	endpoint, host string
	key, model     string
	http           *http.Client
	pause          time.Duration // before the second try, and twice as long before the third
	length         atomic.Int64  // of all vectors, once the first is there
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
	r := &Remote{endpoint: endpoint.String(), host: endpoint.Host, key: key, model: model, pause: 250 * time.Millisecond}
	r.http = &http.Client{
		Timeout: answerWithin,
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
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an address like https://api.openai.com/v1, without user and query") // err shows what it is
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
		list, rest := forRequest(texts)
		vectors, err := r.ask(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("embed: %s %w", r.host, err)
		}
		out, texts = append(out, vectors...), rest
	}
	return out, nil
}

// forRequest takes as many texts as a request holds, and at least one. What is too
// long is cut.
func forRequest(texts []string) (list, rest []string) {
	size := 0
	for i, t := range texts {
		t = t[:wholeUpTo(t, maxText)]
		if size += len(t); i == maxTexts || i > 0 && size > maxBytes {
			return list, texts[i:]
		}
		list = append(list, t)
	}
	return list, nil
}

// wholeUpTo is how many of at most n bytes of s hold whole characters.
func wholeUpTo(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// ask sends a request, again where that may help.
func (r *Remote) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": r.model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		answer, err := r.send(ctx, body)
		if err == nil {
			return r.vectors(answer, len(texts))
		}
		p, again := errors.AsType[passing](err)
		if !again || try == tries || !wait(ctx, cmp.Or(p.after, jitter(r.pause<<(try-1)))) {
			return nil, err
		}
	}
}

// jitter takes away up to half.
func jitter(d time.Duration) time.Duration { return d - time.Duration(rand.Int64N(int64(d)/2+1)) }

// wait pauses; false means that there is no time for that.
func wait(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); d > longestPause || ok && time.Until(end) < d {
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

// send tries once and returns the body of an answer of 200.
func (r *Remote) send(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("cannot be asked: the address is malformed")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, broken(ctx, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, broken(ctx, err)
	case res.StatusCode != http.StatusOK:
		return nil, refusal(res, answer)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("answers with more than %d MiB", maxAnswer>>20)
	}
	return answer, nil
}
