package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of the unread responses of one user, in bytes.
const (
	minLimitedSize = 32 << 10 // which is not counted: most of it fits into the buffers of a connection
	maxInFlight    = 16 << 20 // four of the largest pages
	maxWaiting     = 16 << 20 // of responses that wait for those to end
)

// acquireTimeout is how long a response waits for others to be read.
const acquireTimeout = 2 * time.Second

// A ResponseLimiter bounds the bytes of responses in memory that their readers have not read yet. It counts by user,
// because a user may have any number of credentials. A nil ResponseLimiter has no bounds.
type ResponseLimiter struct {
	refusal string
	mu      sync.Mutex
	users   map[loci.ID]*userResponses
}

// userResponses are those of one user.
type userResponses struct {
	inFlight, waiting int
	freed             chan struct{} // closed when one has ended
}

// NewResponseLimiter returns a limiter without responses.
func NewResponseLimiter() *ResponseLimiter {
	return &ResponseLimiter{users: map[loci.ID]*userResponses{},
		refusal: "Your other answers are not read yet: read them, or ask for fewer at once, and try again."}
}

// A BodyLimiter bounds in the same way the bytes of request bodies that have not arrived yet. The zero BodyLimiter has
// no bounds.
type BodyLimiter struct{ bodies *ResponseLimiter }

// NewBodyLimiter returns a limiter without bodies.
func NewBodyLimiter() BodyLimiter {
	return BodyLimiter{&ResponseLimiter{users: map[loci.ID]*userResponses{},
		refusal: "Your other requests have not arrived yet: finish them, or send fewer at once, and try again."}}
}

// ReadBody is the function ReadBody within the bounds of a user. It counts the announced length of the body.
func (b BodyLimiter) ReadBody(w http.ResponseWriter, r *http.Request, user loci.ID, limit int64) ([]byte, error) {
	size := limit
	if 0 <= r.ContentLength && r.ContentLength < limit {
		size = r.ContentLength
	}
	release, err := b.bodies.Acquire(r.Context(), user, int(size), true)
	if err != nil {
		drainBody(w, r)
		return nil, err
	}
	defer release()
	return ReadBody(w, r, limit)
}

func (f *ResponseLimiter) refuse() error {
	return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: acquireTimeout, Message: f.refusal}
}

// Acquire counts a response until release is called. It waits for a moment while earlier responses are unread, and is
// then refused. A response that cannot be requested again, because it shows a write, is never refused.
func (f *ResponseLimiter) Acquire(ctx context.Context, user loci.ID, bytes int, repeatable bool) (release func(),
	err error) {
	if f == nil || bytes <= minLimitedSize {
		return func() {}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.users[user]
	if a == nil {
		a = &userResponses{freed: make(chan struct{})}
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

func (a *userResponses) fits(bytes int) bool {
	return a.inFlight == 0 || a.inFlight+bytes <= maxInFlight
}

// wait returns once there is room. It unlocks the limiter meanwhile.
func (f *ResponseLimiter) wait(ctx context.Context, a *userResponses, bytes int) error {
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

func (f *ResponseLimiter) release(user loci.ID, a *userResponses, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.inFlight -= bytes
	close(a.freed)
	a.freed = make(chan struct{})
	f.dropIdle(user, a)
}

// dropIdle drops a user without responses.
func (f *ResponseLimiter) dropIdle(user loci.ID, a *userResponses) {
	if a.inFlight == 0 && a.waiting == 0 {
		delete(f.users, user)
	}
}
