package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// readers are the connections that read. Whoever comes next gets the one that came
// back last: its pages are still mapped, and near the processor.
type readers struct {
	free chan struct{} // one for each that nobody has
	mu   sync.Mutex
	idle []*sqliteConn // nil where it was not needed yet
}

func newReaders(n int) *readers {
	r := &readers{free: make(chan struct{}, n), idle: make([]*sqliteConn, n)}
	for range n {
		r.free <- struct{}{}
	}
	return r
}

func (r *readers) len() int { return cap(r.free) }

// get is for who has received from free.
func (r *readers) get() *sqliteConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.idle) - 1
	c := r.idle[last]
	r.idle = r.idle[:last]
	return c
}

func (r *readers) put(c *sqliteConn) {
	r.mu.Lock()
	r.idle = append(r.idle, c)
	r.mu.Unlock()
	r.free <- struct{}{}
}

// reader takes a reader, nil where it is not connected yet; it must be put back.
func (d *sqliteFile) reader(ctx context.Context) (*sqliteConn, error) {
	select {
	case <-d.over:
		return nil, errClosed
	default:
	}
	select {
	case <-d.readers.free:
		return d.readers.get(), nil
	default:
	}
	wait := time.NewTimer(d.patience)
	defer wait.Stop()
	select {
	case <-d.readers.free:
		return d.readers.get(), nil
	case <-d.over:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, busy(errors.New("store: every reader is taken"))
	}
}
