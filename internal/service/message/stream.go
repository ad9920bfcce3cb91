package message

import (
	"context"
	"iter"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

const (
	// maxReadyMessages and maxReadyBytes bound the unread messages of the first event, in bytes of their JSON. Beyond
	// smallReadyBytes the room of all streams is shared: without room the first event has fewer.
	maxReadyMessages, maxReadyBytes, smallReadyBytes = 100, 1 << 20, 64 << 10
	// streamBatch is the number of messages that a stream reads at once.
	streamBatch = 8
)

// Dispatcher returns the dispatcher of the streams.
func (s *Service) Dispatcher() *dispatch.Dispatcher { return s.dispatcher }

// ListenAgent streams what the actor's agent receives: its unread messages, or what came since the last event of its
// client, then what comes.
func (s *Service) ListenAgent(ctx context.Context, actor *identity.Actor, in loci.ListenAgent) (
	iter.Seq2[loci.AgentEvent, error], error) {
	sub, err := s.dispatcher.Subscribe(actor.CredentialID, actor.AgentID)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, sub.Close)
	l := &listener{s: s, actor: actor, sub: sub, release: func() {}}
	ready, err := l.begin(ctx, in.WorkspaceID)
	if err != nil {
		sub.Close()
		return nil, err
	}
	return func(yield func(loci.AgentEvent, error) bool) {
		defer sub.Close()
		more := yield(ready, nil)
		ready = loci.AgentEvent{} // its messages are long
		l.release()
		if more {
			l.run(ctx, yield)
		}
	}, nil
}

// A listener is the position of one stream.
type listener struct {
	s     *Service
	actor *identity.Actor
	sub   *dispatch.Subscription

	release func() // gives back the room of the first event

	position int64           // the messages up to it were sent
	unread   messagedb.Range // the unread messages that the first event had no room for
}

// begin returns the first event, and sets the position behind it.
func (l *listener) begin(ctx context.Context, workspaceID loci.ID) (loci.AgentEvent, error) {
	e := loci.NewAgentEvent(loci.EventReady)
	e.AgentID, e.Unread = l.actor.AgentID, &[]loci.InboxMessage{}
	_, err := store.Read(ctx, l.s.store, l.actor, func(tx *store.Tx) (_ loci.Empty, err error) {
		if workspaceID != "" {
			if _, err = tx.WorkspaceRecord(workspaceID); err != nil {
				return loci.Empty{}, err
			}
		}
		last, err := messagedb.LastNumber(tx)
		if err != nil {
			return loci.Empty{}, err
		}
		l.sub.Start(last)
		if l.actor.LastEventID.Valid() {
			l.position, err = messagedb.NumberOf(tx, l.actor.LastEventID)
			if err == nil || !loci.Is(err, loci.CodeNotFound) {
				return loci.Empty{}, err
			}
		}
		l.position = last
		l.unread = messagedb.Range{Through: last, Unread: true, WorkspaceID: workspaceID, Limit: maxReadyMessages}
		list, err := messagedb.ListRange(tx, l.unread)
		if n := l.countReady(ctx, list.Items); n < len(list.Items) {
			list.Items, list.HasMore = list.Items[:n], true
		}
		for _, x := range list.Items {
			*e.Unread = append(*e.Unread, x.InboxMessage)
			l.unread.After = x.Number
		}
		if !list.HasMore {
			l.unread.After = last
		}
		return loci.Empty{}, err
	})
	return e, err
}

// countReady returns how many of the unread messages the first event has room for. It reserves the room until ctx ends
// or release is called.
func (l *listener) countReady(ctx context.Context, list []messagedb.Received) (n int) {
	size, small := 0, 0
	for i := range list {
		if size += page.JSONSize(&list[i].InboxMessage); size > maxReadyBytes {
			break
		}
		n++
		if size <= smallReadyBytes {
			small = n
		}
	}
	if n == small {
		return n
	}
	release, ok := l.s.dispatcher.Reserve(size)
	if !ok {
		return max(small, 1)
	}
	l.release = release
	context.AfterFunc(ctx, release)
	return n
}

// run sends events until the stream ends.
func (l *listener) run(ctx context.Context, yield func(loci.AgentEvent, error) bool) {
	heartbeat := time.NewTicker(l.s.heartbeat)
	defer heartbeat.Stop()
	for l.sendUnread(ctx, yield) && l.sendNew(ctx, yield) {
		select {
		case <-ctx.Done():
			return
		case <-l.sub.Ended():
			yield(loci.NewAgentEvent(loci.EventAuthRevoked), nil)
			return
		case <-heartbeat.C:
			if !yield(loci.NewAgentEvent(loci.EventHeartbeat), nil) {
				return
			}
		case <-l.sub.Woken():
		}
	}
}

// sendUnread sends the unread messages that the first event had no room for.
func (l *listener) sendUnread(ctx context.Context, yield func(loci.AgentEvent, error) bool) bool {
	l.unread.Limit = streamBatch
	for l.unread.After < l.unread.Through {
		last, more := l.sendRange(ctx, l.unread, yield)
		if l.unread.After = last; !more {
			return false
		}
	}
	return true
}

// sendNew sends the messages behind the position.
func (l *listener) sendNew(ctx context.Context, yield func(loci.AgentEvent, error) bool) bool {
	for {
		next := l.sub.After(l.position)
		switch {
		case next.Behind > 0:
			last, more := l.sendRange(ctx, messagedb.Range{After: l.position, Through: next.Behind,
				Limit: streamBatch}, yield)
			if l.position = last; !more {
				return false
			}
			continue
		case next.Number == l.position:
			return true
		}
		for _, e := range next.Events {
			if l.sub.HasEnded() {
				return true
			}
			if !yield(*e, nil) {
				return false
			}
		}
		l.position = max(l.position, next.Number)
	}
}

// sendRange sends the first messages of a range, and returns the position behind them.
func (l *listener) sendRange(ctx context.Context, x messagedb.Range,
	yield func(loci.AgentEvent, error) bool) (last int64, more bool) {
	list, err := store.Read(ctx, l.s.store, l.actor, func(tx *store.Tx) (page.List[messagedb.Received], error) {
		return messagedb.ListRange(tx, x)
	})
	if err != nil {
		yield(loci.AgentEvent{}, err)
		return x.After, false
	}
	last = x.After
	for _, m := range list.Items {
		if l.sub.HasEnded() {
			return x.Through, true
		}
		if !yield(loci.NewMessageEvent(m.Message), nil) {
			return last, false
		}
		last = m.Number
	}
	if !list.HasMore {
		last = x.Through
	}
	return last, true
}
