package service

import "context"

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
