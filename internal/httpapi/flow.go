package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of the answers that are being written to one user, in bytes.
const (
	smallAnswer = 32 << 10 // which is not counted: most of it fits into the buffers of a connection
	mostWriting = 16 << 20 // four of the largest pages
	mostWaiting = 16 << 20 // of answers that wait for those to end
)

// flowWait is how long an answer waits for others to be read.
const flowWait = 2 * time.Second

// A Flow bounds the bytes of answers in memory that their readers have not taken
// yet. It counts by user: one may have any number of credentials. A nil Flow has
// no bounds.
type Flow struct {
	mu    sync.Mutex
	users map[string]*answers
}

// answers are those of one user.
type answers struct {
	writing, waiting int
	freed            chan struct{} // closed when one has ended
}

// NewFlow returns a Flow without answers.
func NewFlow() *Flow { return &Flow{users: map[string]*answers{}} }

var errFlow = &loci.Error{Code: loci.Unavailable, Retry: flowWait,
	Message: "Your other answers are not read yet: read them, or ask for fewer at once, and try again."}

// Begin counts an answer until end is called. While the answers before it are
// not read, it waits for a moment, and is then refused. An answer that cannot be
// asked for again, because it tells what was written, is never refused.
func (f *Flow) Begin(ctx context.Context, user string, bytes int, repeatable bool) (end func(), err error) {
	if f == nil || bytes <= smallAnswer {
		return func() {}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.users[user]
	if a == nil {
		a = &answers{freed: make(chan struct{})}
		f.users[user] = a
	}
	if repeatable && !a.room(bytes) {
		if err := f.wait(ctx, a, bytes); err != nil {
			f.forget(user, a)
			return nil, err
		}
	}
	a.writing += bytes
	return func() { f.end(user, a, bytes) }, nil
}

func (a *answers) room(bytes int) bool { return a.writing == 0 || a.writing+bytes <= mostWriting }

// wait returns once there is room. It gives the lock of the Flow back meanwhile.
func (f *Flow) wait(ctx context.Context, a *answers, bytes int) error {
	if a.waiting+bytes > mostWaiting {
		return errFlow
	}
	a.waiting += bytes
	defer func() { a.waiting -= bytes }()
	timeout := time.NewTimer(flowWait)
	defer timeout.Stop()
	for !a.room(bytes) {
		freed := a.freed
		f.mu.Unlock()
		var err error
		select {
		case <-freed:
		case <-timeout.C:
			err = errFlow
		case <-ctx.Done():
			err = ctx.Err()
		}
		if f.mu.Lock(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Flow) end(user string, a *answers, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.writing -= bytes
	close(a.freed)
	a.freed = make(chan struct{})
	f.forget(user, a)
}

// forget drops a user without answers.
func (f *Flow) forget(user string, a *answers) {
	if a.writing == 0 && a.waiting == 0 {
		delete(f.users, user)
	}
}
