package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
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
	bytes *limit.Semaphore[limit.Key]
}

// NewResponseLimiter returns a limiter of responses.
func NewResponseLimiter() *ByteLimiter {
	return newByteLimiter("unread responses",
		"Your other answers are not read yet: read them, or ask for fewer at once, and try again.")
}

// NewBodyLimiter returns a limiter of request bodies.
func NewBodyLimiter() *ByteLimiter {
	return newByteLimiter("unfinished requests",
		"Your other requests have not arrived yet: finish them, or send fewer at once, and try again.")
}

func newByteLimiter(name, refusal string) *ByteLimiter {
	return &ByteLimiter{limit.NewSemaphore[limit.Key](limit.Bounds{PerKey: maxInFlight, WaitingPerKey: maxWaiting,
		Timeout: acquireTimeout, Refusal: limit.Refusal{Name: name, Code: loci.CodeUnavailable, Message: refusal,
			RetryAfter: acquireTimeout}})}
}

// ReadBody is the function ReadBody within the bounds of a user. It counts the announced length of the body.
func (f *ByteLimiter) ReadBody(w http.ResponseWriter, r *http.Request, user loci.ID, most int64) ([]byte, error) {
	size := most
	if 0 <= r.ContentLength && r.ContentLength < most {
		size = r.ContentLength
	}
	release, err := f.Acquire(r.Context(), user, int(size), true)
	if err != nil {
		DrainBody(w, r)
		return nil, err
	}
	defer release()
	return ReadBody(w, r, most)
}

// Acquire counts a message until release is called. It waits for a moment while earlier messages are in memory, and is
// then refused. A message that cannot be repeated, such as the response that shows a write, is never refused.
func (f *ByteLimiter) Acquire(ctx context.Context, user loci.ID, bytes int,
	repeatable bool) (release func(), err error) {
	switch {
	case f == nil || bytes <= minLimitedSize:
		return func() {}, nil
	case !repeatable:
		return f.bytes.Take(limit.User(user), bytes), nil
	}
	return f.bytes.Acquire(ctx, 0, limit.User(user), bytes)
}
