package limit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Shares bound what each key holds of a whole: a share. The zero key has no bound. A holding moves between keys. One
// that waits for its client may end early in favor of others.
type Shares[K comparable] struct {
	whole, share int
	mu           sync.Mutex
	total        int
	held         map[K]*holdings
	above        map[K]*holdings // those above their share
}

// holdings are the holdings of a key.
type holdings struct {
	count   int
	waiting list.List // those that wait for their client, for longest first
}

// A Holding is one thing that a key holds.
type Holding[K comparable] struct {
	shares  *Shares[K]
	key     K
	own     *holdings     // of the key; nil after its end
	waiting *list.Element // nil while it does not wait
	since   time.Time     // of its wait
	end     func()
}

// A holding of a key above its share ends when it has waited for maxStall while the whole begins to be scarce, and for
// minStall while nothing of it is free.
const (
	maxStall = time.Second
	minStall = maxStall / 4
)

// minShare is the share of a key of a small whole.
const minShare = 4

// Share returns the share of a whole that one user or network may hold: a quarter.
func Share(whole int) int { return max(minShare, whole/4) }

// NewShares returns the shares of a whole.
func NewShares[K comparable](whole, share int) *Shares[K] {
	return &Shares[K]{whole: whole, share: share, held: map[K]*holdings{}, above: map[K]*holdings{}}
}

// Add adds a holding of a key, which waits. The function ends it early.
func (s *Shares[K]) Add(key K, end func()) *Holding[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &Holding[K]{shares: s, end: end}
	s.push(h, key, true)
	return h
}

// TryAdd adds a holding of a key, unless the key is at its share or the whole is held: then it returns nil. Instead it
// ends the one that has waited for longest, of the key at its share or of all, if that is patience.
func (s *Shares[K]) TryAdd(key K, patience time.Duration, end func()) *Holding[K] {
	s.mu.Lock()
	var full bool
	var last *Holding[K]
	if full = s.isFull(key); full {
		last = longest[K](s.held[key])
	} else if full = s.total >= s.whole; full {
		last = longestOf(s.held)
	}
	if full && !last.hasWaited(patience) {
		s.mu.Unlock()
		return nil
	}
	if full {
		s.remove(last)
	}
	h := &Holding[K]{shares: s, end: end}
	s.push(h, key, false)
	s.mu.Unlock()
	if full {
		last.end()
	}
	return h
}

// Move moves a holding to a key. It waits from now on, or not any more.
func (h *Holding[K]) Move(key K, waits bool) {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	h.shares.move(h, key, waits)
}

// Wait begins the wait of a holding, or begins it again.
func (h *Holding[K]) Wait() { h.set(true) }

// Resume ends the wait of a holding.
func (h *Holding[K]) Resume() { h.set(false) }

func (h *Holding[K]) set(waits bool) {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	h.shares.move(h, h.key, waits)
}

// Remove ends the count of a holding. It may be called more than once.
func (h *Holding[K]) Remove() {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	h.shares.remove(h)
}

// IsScarce reports that less than a quarter of the whole is free.
func (s *Shares[K]) IsScarce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isScarce()
}

func (s *Shares[K]) isScarce() bool { return s.total > s.plenty() }

// plenty returns how much of the whole is held before it is scarce.
func (s *Shares[K]) plenty() int { return max(1, s.whole-s.whole/4) }

// EndStalled ends holdings of keys above their share while the whole is scarce, those that have waited for longest
// first. The less is free, the shorter is the wait for which they end.
func (s *Shares[K]) EndStalled() {
	var ended []*Holding[K]
	s.mu.Lock()
	for s.isScarce() {
		free, scarce := s.whole-s.total, s.whole-s.plenty()
		last := longestOf(s.above)
		if !last.hasWaited(max(minStall, maxStall*time.Duration(free)/time.Duration(scarce))) {
			break
		}
		s.remove(last)
		ended = append(ended, last)
	}
	s.mu.Unlock()
	for _, h := range ended {
		h.end()
	}
}

// longest returns the holding of a key that has waited for longest, or nil.
func longest[K comparable](own *holdings) *Holding[K] {
	if e := own.waiting.Front(); e != nil {
		return e.Value.(*Holding[K])
	}
	return nil
}

func longestOf[K comparable](held map[K]*holdings) (last *Holding[K]) {
	for _, own := range held {
		if h := longest[K](own); h != nil && (last == nil || h.since.Before(last.since)) {
			last = h
		}
	}
	return last
}

func (h *Holding[K]) hasWaited(d time.Duration) bool { return h != nil && time.Since(h.since) >= d }

func (s *Shares[K]) isFull(key K) bool {
	own := s.held[key]
	return key != *new(K) && own != nil && own.count >= s.share
}

func (s *Shares[K]) move(h *Holding[K], key K, waits bool) {
	if h.own != nil {
		s.remove(h)
		s.push(h, key, waits)
	}
}

func (s *Shares[K]) push(h *Holding[K], key K, waits bool) {
	own := s.held[key]
	if own == nil {
		own = &holdings{}
		s.held[key] = own
	}
	h.key, h.own = key, own
	if waits {
		h.since, h.waiting = time.Now(), own.waiting.PushBack(h)
	}
	s.total++
	if own.count++; own.count > s.share && key != *new(K) {
		s.above[key] = own
	}
}

func (s *Shares[K]) remove(h *Holding[K]) {
	own := h.own
	if own == nil {
		return
	}
	if h.waiting != nil {
		own.waiting.Remove(h.waiting)
	}
	h.own, h.waiting = nil, nil
	s.total--
	if own.count--; own.count <= s.share {
		delete(s.above, h.key)
	}
	if own.count == 0 {
		delete(s.held, h.key)
	}
}

type proverKey struct{}

// WithProver returns a context whose calls report the users that they prove.
func WithProver(ctx context.Context, prove func(user Key)) context.Context {
	return context.WithValue(ctx, proverKey{}, prove)
}

// Prove reports that a call has proved a credential of a user.
func Prove(ctx context.Context, user Key) {
	if prove, ok := ctx.Value(proverKey{}).(func(Key)); ok {
		prove(user)
	}
}
