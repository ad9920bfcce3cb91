package service

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store"
)

// Passwords returns the queue of callers that wait for a hash.
func (s *Service) Passwords() *limit.Semaphore[limit.Key] { return s.passwords.Slots }

// FileSigner returns the index of the secret of files that signs.
func FileSigner(secrets []store.FileSecret, now loci.Time) int { return signerOf(secrets, now) }
