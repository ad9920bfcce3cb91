package files

import (
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// maxOfAttachment is the most transfers of one attachment at once: its address may be in many hands.
const maxOfAttachment = 8

// busyRetry is the Retry-After of a transfer that is refused.
const busyRetry = 5 * time.Second

// A limiter bounds the transfers that run at once. Each holds file descriptors beside its connection.
type limiter struct {
	mu      sync.Mutex
	most    int // 0 is unbounded
	running int
	of      map[loci.ID]int // by attachment
}

// begin counts a transfer until end is called, or refuses it.
func (l *limiter) begin(id loci.ID) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most > 0 && l.running >= l.most || l.of[id] >= maxOfAttachment {
		return nil, &loci.Error{Code: loci.CodeUnavailable, RetryAfter: busyRetry,
			Message: "Too many files are uploaded or downloaded at once: try again later."}
	}
	if l.of == nil {
		l.of = map[loci.ID]int{}
	}
	l.running++
	l.of[id]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
		if l.of[id]--; l.of[id] == 0 {
			delete(l.of, id)
		}
	}, nil
}
