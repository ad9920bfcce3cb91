package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of the messages of one user, in bytes.
const (
	minLimitedSize = 32 << 10 // which is not counted: most of it fits into the buffers of a connection
	maxInFlight    = 16 << 20 // four of the largest pages
	maxWaiting     = 16 << 20 // of messages that wait for those to end
)

// acquireTimeout is how long a message waits for others to end.
const acquireTimeout = 2 * time.Second

// A ByteLimiter bounds the bytes of messages in memory that a slow client holds there: responses that it has not read
// yet, or bodies that have not arrived yet. It counts by user, because a user may have any number of credentials. A nil
// ByteLimiter has no bounds.
type ByteLimiter struct {
	refusal string
	mu      sync.Mutex
	users   map[loci.ID]*userBytes
}

// userBytes are those of one user.
type userBytes struct {
	inFlight, waiting int
	freed             chan struct{} // closed when a message has ended
}

// NewResponseLimiter returns a limiter of responses.
func NewResponseLimiter() *ByteLimiter {
	return &ByteLimiter{users: map[loci.ID]*userBytes{},
		refusal: "Your other answers are not read yet: read them, or ask for fewer at once, and try again."}
}

// NewBodyLimiter returns a limiter of request bodies.
func NewBodyLimiter() *ByteLimiter {
	return &ByteLimiter{users: map[loci.ID]*userBytes{},
		refusal: "Your other requests have not arrived yet: finish them, or send fewer at once, and try again."}
}

// ReadBody is the function ReadBody within the bounds of a user. It counts the announced length of the body.
func (f *ByteLimiter) ReadBody(w http.ResponseWriter, r *http.Request, user loci.ID, limit int64) ([]byte, error) {
	size := limit
	if 0 <= r.ContentLength && r.ContentLength < limit {
		size = r.ContentLength
	}
	release, err := f.Acquire(r.Context(), user, int(size), true)
	if err != nil {
		DrainBody(w, r)
		return nil, err
	}
	defer release()
	return ReadBody(w, r, limit)
}

func (f *ByteLimiter) refuse() error {
	return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: acquireTimeout, Message: f.refusal}
}

// Acquire counts a message until release is called. It waits for a moment while earlier messages are in memory, and is
// then refused. A message that cannot be repeated, such as the response that shows a write, is never refused.
func (f *ByteLimiter) Acquire(ctx context.Context, user loci.ID, bytes int, repeatable bool) (release func(),
	err error) {
	if f == nil || bytes <= minLimitedSize {
		return func() {}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.users[user]
	if a == nil {
		a = &userBytes{freed: make(chan struct{})}
		f.users[user] = a
	}
	if repeatable && !a.fits(bytes) {
		if err := f.wait(ctx, a, bytes); err != nil {
			f.dropIdle(user, a)
			return nil, err
		}
	}
	a.inFlight += bytes
	return func() { f.release(user, a, bytes) }, nil
}

func (a *userBytes) fits(bytes int) bool {
	return a.inFlight == 0 || a.inFlight+bytes <= maxInFlight
}

// wait returns once there is room. It unlocks the limiter meanwhile.
func (f *ByteLimiter) wait(ctx context.Context, a *userBytes, bytes int) error {
	if a.waiting+bytes > maxWaiting {
		return f.refuse()
	}
	a.waiting += bytes
	defer func() { a.waiting -= bytes }()
	timeout := time.NewTimer(acquireTimeout)
	defer timeout.Stop()
	for !a.fits(bytes) {
		freed := a.freed
		f.mu.Unlock()
		var err error
		select {
		case <-freed:
		case <-timeout.C:
			err = f.refuse()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if f.mu.Lock(); err != nil {
			return err
		}
	}
	return nil
}

func (f *ByteLimiter) release(user loci.ID, a *userBytes, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.inFlight -= bytes
	close(a.freed)
	a.freed = make(chan struct{})
	f.dropIdle(user, a)
}

// dropIdle drops a user without messages.
func (f *ByteLimiter) dropIdle(user loci.ID, a *userBytes) {
	if a.inFlight == 0 && a.waiting == 0 {
		delete(f.users, user)
	}
}
