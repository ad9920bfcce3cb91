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
	held   map[Key]*list.List // of *Holding, the one that moved there longest ago first
}

// NewShares returns bounds of what each key holds.
func NewShares(perKey int) *Shares { return &Shares{perKey: perKey, held: map[Key]*list.List{}} }

// A Holding is one thing that a key holds.
type Holding struct {
	shares  *Shares
	key     Key
	element *list.Element // nil after its end
	end     func()
}

// Add adds a holding of a key. It ends the oldest one of a key at its bound.
func (s *Shares) Add(key Key, end func()) *Holding {
	h := &Holding{shares: s, end: end}
	s.mu.Lock()
	oldest := s.makeRoom(key)
	s.push(h, key)
	s.mu.Unlock()
	oldest.endIfAny()
	return h
}

// Move moves a holding to a key. It ends the oldest one of a key at its bound.
func (h *Holding) Move(key Key) {
	h.shares.mu.Lock()
	var oldest *Holding
	if h.element != nil {
		h.shares.remove(h)
		oldest = h.shares.makeRoom(key)
		h.shares.push(h, key)
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
	s.push(h, key)
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
	return key != Key{} && own != nil && own.Len() >= s.perKey
}

// makeRoom removes the oldest holding of a key at its bound, and returns it.
func (s *Shares) makeRoom(key Key) (oldest *Holding) {
	if s.isFull(key) {
		oldest = s.held[key].Front().Value.(*Holding)
		s.remove(oldest)
	}
	return oldest
}

func (s *Shares) push(h *Holding, key Key) {
	own := s.held[key]
	if own == nil {
		own = list.New()
		s.held[key] = own
	}
	h.key, h.element = key, own.PushBack(h)
}

func (s *Shares) remove(h *Holding) {
	if h.element == nil {
		return
	}
	own := s.held[h.key]
	own.Remove(h.element)
	if h.element = nil; own.Len() == 0 {
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
