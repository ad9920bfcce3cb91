package httpapi

import (
	"io"
	"net/http"
	"time"
)

// WithBodyDeadlines returns a handler that closes the connection of a slow request. Its body is slow if nothing arrives
// for idle, or not all within total.
func WithBodyDeadlines(h http.Handler, idle, total time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		now := time.Now()
		b := &deadlineBody{ReadCloser: r.Body, controller: http.NewResponseController(w), idle: idle,
			lastDeadline: now.Add(total)}
		b.extend(now)
		wrapped := *r // the server keeps the body of its own request
		wrapped.Body = b
		h.ServeHTTP(w, &wrapped)
	})
}

// A deadlineBody moves the deadline of its connection while it is read.
type deadlineBody struct {
	io.ReadCloser
	controller             *http.ResponseController
	idle                   time.Duration
	deadline, lastDeadline time.Time // the deadline, and the last one that it can have
	rate                   int64     // 0, or the bytes that move lastDeadline by a second
	bytes                  int64     // since rate was set
	final                  bool      // the deadline does not move any more
	onEnd                  func()    // nil, or called at the end of the body
}

func (b *deadlineBody) Read(p []byte) (n int, err error) {
	if !b.final {
		// One that is far enough away stays: moving it costs more than a small read.
		if now := time.Now(); b.deadline.Sub(now) < b.idle*2/3 {
			b.extend(now)
		}
	}
	n, err = b.ReadCloser.Read(p)
	b.bytes += int64(n)
	if err != io.EOF {
		return n, err
	}
	if !b.final {
		b.setFinal(time.Time{}) // the client has finished: a deadline would end the context of a slow handler
	}
	if b.onEnd != nil {
		b.onEnd()
		b.onEnd = nil
	}
	return n, err
}

func (b *deadlineBody) extend(now time.Time) {
	last := b.lastDeadline
	if b.rate > 0 {
		last = last.Add(time.Duration(b.bytes/b.rate) * time.Second)
	}
	if b.deadline = now.Add(b.idle); b.deadline.After(last) {
		b.deadline = last
	}
	_ = b.controller.SetReadDeadline(b.deadline) // a writer of a test has no connection
}

func (b *deadlineBody) setFinal(deadline time.Time) {
	b.final = true
	_ = b.controller.SetReadDeadline(deadline)
}

// SetBodyRate gives the rest of a request's body a grace to arrive, and a second for each rate bytes of it. It may
// pause for the grace, too.
func SetBodyRate(r *http.Request, grace time.Duration, rate int64) {
	if b, ok := r.Body.(*deadlineBody); ok && !b.final {
		now := time.Now()
		b.idle, b.lastDeadline, b.rate, b.bytes = grace, now.Add(grace), rate, 0
		b.extend(now)
	}
}

// SetBodyTimeout gives the whole body of a request so long to arrive, from now.
func SetBodyTimeout(r *http.Request, total time.Duration) {
	if b, ok := r.Body.(*deadlineBody); ok && !b.final {
		now := time.Now()
		b.lastDeadline = now.Add(total)
		b.extend(now)
	}
}

// OnBodyEnd reports whether a request has a body, and lets its end be reported.
func OnBodyEnd(r *http.Request, end func()) bool {
	b, ok := r.Body.(*deadlineBody)
	if ok {
		b.onEnd = end
	}
	return ok
}

// SetBodyDeadline gives the rest of a request's body so long to arrive, however it arrives.
func SetBodyDeadline(w http.ResponseWriter, r *http.Request, d time.Duration) {
	deadline := time.Now().Add(d)
	if b, ok := r.Body.(*deadlineBody); ok {
		b.setFinal(deadline)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(deadline) // a writer of a test has no connection
}
