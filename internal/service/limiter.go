package service

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

const (
	attemptWindow = 15 * time.Minute
	maxAttempters = 100_000
)

// A limiter bounds how many attempts an account, a network, or both together make
// within attemptWindow. It counts in memory, for this process.
type limiter struct {
	clock   loci.Clock
	limit   int // 0 is off
	refusal string

	mu       sync.Mutex
	attempts *lru[attempter, []time.Time] // oldest first
}

// An attempter is a name under which attempts count; one of both may be empty.
type attempter struct{ account, network string }

func newLimiter(clock loci.Clock, limit int, refusal string) *limiter {
	attempts := newLRU[attempter, []time.Time](maxAttempters)
	return &limiter{clock: clock, limit: limit, refusal: refusal, attempts: attempts}
}

// begin counts an attempt under every name, until release takes it back, or refuses
// it because of the names of checked. A refused attempt counts nowhere, so that it
// cannot evict the attempts of others.
func (l *limiter) begin(checked []attempter, also ...attempter) (release func(), err error) {
	if l.limit == 0 {
		return func() {}, nil
	}
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	for _, n := range checked {
		if recent := l.recent(n, now); len(recent) >= l.limit {
			wait := attemptWindow - now.Sub(recent[0])
			return nil, &loci.Error{Code: loci.RateLimited, Message: l.refusal, Retry: wait}
		}
	}
	names := slices.Concat(checked, also)
	for _, n := range names {
		a := l.attempts.use(n)
		if len(*a) >= l.limit { // of a name that was not checked
			*a = slices.Delete(*a, 0, 1)
		}
		*a = append(*a, now)
	}
	return func() { l.release(names, now) }, nil
}

// recent returns the attempts under a name that still count.
func (l *limiter) recent(n attempter, now time.Time) []time.Time {
	a := l.attempts.get(n)
	if a == nil {
		return nil
	}
	*a = slices.DeleteFunc(*a, func(t time.Time) bool { return expired(t, now) })
	return *a
}

func expired(t, now time.Time) bool { return now.Sub(t) >= attemptWindow }

// expire removes the names whose last attempt counts no more.
func (l *limiter) expire(now time.Time) {
	for {
		n, a := l.attempts.oldest()
		if a == nil || len(*a) > 0 && !expired((*a)[len(*a)-1], now) {
			return
		}
		l.attempts.remove(n)
	}
}

func (l *limiter) release(names []attempter, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range names {
		a := l.attempts.get(n)
		if a == nil {
			continue
		}
		if i := slices.Index(*a, at); i >= 0 {
			*a = slices.Delete(*a, i, i+1)
		}
		if len(*a) == 0 {
			l.attempts.remove(n)
		}
	}
}

// networkOf returns the network under which the attempts of an address count: the
// address itself, or the /64 of IPv6 that one subscriber has (RFC 6177).
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

// accountOf returns the name under which the attempts on an account count. Texts
// that are no address are nobody's account, and count as one.
func accountOf(e loci.Email) string {
	if !e.Valid() {
		return ""
	}
	return store.FoldEmail(e)
}
