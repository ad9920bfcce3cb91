package embed

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A passing error may be none at the next try, after a while if the service
// has named one.
type passing struct {
	error
	after time.Duration
}

// broken tells that there was no whole answer. Of a foreign error only what
// cannot hold a part of the request or the answer is told.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("was not waited for: %w", ctx.Err())
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return passing{error: errors.New("did not answer in time")}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return passing{error: fmt.Errorf("cannot be reached: %v", e)}
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("cannot be trusted: %v", e)
	}
	return passing{error: errors.New("broke the connection, or does not speak HTTP")}
}

// told are the codes of a refusal that say what to do about it. Others, and the
// message, could hold a text or the key.
var told = []string{"invalid_api_key", "model_not_found", "context_length_exceeded", "insufficient_quota", "rate_limit_exceeded"}

// refusal tells what another status than 200 means.
func refusal(res *http.Response, body []byte) error {
	text := fmt.Sprintf("answers with status %d", res.StatusCode)
	var p struct {
		Error struct{ Code any }
	}
	if json.Unmarshal(body, &p) == nil {
		if code, ok := p.Error.Code.(string); ok && slices.Contains(told, code) {
			text += " (" + code + ")"
		}
	}
	switch status := res.StatusCode; {
	case status/100 == 3:
		return errors.New(text + ": redirects are not followed, name the address that it leads to")
	case status == http.StatusTooManyRequests || status/100 == 5:
		return passing{errors.New(text), retryAfter(res.Header.Get("Retry-After"), time.Now())}
	}
	return errors.New(text)
}

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3); 0 says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// numbers are those of one vector. A number that is null, as some write NaN, or
// too large is an error.
type numbers []float32

func (n *numbers) UnmarshalJSON(raw []byte) error {
	if bytes.Contains(raw, []byte("null")) {
		return errors.New("null")
	}
	return json.Unmarshal(raw, (*[]float32)(n))
}

// vectors reads an answer to so many texts.
func (r *Remote) vectors(answer []byte, texts int) ([][]float32, error) {
	var a struct {
		Data []struct {
			Index     *int
			Embedding numbers
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, errors.New("answers with something else than lists of finite numbers") // err could show what
	}
	if len(a.Data) != texts {
		return nil, fmt.Errorf("answers with another number of vectors (%d) than of texts (%d)", len(a.Data), texts)
	}
	out := make([][]float32, texts)
	for i, d := range a.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || out[i] != nil {
			return nil, fmt.Errorf("answers with the index %d twice, or beyond the %d texts", i, texts)
		}
		if len(d.Embedding) == 0 {
			return nil, errors.New("answers with an empty vector")
		}
		if err := normalize(d.Embedding); err != nil {
			return nil, err
		}
		out[i] = d.Embedding
	}
	if err := r.measure(out); err != nil {
		return nil, err
	}
	return out, nil
}

// normalize gives a vector norm 1.
func normalize(v []float32) error {
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return errors.New("answers with a vector of norm 0")
	}
	norm := math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
	return nil
}

// measure looks whether the vectors have the length of all. The first answer
// says which.
func (r *Remote) measure(list [][]float32) error {
	want := int64(len(list[0]))
	for _, v := range list {
		if int64(len(v)) != want {
			return fmt.Errorf("answers with vectors of %d and of %d numbers", want, len(v))
		}
	}
	if !r.length.CompareAndSwap(0, want) && r.length.Load() != want {
		return fmt.Errorf("answers with vectors of %d numbers, and those before had %d: another model needs another name", want, r.length.Load())
	}
	return nil
}
