// Package attempt bounds attempts that may be guesses: sign-ins, registrations, links and mails.
package attempt

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

const (
	window  = 15 * time.Minute
	maxKeys = 100_000
)

// A Limiter bounds the attempts of an account, a network, or both together within the window. It counts in memory, for
// this process.
type Limiter struct {
	clock   loci.Clock
	limit   int // 0 turns the limit off
	refusal string

	mu       sync.Mutex
	attempts *lruMap[Key, []time.Time] // oldest first
}

// A Key is a key under which attempts count; Account or Network may be empty.
type Key struct{ Account, Network string }

// NewLimiter returns a limiter that allows limit attempts of a key in the window; 0 turns it off.
func NewLimiter(clock loci.Clock, limit int, refusal string) *Limiter {
	attempts := newLRU[Key, []time.Time](maxKeys)
	return &Limiter{clock: clock, limit: limit, refusal: refusal, attempts: attempts}
}

// Attempt counts an attempt under every key until release undoes it, or refuses it because of the checked keys. A
// refused attempt counts nowhere, so that it cannot evict the attempts of others.
func (l *Limiter) Attempt(checked []Key, also ...Key) (release func(), err error) {
	if l.limit == 0 {
		return func() {}, nil
	}
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evictExpired(now)
	for _, key := range checked {
		if recent := l.recentAttempts(key, now); len(recent) >= l.limit {
			wait := window - now.Sub(recent[0])
			return nil, &loci.Error{Code: loci.CodeRateLimited, Message: l.refusal, RetryAfter: wait}
		}
	}
	keys := slices.Concat(checked, also)
	for _, key := range keys {
		a := l.attempts.getOrAdd(key)
		if len(*a) >= l.limit { // of a key that was not checked
			*a = slices.Delete(*a, 0, 1)
		}
		*a = append(*a, now)
	}
	return func() { l.release(keys, now) }, nil
}

// recentAttempts returns the attempts of a key within window.
func (l *Limiter) recentAttempts(key Key, now time.Time) []time.Time {
	a := l.attempts.get(key)
	if a == nil {
		return nil
	}
	*a = slices.DeleteFunc(*a, func(t time.Time) bool { return expired(t, now) })
	return *a
}

func expired(t, now time.Time) bool { return now.Sub(t) >= window }

// evictExpired removes the keys without recent attempts.
func (l *Limiter) evictExpired(now time.Time) {
	for {
		key, a := l.attempts.oldest()
		if a == nil || len(*a) > 0 && !expired((*a)[len(*a)-1], now) {
			return
		}
		l.attempts.remove(key)
	}
}

func (l *Limiter) release(keys []Key, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		a := l.attempts.get(key)
		if a == nil {
			continue
		}
		if i := slices.Index(*a, at); i >= 0 {
			*a = slices.Delete(*a, i, i+1)
		}
		if len(*a) == 0 {
			l.attempts.remove(key)
		}
	}
}

// NetworkOf returns the network under which the attempts of an address count:
// the address itself, or the /64 of an IPv6 subscriber (RFC 6177).
func NetworkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}
