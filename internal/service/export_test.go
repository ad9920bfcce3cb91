package service

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store"
)

// Passwords returns the queue of callers that wait for a hash.
func (s *Service) Passwords() *limit.Semaphore[limit.Key] { return s.passwords.Slots }

// ReencodeCursor parses a cursor of a list of an actor, and encodes its position again.
func (s *Service) ReencodeCursor(actor *identity.Actor, in any, cursor string) (string, error) {
	q := pageQuery{s, actor, in}
	p, err := q.parse(loci.Paging{Cursor: loci.Cursor(cursor)})
	return q.cursor(p.After), err
}

// FileSigner returns the index of the secret of files that signs.
func FileSigner(secrets []store.FileSecret, now loci.Time) int { return signerOf(secrets, now) }
