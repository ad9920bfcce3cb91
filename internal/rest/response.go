package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

var (
	contentTypeJSON = []string{"application/json"}
	headerTrue      = []string{"true"}
	bearerChallenge = []string{"Bearer"}
)

// autoContentLength is the most bytes of an answer of which net/http finds out the
// length itself. With one header less, a usual answer has eight: as many as a
// map holds before it grows.
const autoContentLength = 2000

var bufferPool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// releaseBuffer keeps a buffer for the next answer, unless it has become large.
func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		bufferPool.Put(b)
	}
}

// A cookieSetter output changes what the browser keeps.
type cookieSetter interface{ Cookie() loci.SignIn }

// writeOutput writes the output of an operation. One that reads can be asked again.
func (d *handler) writeOutput(w http.ResponseWriter, r *http.Request, c *op.Call, out any, reads bool) {
	h := w.Header()
	if t, ok := out.(op.Tagged); ok {
		tag := t.ETag()
		h["Etag"] = []string{tag}
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && etagMatches(r.Header["If-None-Match"], tag) {
			setQuotaHeaders(h, c.Quota)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := bufferPool.Get().(*bytes.Buffer)
	defer releaseBuffer(body)
	if err := op.EncodeTo(body, out); err != nil {
		d.Log.ErrorContext(r.Context(), "answer", "request", c.RequestID, "err", err)
		d.writeError(w, r, c, err)
		return
	}
	end, err := d.ResponseLimiter.Acquire(r.Context(), c.UserID, body.Len(), reads)
	if err != nil {
		d.writeError(w, r, c, err)
		return
	}
	defer end()
	setQuotaHeaders(h, c.Quota)
	if c.Replayed {
		h["Idempotency-Replayed"] = headerTrue
	}
	if s, ok := out.(cookieSetter); ok {
		http.SetCookie(w, d.newCookie(r, s.Cookie()))
	}
	h["Content-Type"] = contentTypeJSON
	if body.Len() > autoContentLength {
		h["Content-Length"] = []string{strconv.Itoa(body.Len())}
	}
	if made, ok := out.(op.Created); ok && made.Created() {
		w.WriteHeader(http.StatusCreated)
	}
	w.Write(body.Bytes())
}

// writeError writes an error, unless there is nobody left to read it.
func (d *handler) writeError(w http.ResponseWriter, r *http.Request, c *op.Call, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	h := w.Header()
	e := loci.AsError(err)
	status := e.Code.Status()
	setQuotaHeaders(h, c.Quota)
	if wait := retryAfter(e, c.Quota); wait > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(ceilSeconds(wait), 10)}
	}
	if status == http.StatusUnauthorized {
		h["Www-Authenticate"] = bearerChallenge
	}
	b := bufferPool.Get().(*bytes.Buffer)
	defer releaseBuffer(b)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	// A problem is made of texts, which always encode.
	_ = enc.Encode(op.NewErrorBody(e, h["X-Request-Id"][0]))
	delete(h, "Etag")
	h["Content-Type"] = contentTypeJSON
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// retryAfter returns how long the client should wait before it tries again; 0
// says nothing. A used-up quota lasts as long as its window.
func retryAfter(e *loci.Error, q *op.Quota) time.Duration {
	status := e.Code.Status()
	switch {
	case e.RetryAfter > 0:
		return e.RetryAfter
	case e.Code == loci.CodeQuotaExceeded && q != nil && q.Reset > 0:
		return q.Reset
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return time.Second
	}
	return 0
}

// setQuotaHeaders tells an admitted caller what is left.
func setQuotaHeaders(h http.Header, q *op.Quota) {
	if q == nil {
		return
	}
	// The three are cut from one text, because each allocation counts here.
	var b [64]byte
	limit := strconv.AppendInt(b[:0], q.Limit, 10)
	left := strconv.AppendInt(limit, max(0, q.Remaining), 10)
	text := string(strconv.AppendInt(left, ceilSeconds(q.Reset), 10))
	v := [3]string{text[:len(limit)], text[len(limit):len(left)], text[len(left):]}
	h["Ratelimit-Limit"], h["Ratelimit-Remaining"], h["Ratelimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
}

// ceilSeconds rounds up, to 1 at least.
func ceilSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }

func (d *handler) newCookie(r *http.Request, s loci.SignIn) *http.Cookie {
	age := int(s.MaxAge / time.Second)
	if s.Secret == "" || age <= 0 {
		age = -1
	}
	name := d.cookieName(r)
	return &http.Cookie{
		Name: name, Value: s.Secret, Path: "/", MaxAge: age,
		Secure: name == secureCookieName, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// etagMatches reports whether If-None-Match names the tag, by the weak comparison
// of RFC 9110, section 13.1.2. A comma within a tag only splits it into what
// is no tag of ours.
func etagMatches(lines []string, tag string) bool {
	for _, line := range lines {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
