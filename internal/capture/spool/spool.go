package spool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci/internal/capture"
)

const (
	// maxBytes bounds the events of a spool: above it the oldest are dropped.
	maxBytes = 16 << 20
	// slack is the room that dropping makes at once, so that not every event moves the others.
	slack = 1 << 20
	// lockTimeout is far longer than a change takes: another process hangs.
	lockTimeout = 2 * time.Second
	lockPoll    = 2 * time.Millisecond
)

// ErrBusy reports that another process holds the lock of a spool.
var ErrBusy = errors.New("another process holds the lock of the spool")

// A Spool is a folder of events.
type Spool struct {
	dir   string
	limit int64
	now   func() time.Time
}

// Open returns the spool in a folder, which it makes.
func Open(dir string) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Spool{dir: dir, limit: maxBytes, now: time.Now}, os.Chmod(dir, 0o700)
}

func (s *Spool) path(name string) string { return filepath.Join(s.dir, name) }

// locked runs change while no other process reads or changes the events.
func (s *Spool) locked(ctx context.Context, change func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	unlock, err := s.lock(ctx, "lock")
	if err != nil {
		return err
	}
	defer unlock()
	return change()
}

// lock waits for a lock until ctx ends.
func (s *Spool) lock(ctx context.Context, name string) (unlock func() error, err error) {
	l := flock.New(s.path(name), flock.SetPermissions(0o600))
	ok, err := l.TryLockContext(ctx, lockPoll)
	switch {
	case ok:
		return l.Unlock, nil
	case err == nil || ctx.Err() != nil:
		return nil, errors.Join(ErrBusy, l.Close())
	}
	return nil, errors.Join(err, l.Close())
}

// Append adds events to the end. If it returns nil, they survive the end of the process.
func (s *Spool) Append(ctx context.Context, events ...capture.Event) error {
	var lines []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("the event %s cannot be written: %w", e.Input.EventID, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if len(lines) == 0 {
		return nil
	}
	return s.locked(ctx, func() error { return s.append(lines) })
}

func (s *Spool) append(lines []byte) (err error) {
	if info, err := os.Stat(s.path(eventsFile)); err == nil && info.Size()+int64(len(lines)) >= s.limit {
		if err := s.makeRoom(int64(len(lines))); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(s.path(eventsFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	switch {
	case size == 0: // all was delivered: the old offset would skip new events
		if st := s.loadState(); st.Done > 0 {
			st.Done = 0
			if err := s.saveState(st); err != nil {
				return err
			}
		}
	case !endsLine(f, size): // another process was killed as it wrote
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err = f.Write(lines); err != nil { // such as a full disk: remove the part that was written
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

func endsLine(f *os.File, size int64) bool {
	var last [1]byte
	_, err := f.ReadAt(last[:], size-1)
	return err == nil && last[0] == '\n'
}

// makeRoom writes the events anew without those that are done, and without the oldest, so that n bytes more have room.
func (s *Spool) makeRoom(n int64) error {
	st := s.loadState()
	rest, dropped, err := s.newest(st.Done, s.limit-min(slack, s.limit/16)-n)
	if err != nil {
		return err
	}
	next := s.path(eventsFile + ".new")
	if err := writeFile(next, rest); err != nil {
		return err
	}
	if st.Done = 0; dropped > 0 {
		st.Dropped, st.LastLoss = st.Dropped+dropped, s.now().UTC().Round(time.Second)
	}
	if err := s.saveState(st); err != nil {
		return err
	}
	return os.Rename(next, s.path(eventsFile))
}

// newest returns the last lines from an offset on, of at most limit bytes, and the number of events before them.
func (s *Spool) newest(offset, limit int64) (rest []byte, dropped int64, err error) {
	f, err := s.open()
	if f == nil {
		return nil, 0, err
	}
	defer f.Close()
	r := newReader(f, offset)
	for r.size-r.offset > limit {
		_, _, err := r.next()
		if err == io.EOF {
			return nil, dropped, nil
		}
		if err != nil {
			return nil, 0, err
		}
		dropped++
	}
	rest = make([]byte, r.size-r.offset)
	if _, err = f.ReadAt(rest, r.offset); err == io.EOF {
		err = nil
	}
	return rest, dropped, err
}

// writeFile writes a file of mode 0600, and removes what it could not finish.
func writeFile(path string, b []byte) error {
	err := os.WriteFile(path, b, 0o600)
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// open returns the events, or nil without any.
func (s *Spool) open() (*os.File, error) {
	f, err := os.OpenFile(s.path(eventsFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}
