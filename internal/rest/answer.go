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
	typeJSON  = []string{"application/json"}
	yes       = []string{"true"}
	challenge = []string{"Bearer"}
)

// bufferedByHTTP is the most bytes of an answer of which net/http finds out the
// length itself. With one header less, a usual answer has eight: as many as a
// map holds before it grows.
const bufferedByHTTP = 2000

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// giveBack keeps a buffer for the next answer, unless it has become large.
func giveBack(b *bytes.Buffer) {
	if b.Cap() <= keepBody {
		b.Reset()
		buffers.Put(b)
	}
}

// A cookied output changes what the browser keeps.
type cookied interface{ Cookie() loci.Session }

// reply writes the output of an operation. One that reads can be asked again.
func (d *door) reply(w http.ResponseWriter, r *http.Request, c *op.Call, out any, reads bool) {
	h := w.Header()
	if t, ok := out.(op.Tagged); ok {
		tag := t.ETag()
		h["Etag"] = []string{tag}
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && matches(r.Header["If-None-Match"], tag) {
			quota(h, c.Quota)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := buffers.Get().(*bytes.Buffer)
	defer giveBack(body)
	if err := op.EncodeTo(body, out); err != nil {
		d.Log.ErrorContext(r.Context(), "answer", "request", c.RequestID, "err", err)
		d.fail(w, r, c, err)
		return
	}
	end, err := d.Flow.Begin(r.Context(), c.UserID, body.Len(), reads)
	if err != nil {
		d.fail(w, r, c, err)
		return
	}
	defer end()
	quota(h, c.Quota)
	if c.Replayed {
		h["Idempotency-Replayed"] = yes
	}
	if s, ok := out.(cookied); ok {
		http.SetCookie(w, d.cookie(r, s.Cookie()))
	}
	h["Content-Type"] = typeJSON
	if body.Len() > bufferedByHTTP {
		h["Content-Length"] = []string{strconv.Itoa(body.Len())}
	}
	if made, ok := out.(op.Created); ok && made.Created() {
		w.WriteHeader(http.StatusCreated)
	}
	w.Write(body.Bytes())
}

// fail writes an error, unless there is nobody left to read it.
func (d *door) fail(w http.ResponseWriter, r *http.Request, c *op.Call, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	h := w.Header()
	e := loci.AsError(err)
	status := e.Code.Status()
	quota(h, c.Quota)
	if wait := patience(e, c.Quota); wait > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(wholeSeconds(wait), 10)}
	}
	if status == http.StatusUnauthorized {
		h["Www-Authenticate"] = challenge
	}
	b := buffers.Get().(*bytes.Buffer)
	defer giveBack(b)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	// A problem is made of texts, which always encode.
	_ = enc.Encode(op.NewProblem(e, h["X-Request-Id"][0]))
	delete(h, "Etag")
	h["Content-Type"] = typeJSON
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// patience returns how long the client should wait before it tries again; 0
// says nothing. A used-up quota lasts as long as its window.
func patience(e *loci.Error, q *op.Quota) time.Duration {
	status := e.Code.Status()
	switch {
	case e.Retry > 0:
		return e.Retry
	case e.Code == loci.QuotaExceeded && q != nil && q.Reset > 0:
		return q.Reset
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return time.Second
	}
	return 0
}

// quota tells an admitted caller what is left.
func quota(h http.Header, q *op.Quota) {
	if q == nil {
		return
	}
	// The three are cut from one text, because each allocation counts here.
	var b [64]byte
	limit := strconv.AppendInt(b[:0], q.Limit, 10)
	left := strconv.AppendInt(limit, max(0, q.Remaining), 10)
	text := string(strconv.AppendInt(left, wholeSeconds(q.Reset), 10))
	v := [3]string{text[:len(limit)], text[len(limit):len(left)], text[len(left):]}
	h["Ratelimit-Limit"], h["Ratelimit-Remaining"], h["Ratelimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
}

// wholeSeconds rounds up, to 1 at least.
func wholeSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }

func (d *door) cookie(r *http.Request, s loci.Session) *http.Cookie {
	age := int(s.MaxAge / time.Second)
	if s.Secret == "" || age <= 0 {
		age = -1
	}
	name := d.cookieName(r)
	return &http.Cookie{
		Name: name, Value: s.Secret, Path: "/", MaxAge: age,
		Secure: name == secureCookie, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// matches reports whether If-None-Match names the tag, by the weak comparison
// of RFC 9110, section 13.1.2. A comma within a tag only splits it into what
// is no tag of ours.
func matches(lines []string, tag string) bool {
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
