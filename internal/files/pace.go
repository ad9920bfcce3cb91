package files

import (
	"errors"
	"io"
	"math"
	"net/http"
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

// A pacedWriter moves the deadline of its connection with the bytes that the client reads. It ends a download that
// check refuses.
type pacedWriter struct {
	http.ResponseWriter
	clock             loci.Clock // of checked; deadlines follow the machine's clock
	check             func() error
	checked, deadline time.Time
	moved             int64 // bytes so far
	err               error // of check
}

func newPacedWriter(w http.ResponseWriter, clock loci.Clock, check func() error) *pacedWriter {
	return &pacedWriter{ResponseWriter: w, clock: clock, check: check, checked: clock()}
}

// begin prepares the next part.
func (w *pacedWriter) begin() error {
	if at := w.clock(); w.err == nil && at.Sub(w.checked) >= checkInterval {
		w.err, w.checked = w.check(), at
	}
	timeout := partTimeout
	if w.moved < firstBytes {
		timeout = firstTimeout
	}
	if now := time.Now(); w.deadline.Sub(now) < timeout*9/10 {
		w.setDeadline(now.Add(timeout))
	}
	return w.err
}

func (w *pacedWriter) setDeadline(t time.Time) {
	w.deadline = t
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t) // a test has no connection
}

// end gives the next response of the connection the usual time.
func (w *pacedWriter) end() { w.setDeadline(time.Now().Add(firstTimeout)) }

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
