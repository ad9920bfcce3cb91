package service

import "github.com/loci-memory/loci/internal/limit"

// Passwords returns the queue of callers that wait for a hash.
func (s *Service) Passwords() *limit.Semaphore[limit.Key] { return s.passwords.Slots }
