package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/sqldb"
)

// readerPool shares the reading connections fairly between users. It is last in, first out: the pages of the
// connection that was returned last are still in the caches.
type readerPool struct {
	*limit.Semaphore[string] // by user
	mu                       sync.Mutex
	idle                     []*conn // nil if not connected
}

// readerCount returns the number of connections that read an SQLite database.
func readerCount() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

func newReaderPool(n int) *readerPool {
	return &readerPool{Semaphore: limit.NewSlots[string](n), idle: make([]*conn, n)}
}

// get returns a connection, or nil if that is not connected. The caller must hold a slot.
func (r *readerPool) get() *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.idle) - 1
	c := r.idle[last]
	r.idle = r.idle[:last]
	return c
}

// put returns a connection and its slot. A nil connection is the last to be used again.
func (r *readerPool) put(c *conn, user string) {
	r.mu.Lock()
	if c == nil {
		r.idle = slices.Insert(r.idle, 0, nil)
	} else {
		r.idle = append(r.idle, c)
	}
	r.mu.Unlock()
	r.Release(user, 1)
}

// connectReaders connects all readers at the start, while file descriptors are free.
func (d *database) connectReaders() (err error) {
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

func (d *database) connectReader() (*conn, error) {
	// The last pragma reads, which opens the write-ahead log too.
	return d.connect(d.dsn+"&mode=ro", `PRAGMA query_only = ON`, `PRAGMA cache_size = -2000`, `PRAGMA schema_version`)
}

// reconnectInterval is the pause between two attempts to connect a reader.
const reconnectInterval = 20 * time.Millisecond

// acquireReader returns a connected reader, which the caller must put back. It connects a lost reader again. While
// that fails, as without a free file descriptor, it waits for a reader in use.
func (d *database) acquireReader(ctx context.Context, user string) (*conn, error) {
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
			return nil, sqldb.NewBusyError(err)
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

// waitForReader takes a slot of the pool and its reader, which is nil if not connected.
func (d *database) waitForReader(ctx context.Context, user string) (*conn, error) {
	select {
	case <-d.closed:
		return nil, errClosed
	default:
	}
	w := d.readers.Request(0, user, 1)
	if w == nil {
		return d.readers.get(), nil
	}
	d.waitCount.Add(1)
	wait := time.NewTimer(d.busyTimeout)
	defer wait.Stop()
	var err error
	select {
	case <-w.Granted:
		return d.readers.get(), nil
	case <-d.closed:
		err = errClosed
	case <-ctx.Done():
		err = ctx.Err()
	case <-wait.C:
		err = sqldb.NewBusyError(errors.New("sqldb: every reader is taken"))
	}
	d.readers.Cancel(w)
	return nil, err
}

// Limits of the write-ahead log's size, and of the wait for readers before a checkpoint.
const (
	maxWALSize     = 64 << 20
	maxReaderPause = 50 * time.Millisecond
)

// checkpointIfLarge truncates a large write-ahead log. SQLite resets the log only while no connection reads. That does
// not happen under a constant load (https://sqlite.org/wal.html, "Avoiding Excessively Large WAL Files"). So the
// readers of this process pause. The writer calls it after a commit.
func (d *database) checkpointIfLarge() {
	size := fileSize(d.path + "-wal")
	if size > d.walSize.Load() {
		d.walSize.Store(size)
	}
	if size < d.checkpointAt || d.displaced.Load() {
		return
	}
	d.checkpointAt = size + d.maxWALSize/4 // for the next attempt
	held := d.pauseReaders()
	if len(held) == d.readers.Total() && d.truncateWAL() {
		d.checkpointAt = d.maxWALSize
	}
	for _, c := range slices.Backward(held) {
		d.readers.put(c, "")
	}
}

// pauseReaders takes the readers that are free within maxReaderPause.
func (d *database) pauseReaders() (held []*conn) {
	wait := time.NewTimer(maxReaderPause)
	defer wait.Stop()
	for range d.readers.Total() {
		if w := d.readers.Request(0, "", 1); w != nil {
			select {
			case <-w.Granted:
			case <-wait.C:
				d.readers.Cancel(w)
				return held
			}
		}
		held = append(held, d.readers.get())
	}
	return held
}

// truncateWAL copies the log into the file and empties it. It reports false if another process reads, or the disk
// fails.
func (d *database) truncateWAL() bool {
	c := d.writer.conn
	err := c.setBusyTimeout(maxReaderPause)
	busy, failed := c.checkpoint()
	err = errors.Join(err, failed, c.setBusyTimeout(d.busyTimeout))
	if err != nil && d.log != nil {
		d.log.Error("the write-ahead log cannot be copied into the database", "err", err)
	}
	return err == nil && !busy
}

func (c *conn) setBusyTimeout(d time.Duration) error {
	_, err := c.Exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.Milliseconds()), nil)
	return err
}

// checkpoint copies the write-ahead log into the file and truncates it. It reports whether other connections
// prevented that.
func (c *conn) checkpoint() (busy bool, err error) {
	var frames, done int
	err = c.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&busy, &frames, &done})
	return busy, err
}
