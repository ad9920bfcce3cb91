package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// A fakeStream counts what keeps it alive. It breaks after most of them.
type fakeStream struct {
	kept, most int
	closed     chan struct{}
}

func (s *fakeStream) send([]byte) error { return nil }

func (s *fakeStream) keepAlive() error {
	if s.kept++; s.kept > s.most {
		return errors.New("the client has left")
	}
	return nil
}

func (s *fakeStream) closing() <-chan struct{} { return s.closed }

func TestSubscriptionIsKeptAliveForBoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		never := func() bool { return false }
		s := &fakeStream{most: 1000}
		if hold(t.Context(), s, never); time.Since(begun) != maxSubscription || s.kept < 44 || s.kept > 45 {
			t.Errorf("held for %s, kept alive %d times", time.Since(begun), s.kept)
		}
		begun = time.Now()
		if hold(t.Context(), &fakeStream{most: 2}, never); time.Since(begun) != 3*keepAliveInterval {
			t.Errorf("a broken stream was held for %s", time.Since(begun))
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		begun = time.Now()
		if hold(ctx, s, never); time.Since(begun) != time.Second {
			t.Errorf("a client that left was held for %s", time.Since(begun))
		}
		begun = time.Now()
		revoked := func() bool { return time.Since(begun) > time.Minute }
		if hold(t.Context(), s, revoked); time.Since(begun) > time.Minute+2*time.Second {
			t.Errorf("a revoked credential was held for %s", time.Since(begun))
		}
	})
}

func TestSubscriptionsAreReleased(t *testing.T) {
	t.Parallel()
	var s subscriptionCounter
	for range 3 {
		var releases []func()
		for range maxSubscriptions {
			release := testenv.Must(s.acquire("ann"))(t)
			releases = append(releases, release)
		}
		if _, err := s.acquire("ann"); err == nil {
			t.Error("one too many")
		}
		for _, release := range releases {
			release()
		}
	}
	if len(s.held) > 0 {
		t.Errorf("%v", s.held)
	}
}
