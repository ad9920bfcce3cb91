package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// WriteError writes an error response: JSON, or the page of the request. It writes nothing when the client has left.
func WriteError(w http.ResponseWriter, r *http.Request, q *op.Quota, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	h := w.Header()
	e := loci.AsError(err)
	if wait := RetryAfter(e, q); wait > 0 {
		e = &loci.Error{Code: e.Code, Message: e.Message, RetryAfter: wait, Err: e.Err}
	}
	SetQuotaHeaders(h, q)
	SetErrorHeaders(h, r, e, q)
	h.Del("Etag")
	if page, ok := r.Context().Value(errorPageKey{}).(ErrorPage); ok {
		page(w, r, e)
		return
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(e.Code.Status())
	body, _ := op.Marshal(op.NewErrorBody(e, h.Get("X-Request-Id"))) // texts alone
	_, _ = w.Write(append(body, '\n'))                               // a client that has left reads nothing
}

// SetErrorHeaders sets Retry-After and the challenge of an error, unless the transport has set its own.
func SetErrorHeaders(h http.Header, r *http.Request, e *loci.Error, q *op.Quota) {
	if wait := RetryAfter(e, q); wait > 0 {
		h.Set("Retry-After", ceilSeconds(wait))
	}
	if e.Code.Status() != http.StatusUnauthorized || h.Get("Www-Authenticate") != "" {
		return
	}
	challenge := "Bearer"
	if e.Code == loci.CodeInvalidKey && r.Header.Get("Authorization") != "" {
		challenge = `Bearer error="invalid_token"` // only where a token was sent (RFC 6750, section 3.1)
	}
	h.Set("WWW-Authenticate", challenge)
}

// storageRetry is the time after which a full disk may have room again: a person must empty it.
const storageRetry = time.Minute

// RetryAfter returns the time to wait before the next try, or 0. A used-up quota lasts as long as its window.
func RetryAfter(e *loci.Error, q *op.Quota) time.Duration {
	status := e.Code.Status()
	switch {
	case e.RetryAfter > 0:
		return e.RetryAfter
	case e.Code == loci.CodeQuotaExceeded && q != nil && q.Reset > 0:
		return q.Reset
	case e.Code == loci.CodeStorageFull:
		return storageRetry
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return time.Second
	}
	return 0
}

// SetQuotaHeaders sets the state of the caller's operations, if it is known.
func SetQuotaHeaders(h http.Header, q *op.Quota) {
	if q == nil {
		return
	}
	// The names are in the canonical form of net/http: Set allocates memory for another one.
	h.Set("Ratelimit-Limit", strconv.FormatInt(q.Limit, 10))
	h.Set("Ratelimit-Remaining", strconv.FormatInt(max(0, q.Remaining), 10))
	h.Set("Ratelimit-Reset", ceilSeconds(q.Reset))
}

// ceilSeconds rounds up, to 1 at least.
func ceilSeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
