package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// Bounds of the callers that wait for a hash.
const (
	MaxWaitingSignIns = maxWaitingSignIns
	MaxWaitingSignUps = maxWaitingSignUps
)

// HoldHashes takes every slot for hashing, until free is called.
func (s *Service) HoldHashes() (free func()) {
	n := s.passwordHasher.queue.free
	for range n {
		if err := s.passwordHasher.queue.acquire(context.Background(), hashSignIn, ""); err != nil {
			panic(err)
		}
	}
	return func() {
		for range n {
			s.passwordHasher.queue.release("")
		}
	}
}

// WaitingHashes returns how many callers wait for a slot.
func (s *Service) WaitingHashes() (signIns, signUps int) {
	q := s.passwordHasher.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiters[hashSignIn]), len(q.waiters[hashSignUp])
}

// ReencodeCursor parses a cursor of a list of an actor, and encodes its position again.
func (s *Service) ReencodeCursor(actor *identity.Actor, in any, cursor string) (string, error) {
	q := pageQuery{s, actor, in}
	p, err := q.parse(loci.Paging{Cursor: loci.Cursor(cursor)})
	return q.cursor(p.After), err
}
