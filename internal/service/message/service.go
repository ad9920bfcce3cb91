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
}

// New returns a Service.
func New(s *store.Store, heartbeat time.Duration) *Service {
	m := &Service{s, heartbeat, dispatch.New(s.Messages(), s.Caches())}
	s.Subscribe(func(accountdb.Change) { m.dispatcher.Recheck() })
	s.Messages().SubscribeMessages(m.dispatcher.Announce)
	return m
}
