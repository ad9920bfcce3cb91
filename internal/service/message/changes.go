package message

import (
	"context"
	"iter"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// Changes returns the streams of changes of this server.
func (s *Service) Changes() *dispatch.Changes { return s.changes }

// ListenAccount streams the changes in the workspaces of the actor from now on.
func (s *Service) ListenAccount(ctx context.Context, actor *identity.Actor, _ loci.Empty) (
	iter.Seq2[loci.ChangeEvent, error], error) {
	sub, err := s.changes.Subscribe(ctx, actor.UserID, actor.CredentialID)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, sub.Close)
	return func(yield func(loci.ChangeEvent, error) bool) {
		defer sub.Close()
		heartbeat := time.NewTicker(s.heartbeat)
		defer heartbeat.Stop()
		for more := yield(loci.NewChangeEvent(loci.EventReady), nil); more; {
			select {
			case <-ctx.Done():
				return
			case <-sub.Ended():
				yield(loci.NewChangeEvent(loci.EventAuthRevoked), nil)
				return
			case <-heartbeat.C:
				more = yield(loci.NewChangeEvent(loci.EventHeartbeat), nil)
			case <-sub.Woken():
				more = s.sendChanges(ctx, actor, sub, yield)
			}
		}
	}, nil
}

// sendChanges sends what has changed. A stream that is too far behind ends: its client connects again and reads anew.
func (s *Service) sendChanges(ctx context.Context, actor *identity.Actor, sub *dispatch.ChangeStream,
	yield func(loci.ChangeEvent, error) bool) (more bool) {
	numbers, ok := sub.Take()
	if !ok {
		return false
	}
	list, err := store.Read(ctx, s.store, actor, func(tx *store.Tx) ([]loci.ChangeEvent, error) {
		return tx.ChangeEvents(numbers)
	})
	if err != nil {
		yield(loci.ChangeEvent{}, err)
		return false
	}
	for _, e := range list {
		if sub.HasEnded() {
			return true
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}
