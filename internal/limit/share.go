package limit

import (
	"container/list"
	"context"
	"sync"
)

// Shares bound what each key holds of a whole. The zero key has no bound. A holding moves between keys.
type Shares struct {
	perKey int
	mu     sync.Mutex
	held   map[Key]*heldLists
}

// heldLists are the holdings of a key, the one that moved there longest ago first. Those that wait end first.
type heldLists struct{ waiting, busy list.List }

// NewShares returns bounds of what each key holds.
func NewShares(perKey int) *Shares { return &Shares{perKey: perKey, held: map[Key]*heldLists{}} }

// A Holding is one thing that a key holds.
type Holding struct {
	shares  *Shares
	key     Key
	in      *list.List
	element *list.Element // nil after its end
	end     func()
}

// Add adds a busy holding of a key. It ends the oldest one of a key at its bound, if possible one that waits.
func (s *Shares) Add(key Key, end func()) *Holding {
	h := &Holding{shares: s, end: end}
	s.mu.Lock()
	oldest := s.makeRoom(key)
	s.push(h, key, false)
	s.mu.Unlock()
	oldest.endIfAny()
	return h
}

// Move moves a holding to a key, as Add does. A holding that waits for its client ends before others.
func (h *Holding) Move(key Key, waits bool) {
	h.shares.mu.Lock()
	var oldest *Holding
	if h.element != nil {
		h.shares.remove(h)
		oldest = h.shares.makeRoom(key)
		h.shares.push(h, key, waits)
	}
	h.shares.mu.Unlock()
	oldest.endIfAny()
}

// TryMove moves a holding to a key, unless the key is at its bound.
func (h *Holding) TryMove(key Key) bool {
	s := h.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.element == nil || key == h.key {
		return true
	}
	if s.isFull(key) {
		return false
	}
	s.remove(h)
	s.push(h, key, false)
	return true
}

// Remove ends the count of a holding. It may be called more than once.
func (h *Holding) Remove() {
	h.shares.mu.Lock()
	defer h.shares.mu.Unlock()
	h.shares.remove(h)
}

func (h *Holding) endIfAny() {
	if h != nil {
		h.end()
	}
}

func (s *Shares) isFull(key Key) bool {
	own := s.held[key]
	return key != Key{} && own != nil && own.waiting.Len()+own.busy.Len() >= s.perKey
}

// makeRoom removes the oldest holding of a key at its bound, and returns it.
func (s *Shares) makeRoom(key Key) (oldest *Holding) {
	if !s.isFull(key) {
		return nil
	}
	e := s.held[key].waiting.Front()
	if e == nil {
		e = s.held[key].busy.Front()
	}
	oldest = e.Value.(*Holding)
	s.remove(oldest)
	return oldest
}

func (s *Shares) push(h *Holding, key Key, waits bool) {
	own := s.held[key]
	if own == nil {
		own = &heldLists{}
		s.held[key] = own
	}
	if h.in = &own.busy; waits {
		h.in = &own.waiting
	}
	h.key, h.element = key, h.in.PushBack(h)
}

func (s *Shares) remove(h *Holding) {
	if h.element == nil {
		return
	}
	h.in.Remove(h.element)
	h.element = nil
	if own := s.held[h.key]; own.waiting.Len()+own.busy.Len() == 0 {
		delete(s.held, h.key)
	}
}

type proverKey struct{}

// WithProver returns a context whose calls report the users that they prove. The function may refuse a user.
func WithProver(ctx context.Context, prove func(user Key) error) context.Context {
	return context.WithValue(ctx, proverKey{}, prove)
}

// Prove reports that a call has proved a credential of a user. It returns an error if the user holds its whole share.
func Prove(ctx context.Context, user Key) error {
	if prove, ok := ctx.Value(proverKey{}).(func(Key) error); ok {
		return prove(user)
	}
	return nil
}
