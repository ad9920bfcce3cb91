package files

import (
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// An upload moves minRate bytes a second on average, after a grace. A fast one may pause for the grace, too.
const (
	minRate = 1 << 10
	grace   = 30 * time.Second
)

// The system accepts a part of a download once a third of its write buffer of up to 4 MB is free (tcp(7)). A client
// that reads minRate bytes a second needs 23 minutes for that.
const (
	partSize    = 128 << 10
	partTimeout = 25 * time.Minute
)

// A client that stops at the beginning has less time: the write buffer is small until firstBytes have moved.
const (
	firstBytes   = 4 << 20
	firstTimeout = 3 * time.Minute
)

// checkInterval is how often a running download is checked.
const checkInterval = time.Second

// errStopped is the error of a download that has lost its place to another transfer.
var errStopped = loci.NewError(loci.CodeRateLimited)

// A pacedWriter moves the deadline of its connection with the bytes that the client reads. It ends a download that
// check refuses.
type pacedWriter struct {
	http.ResponseWriter
	clock   loci.Clock   // of checked; deadlines follow the machine's clock
	check   func() error // called now and then
	waits   func()       // called before each part
	checked time.Time
	moved   int64 // bytes so far
	err     error // of check

	mu       sync.Mutex // of the following, which stop changes too
	deadline time.Time
	stopped  bool
}

func newPacedWriter(w http.ResponseWriter, clock loci.Clock) *pacedWriter {
	return &pacedWriter{ResponseWriter: w, clock: clock, checked: clock()}
}

// begin prepares the next part.
func (w *pacedWriter) begin() error {
	if at := w.clock(); w.err == nil && at.Sub(w.checked) >= checkInterval {
		w.err, w.checked = w.check(), at
	}
	w.waits()
	timeout := partTimeout
	if w.moved < firstBytes {
		timeout = firstTimeout
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		w.err = errStopped
	} else if now := time.Now(); w.deadline.Sub(now) < timeout*9/10 {
		w.setDeadline(now.Add(timeout))
	}
	return w.err
}

func (w *pacedWriter) setDeadline(t time.Time) {
	w.deadline = t
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t) // a test has no connection
}

// stop ends a download, also while it waits for the client.
func (w *pacedWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.setDeadline(time.Now())
}

// end gives the next response of the connection the usual time. It returns the error of a download that has ended
// early.
func (w *pacedWriter) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return errStopped
	}
	w.setDeadline(time.Now().Add(firstTimeout))
	return w.err
}

// ReadFrom lets the system send a file: its bytes do not pass through the process. http.ServeContent writes by it.
func (w *pacedWriter) ReadFrom(r io.Reader) (n int64, err error) {
	source, ok := r.(*io.LimitedReader)
	if !ok {
		source = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	for source.N > 0 {
		if err := w.begin(); err != nil {
			return n, err
		}
		m, err := io.CopyN(w.ResponseWriter, source.R, min(partSize, source.N))
		n, source.N, w.moved = n+m, source.N-m, w.moved+m
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
