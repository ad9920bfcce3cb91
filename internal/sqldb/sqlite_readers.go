package sqldb

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// readerPool has the read connections, shared fairly between users. The next
// caller gets the connection that was returned last: its pages are still
// mapped, and in the processor's caches.
type readerPool struct {
	*semaphore
	mu   sync.Mutex
	idle []*sqliteConn // nil where its connection was lost
}

func newReaderPool(n int) *readerPool {
	return &readerPool{semaphore: newSemaphore(n), idle: make([]*sqliteConn, n)}
}

func (r *readerPool) len() int { return r.capacity }

// get is for who holds a place.
func (r *readerPool) get() *sqliteConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.idle) - 1
	c := r.idle[last]
	r.idle = r.idle[:last]
	return c
}

// put gives a reader back. One that is not connected is the last to be taken.
func (r *readerPool) put(c *sqliteConn, user string) {
	r.mu.Lock()
	if c == nil {
		r.idle = slices.Insert(r.idle, 0, nil)
	} else {
		r.idle = append(r.idle, c)
	}
	r.mu.Unlock()
	r.release(user)
}

// connectReaders connects every reader, while there are file descriptors for them.
func (d *sqliteDB) connectReaders() (err error) {
	for i := range d.readers.idle {
		if d.readers.idle[i], err = d.connectReader(); err != nil {
			for _, c := range d.readers.idle[:i] {
				err = errors.Join(err, c.close())
			}
			return err
		}
	}
	return nil
}

func (d *sqliteDB) connectReader() (*sqliteConn, error) {
	// The last one reads, which opens the write-ahead log too.
	return d.connect(`PRAGMA query_only = ON`, `PRAGMA cache_size = -2000`, `PRAGMA schema_version`)
}

// reconnectInterval is the pause between two tries to connect a reader.
const reconnectInterval = 20 * time.Millisecond

// acquireReader takes a reader that is connected. It must be put back. A reader whose
// connection was lost is connected again; while that fails, as without a free file
// descriptor, the caller waits for one that is in use.
func (d *sqliteDB) acquireReader(ctx context.Context, user string) (*sqliteConn, error) {
	for until := time.Now().Add(d.busyTimeout); ; {
		c, err := d.waitForReader(ctx, user)
		if err != nil || c != nil {
			return c, err
		}
		if c, err = d.connectReader(); err == nil {
			return c, nil
		}
		d.readers.put(nil, user)
		if time.Now().After(until) {
			return nil, BusyError(err)
		}
		select {
		case <-time.After(reconnectInterval):
		case <-d.closed:
			return nil, errClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// waitForReader takes a reader, nil where it is not connected; it must be put back.
func (d *sqliteDB) waitForReader(ctx context.Context, user string) (*sqliteConn, error) {
	select {
	case <-d.closed:
		return nil, errClosed
	default:
	}
	t := d.readers.acquire(user)
	if t == nil {
		return d.readers.get(), nil
	}
	d.waitCount.Add(1)
	wait := time.NewTimer(d.busyTimeout)
	defer wait.Stop()
	var err error
	select {
	case <-t.granted:
		return d.readers.get(), nil
	case <-d.closed:
		err = errClosed
	case <-ctx.Done():
		err = ctx.Err()
	case <-wait.C:
		err = BusyError(errors.New("sqldb: every reader is taken"))
	}
	d.readers.cancel(user, t)
	return nil, err
}
