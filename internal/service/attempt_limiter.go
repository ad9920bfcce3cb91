package service

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

const (
	attemptWindow  = 15 * time.Minute
	maxAttemptKeys = 100_000
)

// An attemptLimiter bounds the attempts of an account, a network, or both
// together within attemptWindow. It counts in memory, for this process.
type attemptLimiter struct {
	clock   loci.Clock
	limit   int // 0 turns the limit off
	refusal string

	mu       sync.Mutex
	attempts *lruMap[attemptKey, []time.Time] // oldest first
}

// An attemptKey is a key under which attempts count; account or network may be empty.
type attemptKey struct{ account, network string }

func newAttemptLimiter(clock loci.Clock, limit int, refusal string) *attemptLimiter {
	attempts := newLRU[attemptKey, []time.Time](maxAttemptKeys)
	return &attemptLimiter{clock: clock, limit: limit, refusal: refusal, attempts: attempts}
}

// attempt counts an attempt under every key until release undoes it, or refuses it because of the checked keys. A
// refused attempt counts nowhere, so that it cannot evict the attempts of others.
func (l *attemptLimiter) attempt(checked []attemptKey, also ...attemptKey) (release func(), err error) {
	if l.limit == 0 {
		return func() {}, nil
	}
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evictExpired(now)
	for _, key := range checked {
		if recent := l.recentAttempts(key, now); len(recent) >= l.limit {
			wait := attemptWindow - now.Sub(recent[0])
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

// recentAttempts returns the attempts of a key within attemptWindow.
func (l *attemptLimiter) recentAttempts(key attemptKey, now time.Time) []time.Time {
	a := l.attempts.get(key)
	if a == nil {
		return nil
	}
	*a = slices.DeleteFunc(*a, func(t time.Time) bool { return expired(t, now) })
	return *a
}

func expired(t, now time.Time) bool { return now.Sub(t) >= attemptWindow }

// evictExpired removes the keys without recent attempts.
func (l *attemptLimiter) evictExpired(now time.Time) {
	for {
		key, a := l.attempts.oldest()
		if a == nil || len(*a) > 0 && !expired((*a)[len(*a)-1], now) {
			return
		}
		l.attempts.remove(key)
	}
}

func (l *attemptLimiter) release(keys []attemptKey, at time.Time) {
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

// networkOf returns the network under which the attempts of an address count:
// the address itself, or the /64 of an IPv6 subscriber (RFC 6177).
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

// accountOf returns the key under which the attempts on an account count. Invalid addresses share one key.
func accountOf(e loci.Email) string {
	if !e.Valid() {
		return ""
	}
	return accountdb.FoldEmail(e)
}
