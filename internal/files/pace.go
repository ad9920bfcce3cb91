package files

import (
	"io"
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
)

// A transfer moves minRate bytes a second on average, after a grace. A fast one may pause for the grace, too.
const (
	minRate = 1 << 10
	grace   = 30 * time.Second
)

// A pacedBody moves the deadline of its connection with the bytes that arrive.
type pacedBody struct {
	io.Reader
	controller      *http.ResponseController
	start, deadline time.Time
	bytes           int64
}

func newPacedBody(w http.ResponseWriter, r *http.Request) *pacedBody {
	httpapi.SetBodyDeadline(w, r, grace)
	now := time.Now()
	return &pacedBody{Reader: r.Body, controller: http.NewResponseController(w), start: now, deadline: now.Add(grace)}
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.bytes += int64(n)
	now := time.Now()
	if err != nil || b.deadline.Sub(now) > grace*2/3 { // moving one that is far away costs more than a small read
		return n, err
	}
	b.deadline = b.start.Add(grace + time.Duration(b.bytes/minRate)*time.Second)
	if latest := now.Add(grace); b.deadline.After(latest) {
		b.deadline = latest
	}
	_ = b.controller.SetReadDeadline(b.deadline) // a writer of a test has no connection
	return n, nil
}

// A part of a download is written within partTimeout: the client reads at least minRate bytes a second, and some of the
// part may be in the buffers of the system.
const (
	partSize    = 128 << 10
	partTimeout = 180 * time.Second
)

// A client that reads fastBytes within a second gets larger parts, for which the system has a larger buffer, of up to
// 4 MB. It wakes the writer when a third of it is free, so the timeout is longer.
const (
	fastBytes   = 4 << 20
	fastPart    = 512 << 10
	fastTimeout = 40 * time.Minute
)

// checkInterval is how often a running download is checked.
const checkInterval = time.Second

// A pacedWriter moves the deadline of its connection with the bytes that the client reads. It ends a download that
// check refuses.
type pacedWriter struct {
	http.ResponseWriter
	controller        *http.ResponseController
	check             func() error
	checked, deadline time.Time
	moved             int64 // bytes since checked
	fast              bool
	err               error // of check
}

func newPacedWriter(w http.ResponseWriter, check func() error) *pacedWriter {
	return &pacedWriter{ResponseWriter: w, controller: http.NewResponseController(w), check: check, checked: time.Now()}
}

// begin prepares the next part, and returns its size.
func (w *pacedWriter) begin() (int64, error) {
	now := time.Now()
	if w.err == nil && now.Sub(w.checked) >= checkInterval {
		w.err, w.checked, w.moved = w.check(), now, 0
	}
	w.fast = w.fast || w.moved >= fastBytes
	size, timeout := int64(partSize), partTimeout
	if w.fast {
		size, timeout = fastPart, fastTimeout
	}
	if w.deadline.Sub(now) < timeout*9/10 {
		w.deadline = now.Add(timeout)
		_ = w.controller.SetWriteDeadline(w.deadline) // a writer of a test has no connection
	}
	return size, w.err
}

func (w *pacedWriter) Write(p []byte) (n int, err error) {
	for first := true; first || n < len(p); first = false {
		size, err := w.begin()
		if err != nil {
			return n, err
		}
		m, err := w.ResponseWriter.Write(p[n:min(n+int(size), len(p))])
		w.moved += int64(m)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// ReadFrom lets the system send a file: its bytes do not pass through the process.
func (w *pacedWriter) ReadFrom(r io.Reader) (n int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	to, direct := w.ResponseWriter.(io.ReaderFrom)
	if !ok || !direct {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	for limited.N > 0 {
		size, err := w.begin()
		if err != nil {
			return n, err
		}
		part := &io.LimitedReader{R: limited.R, N: min(size, limited.N)}
		m, err := to.ReadFrom(part)
		w.moved += m
		n += m
		if limited.N -= m; err != nil || m == 0 {
			return n, err
		}
	}
	return n, nil
}
