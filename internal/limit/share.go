package limit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Shares bound what each key holds of a whole: a share. The zero key has no bound. A holding moves between keys, and
// may count for two. One that waits for its client may end early in favor of others.
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
	shares *Shares[K]
	parts  []part[K] // of its key, and of another one for which it counts too; none after its end
	waits  bool
	since  time.Time // of its wait
	end    func()
}

// A part is a holding among those of one key.
type part[K comparable] struct {
	key     K
	own     *holdings     // of the key
	waiting *list.Element // nil while the holding does not wait
}

// A holding of a key above its share ends when it has waited for maxStall while the whole begins to be scarce, and for
// minStall while nothing of it is free: then others wait for as long.
const (
	maxStall = time.Second
	minStall = maxStall / 10
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
	s.add(h, key, true)
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
	s.add(h, key, false)
	s.mu.Unlock()
	if full {
		last.end()
	}
	return h
}

// Move moves a holding to a key alone. It waits from now on, or not any more.
func (h *Holding[K]) Move(key K, waits bool) {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	h.shares.move(h, key, waits)
}

// CountFor counts a holding for another key too, until it moves or counts for one alone. Its wait goes on.
func (h *Holding[K]) CountFor(other K) {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	if len(h.parts) == 1 {
		h.shares.push(h, other)
	}
}

// CountForOne counts a holding for its own key alone. Its wait goes on.
func (h *Holding[K]) CountForOne() {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	if len(h.parts) > 1 {
		h.shares.pop(h)
	}
}

// Wait begins the wait of a holding, or begins it again.
func (h *Holding[K]) Wait() { h.set(true) }

// Resume ends the wait of a holding.
func (h *Holding[K]) Resume() { h.set(false) }

func (h *Holding[K]) set(waits bool) {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	if len(h.parts) > 0 {
		h.shares.move(h, h.parts[0].key, waits)
	}
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

// insert adds a holding to those that wait, behind those that wait for longer. Usually it is the last one.
func insert[K comparable](waiting *list.List, h *Holding[K]) *list.Element {
	e := waiting.Back()
	for e != nil && e.Value.(*Holding[K]).since.After(h.since) {
		e = e.Prev()
	}
	if e == nil {
		return waiting.PushFront(h)
	}
	return waiting.InsertAfter(h, e)
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
	if len(h.parts) > 0 {
		s.remove(h)
		s.add(h, key, waits)
	}
}

func (s *Shares[K]) add(h *Holding[K], key K, waits bool) {
	if h.waits = waits; waits {
		h.since = time.Now()
	}
	s.push(h, key)
	s.total++
}

// push counts a holding for a key too.
func (s *Shares[K]) push(h *Holding[K], key K) {
	own := s.held[key]
	if own == nil {
		own = &holdings{}
		s.held[key] = own
	}
	p := part[K]{key: key, own: own}
	if h.waits {
		p.waiting = insert(&own.waiting, h)
	}
	h.parts = append(h.parts, p)
	if own.count++; own.count > s.share && key != *new(K) {
		s.above[key] = own
	}
}

// pop undoes the last push of a holding.
func (s *Shares[K]) pop(h *Holding[K]) {
	last := len(h.parts) - 1
	p := h.parts[last]
	h.parts = h.parts[:last]
	if p.waiting != nil {
		p.own.waiting.Remove(p.waiting)
	}
	if p.own.count--; p.own.count <= s.share {
		delete(s.above, p.key)
	}
	if p.own.count == 0 {
		delete(s.held, p.key)
	}
}

func (s *Shares[K]) remove(h *Holding[K]) {
	if len(h.parts) > 0 {
		s.total--
	}
	for len(h.parts) > 0 {
		s.pop(h)
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
