package rest

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

var (
	contentTypeJSON = []string{"application/json"}
	headerTrue      = []string{"true"}
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
			httpapi.SetQuotaHeaders(h, c.Quota)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := bufferPool.Get().(*bytes.Buffer)
	defer releaseBuffer(body)
	if err := op.EncodeTo(body, out); err != nil {
		d.Log.ErrorContext(r.Context(), "answer", "request", c.RequestID, "err", err)
		httpapi.WriteError(w, r, c.Quota, err)
		return
	}
	end, err := d.ResponseLimiter.Acquire(r.Context(), c.UserID, body.Len(), reads)
	if err != nil {
		httpapi.WriteError(w, r, c.Quota, err)
		return
	}
	defer end()
	httpapi.SetQuotaHeaders(h, c.Quota)
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
