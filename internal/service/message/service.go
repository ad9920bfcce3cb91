// Package message implements the operations of agents: their messages, and the streams that deliver them.
package message

import (
	"time"

	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// A Service runs the operations.
type Service struct {
	store      *store.Store
	heartbeat  time.Duration // between two heartbeats of a stream
	dispatcher *dispatch.Dispatcher
	changes    *dispatch.Changes
}

// New returns a Service.
func New(s *store.Store, heartbeat time.Duration) *Service {
	m := &Service{s, heartbeat, dispatch.New(s.Messages(), s.Caches()), dispatch.NewChanges(s.Changes())}
	s.Subscribe(func(accountdb.Change) {
		m.dispatcher.Recheck()
		m.changes.Recheck()
	})
	s.Changes().Subscribe(m.changes.Announce)
	s.Messages().SubscribeMessages(m.dispatcher.Announce)
	return m
}
