package httpapi

import (
	"io"
	"net/http"
	"time"
)

// PaceBodies returns a handler whose requests lose their connection when nothing of
// their body arrives for idle, or when not all of it has arrived after whole.
func PaceBodies(h http.Handler, idle, whole time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		now := time.Now()
		b := &pacedBody{ReadCloser: r.Body, conn: http.NewResponseController(w), idle: idle, end: now.Add(whole)}
		b.move(now)
		paced := *r // the server keeps the body of its own request
		paced.Body = b
		h.ServeHTTP(w, &paced)
	})
}

// A pacedBody moves the deadline of its connection while it is read.
type pacedBody struct {
	io.ReadCloser
	conn       *http.ResponseController
	idle       time.Duration
	until, end time.Time // the deadline, and the last one that it can have
	fixed      bool      // the deadline does not move any more
}

func (b *pacedBody) Read(p []byte) (n int, err error) {
	if !b.fixed {
		// One that is far enough away stays: moving it costs more than a small read.
		if now := time.Now(); b.until.Sub(now) < b.idle*2/3 {
			b.move(now)
		}
	}
	n, err = b.ReadCloser.Read(p)
	if err == io.EOF && !b.fixed {
		b.fix(b.end) // what follows is the handler's time, not the client's
	}
	return n, err
}

func (b *pacedBody) move(now time.Time) {
	if b.until = now.Add(b.idle); b.until.After(b.end) {
		b.until = b.end
	}
	_ = b.conn.SetReadDeadline(b.until) // a writer of a test has no connection
}

func (b *pacedBody) fix(until time.Time) {
	b.fixed = true
	_ = b.conn.SetReadDeadline(until)
}

// EndBody gives the rest of a request's body so long to arrive, however it arrives.
func EndBody(w http.ResponseWriter, r *http.Request, d time.Duration) {
	until := time.Now().Add(d)
	if b, ok := r.Body.(*pacedBody); ok {
		b.fix(until)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(until) // a writer of a test has no connection
}
