package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oauthclient"
)

const (
	// margin is how long before its end a token is refreshed: a call and an inexact clock take less.
	margin = time.Minute
	// lockTimeout is longer than a refresh takes, with its repetitions.
	lockTimeout = 90 * time.Second
	lockPoll    = 25 * time.Millisecond
	// cancelGrace is how long an interrupted command waits for the response to its refresh: without the response the
	// login is lost, unless another command asks again within oauthclient.ReuseWindow.
	cancelGrace = 5 * time.Second
)

// Tokens is a source of access tokens for the client package. All processes of the person share the login.
type Tokens struct {
	store Store
	url   string
	busy  chan struct{}       // has room for one refresh
	own   *oauthclient.Tokens // the last ones that this process saw
}

// Tokens returns the source of tokens for a login by browser.
func (s Store) Tokens(l *Login) *Tokens {
	return &Tokens{store: s, url: l.URL, busy: make(chan struct{}, 1), own: l.Tokens}
}

// Token returns a live access token other than rejected, and refreshes the tokens for that if no other process did.
func (t *Tokens) Token(ctx context.Context, rejected string) (string, error) {
	select {
	case t.busy <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-t.busy }()
	if isUsable(t.own, rejected) {
		return t.own.Access, nil
	}
	return t.renew(ctx, rejected)
}

// ExpiresAt returns the end of the last access token.
func (t *Tokens) ExpiresAt() time.Time {
	t.busy <- struct{}{}
	defer func() { <-t.busy }()
	return t.own.ExpiresAt
}

// isUsable reports whether an access token need not be refreshed.
func isUsable(t *oauthclient.Tokens, rejected string) bool {
	return t != nil && t.Access != rejected && time.Until(t.ExpiresAt) > margin
}

// renew reads the login again, because another process may have refreshed it, and refreshes it if none did.
func (t *Tokens) renew(ctx context.Context, rejected string) (string, error) {
	unlock, err := t.store.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	l, err := t.store.Load()
	switch {
	case err != nil:
		return "", err
	case l == nil || l.URL != t.url:
		return "", loci.Errorf(loci.CodeMissingAPIKey, "The login for %s was removed: use loci login %[1]s.", t.url)
	}
	s := t.store
	if !l.inKeyring() { // the keyring refused it at the sign-in
		s.Keyring = nil
	}
	if err := s.Unlock(l); err != nil {
		return "", err
	}
	if !l.ByBrowser() {
		return l.Key, nil
	}
	if !isUsable(l.Tokens, rejected) {
		if err := s.refresh(ctx, l); err != nil {
			return "", err
		}
	}
	t.own = l.Tokens
	return t.own.Access, nil
}

// refresh exchanges the refresh token. The new tokens are stored before they are used: a process that is killed before
// that leaves the old token, which the server accepts for a while.
func (s Store) refresh(ctx context.Context, l *Login) error {
	ctx, cancel := delayCancel(ctx)
	defer cancel()
	tokens, err := l.Client.Refresh(ctx, l.Tokens.Refresh)
	if errors.Is(err, oauthclient.ErrEnded) {
		return loci.Errorf(loci.CodeInvalidKey, "The login for %s has ended: sign in again: loci login %[1]s", l.URL)
	}
	if err != nil {
		return err
	}
	tokens.Account = l.Tokens.Account // a refresh changes no grant, and need not repeat its scope
	l.Tokens = &tokens
	if _, err := s.write(*l); err != nil {
		return fmt.Errorf("the refreshed login cannot be stored: %w", err)
	}
	return nil
}

// delayCancel returns a context that ends a little later than its parent.
func delayCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(cancelGrace, cancel)
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() { stop(); cancel() }
}

// lock locks the login against other processes. It fails where the login could not be written either.
func (s Store) lock(ctx context.Context) (unlock func(), err error) {
	if s.Path == "" {
		return nil, ErrNoHome
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return nil, err
	}
	l := flock.New(s.Path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	switch locked, err := l.TryLockContext(waiting, lockPoll); {
	case locked: // also where the context has ended since
		return func() { _ = l.Unlock() }, nil // the system unlocks it with the process
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case waiting.Err() != nil:
		return nil, loci.Errorf(loci.CodeUnavailable, "another loci holds %s: end it, or try again", l.Path())
	default:
		return nil, fmt.Errorf("the login cannot be locked: %w", err)
	}
}
