package contextio

import (
	"io"
	"sync"
)

// An Endable reads a reader until End. Afterwards no Read runs, and the reader belongs to the caller again: an HTTP
// client may read the body of a request on after its response.
type Endable struct {
	mu    sync.Mutex
	r     io.Reader
	ended bool
}

// NewEndable returns a reader of r.
func NewEndable(r io.Reader) *Endable { return &Endable{r: r} }

// Read implements io.Reader. After End it returns io.ErrClosedPipe.
func (e *Endable) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return 0, io.ErrClosedPipe
	}
	return e.r.Read(p)
}

// End waits for a Read that runs, and ends all later ones.
func (e *Endable) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
}
