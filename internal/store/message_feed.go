package store

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// AgentStates returns the states of agents for their listeners.
func (s *Store) AgentStates(ctx context.Context, ids []loci.ID) (map[loci.ID]messagedb.AgentState, error) {
	return sqldb.SystemRead(ctx, s.db, "read the agents that listen",
		func(t *sqldb.Tx) (map[loci.ID]messagedb.AgentState, error) { return messagedb.Agents(t, ids) })
}

// Deliveries returns the first messages after positions of agents that listen.
func (s *Store) Deliveries(ctx context.Context, after []messagedb.Position, limit int) ([]messagedb.Delivery, error) {
	return sqldb.SystemRead(ctx, s.db, "read what agents that listen have received",
		func(t *sqldb.Tx) ([]messagedb.Delivery, error) { return messagedb.Deliveries(t, after, limit) })
}

// Messages returns messages that Deliveries has returned.
func (s *Store) Messages(ctx context.Context, ids []loci.ID) ([]loci.Message, error) {
	return sqldb.SystemRead(ctx, s.db, "read messages for agents that listen",
		func(t *sqldb.Tx) ([]loci.Message, error) { return messagedb.Messages(t, ids) })
}

// messageChannel is the channel of PostgreSQL on which servers wake each other.
const messageChannel = "loci_messages"

// NotifyServers wakes the other servers of the database with a payload. SQLite has none.
func (s *Store) NotifyServers(ctx context.Context, payload string) error {
	return s.db.Notify(ctx, messageChannel, payload)
}

// ListenServers calls f with each payload of NotifyServers, first with an empty one, until ctx ends or the connection
// is lost.
func (s *Store) ListenServers(ctx context.Context, f func(payload string)) error {
	return s.db.Listen(ctx, messageChannel, f)
}
