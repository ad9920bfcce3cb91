package embed

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/embed/kernel"
)

// A transientError may not recur on a retry, after a pause if the service has requested one.
type transientError struct {
	error
	retryAfter time.Duration
}

// transportError returns the error for an incomplete response. It includes only those parts of foreign errors that
// cannot contain a part of the request or the response.
func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("was cancelled: %w", ctx.Err())
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return transientError{error: errors.New("did not answer in time")}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return transientError{error: fmt.Errorf("cannot be reached: %v", e)}
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("cannot be trusted: %v", e)
	}
	return transientError{error: errors.New("broke the connection, or does not speak HTTP")}
}

// safeErrorCodes are the error codes that are shown. Others, and the message, could contain a text or the key.
var safeErrorCodes = []string{"invalid_api_key", "model_not_found", "context_length_exceeded", "insufficient_quota",
	"rate_limit_exceeded"}

// statusError returns the error for a status other than 200.
func statusError(res *http.Response, body []byte) error {
	text := fmt.Sprintf("answers with status %d", res.StatusCode)
	var p struct {
		Error struct{ Code any }
	}
	if json.Unmarshal(body, &p) == nil {
		if code, ok := p.Error.Code.(string); ok && slices.Contains(safeErrorCodes, code) {
			text += " (" + code + ")"
		}
	}
	switch status := res.StatusCode; {
	case status/100 == 3:
		return errors.New(text + ": redirects are not followed, name the address that it leads to")
	case status == http.StatusTooManyRequests || status/100 == 5:
		return transientError{errors.New(text), retryAfter(res.Header.Get("Retry-After"), time.Now())}
	}
	return errors.New(text)
}

// retryAfter parses seconds or a date (RFC 9110, section 10.2.3); 0 means absent or invalid.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// finiteFloats are those of one vector. A number that is null, as some write NaN, or too large is an error.
type finiteFloats []float32

func (n *finiteFloats) UnmarshalJSON(raw []byte) error {
	if bytes.Contains(raw, []byte("null")) {
		return errors.New("null")
	}
	return json.Unmarshal(raw, (*[]float32)(n))
}

// decodeVectors reads the response to a number of texts.
func (r *Remote) decodeVectors(answer []byte, texts int) ([][]float32, error) {
	var a struct {
		Data []struct {
			Index     *int
			Embedding finiteFloats
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		// err could show a part of the response
		return nil, errors.New("answers with something else than lists of finite numbers")
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
		if !slices.ContainsFunc(d.Embedding, func(x float32) bool { return x != 0 }) {
			return nil, errors.New("answers with a vector of norm 0")
		}
		kernel.Normalize(d.Embedding)
		out[i] = d.Embedding
	}
	return out, r.checkDimensions(out)
}

// checkDimensions checks that all vectors have the length of the first one that the service returned.
func (r *Remote) checkDimensions(list [][]float32) error {
	want := int64(len(list[0]))
	for _, v := range list {
		if int64(len(v)) != want {
			return fmt.Errorf("answers with vectors of %d and of %d numbers", want, len(v))
		}
	}
	if !r.dimensions.CompareAndSwap(0, want) && r.dimensions.Load() != want {
		return fmt.Errorf("answers with vectors of %d numbers, and those before had %d: another model needs another "+
			"name", want, r.dimensions.Load())
	}
	return nil
}
