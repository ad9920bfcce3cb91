package service

import (
	"crypto/subtle"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/identity"
)

// setupLink is the one-time link to make the first account.
type setupLink struct {
	mu      sync.Mutex // guards the fields below
	token   string
	expires time.Time
}

const setupTokenTTL = time.Hour

// NewSetupToken returns a new token for the setup link and invalidates the previous one.
func (s *Service) NewSetupToken() string {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	s.setup.token, s.setup.expires = identity.NewSecret(), s.Clock().Add(setupTokenTTL)
	return s.setup.token
}

func (l *setupLink) valid(token string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token != "" && now.Before(l.expires) && subtle.ConstantTimeCompare([]byte(l.token), []byte(token)) == 1
}

func (l *setupLink) revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = ""
}
