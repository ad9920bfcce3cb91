package messagedb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// A Feed tells the listeners of a server what agents have received. It covers the agents of all users.
type Feed struct{ base *scope.Base }

// NewFeed returns the feed of a database.
func NewFeed(b *scope.Base) *Feed { return &Feed{b} }

// SubscribeMessages calls received with the ids of the agents that a later message of this process has reached, after
// its commit.
func (f *Feed) SubscribeMessages(received func(agents []loci.ID)) {
	f.base.Messages.Subscribe(received)
}

// AgentStates returns the states of agents for their listeners.
func (f *Feed) AgentStates(ctx context.Context, ids []loci.ID) (map[loci.ID]AgentState, error) {
	return sqldb.SystemRead(ctx, f.base.DB, "read the agents that listen",
		func(t *sqldb.Tx) (map[loci.ID]AgentState, error) { return readStates(t, ids) })
}

// Deliveries returns the first messages after positions of agents that listen.
func (f *Feed) Deliveries(ctx context.Context, after []Position, limit int) ([]Delivery, error) {
	return sqldb.SystemRead(ctx, f.base.DB, "read what agents that listen have received",
		func(t *sqldb.Tx) ([]Delivery, error) { return readDeliveries(t, after, limit) })
}

// Messages returns messages that Deliveries has returned.
func (f *Feed) Messages(ctx context.Context, ids []loci.ID) ([]loci.Message, error) {
	return sqldb.SystemRead(ctx, f.base.DB, "read messages for agents that listen",
		func(t *sqldb.Tx) ([]loci.Message, error) { return readMessages(t, ids) })
}

// messageChannel is the channel of PostgreSQL on which servers wake each other.
const messageChannel = "loci_messages"

// NotifyServers wakes the other servers of the database with a payload. SQLite has none.
func (f *Feed) NotifyServers(ctx context.Context, payload string) error {
	return f.base.DB.Notify(ctx, messageChannel, payload)
}

// ListenServers calls heard with each payload of NotifyServers, first with an empty one, until ctx ends or the
// connection is lost.
func (f *Feed) ListenServers(ctx context.Context, heard func(payload string)) error {
	return f.base.DB.Listen(ctx, messageChannel, heard)
}

// An AgentState is the state of an agent for its listeners.
type AgentState struct {
	LastNumber int64 // all receipts up to it are committed
	Ended      bool  // its key is revoked, its grant has expired, or its user is disabled
}

// readStates returns the states of agents. One that was deleted, or whose grant was, has none.
func readStates(t *sqldb.Tx, ids []loci.ID) (map[loci.ID]AgentState, error) {
	states := make(map[loci.ID]AgentState, len(ids))
	err := t.Query(`SELECT g.id, g.last_number,`+accountdb.RevokedAgent("?2")+`OR u.disabled FROM `+
		fmt.Sprintf(t.Dialect.StringRows, 1)+` JOIN agents g ON g.id = list.value`+accountdb.AgentCredentials+
		`JOIN users u ON u.id = g.user_id WHERE`+accountdb.LiveAgent,
		[]any{sqldb.EncodeStrings(ids), t.Now}, func(r sqldb.Row) error {
			var id loci.ID
			var s AgentState
			err := r.Scan(&id, &s.LastNumber, &s.Ended)
			states[id] = s
			return err
		})
	return states, err
}

// A Position is a place in the sequence of an agent.
type Position struct {
	AgentID loci.ID
	Number  int64
}

// MarshalJSON returns the pair for Dialect.PairRows.
func (p Position) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.AgentID, p.Number}) }

// A Delivery is a message at its place in the sequence of a recipient.
type Delivery struct {
	Position
	MessageID loci.ID
}

// readDeliveries returns the first messages after positions, oldest first for each agent: those in workspaces that the
// owner of the agent belongs to now.
func readDeliveries(t *sqldb.Tx, after []Position, limit int) (list []Delivery, err error) {
	pairs, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	agents := `FROM ` + fmt.Sprintf(t.Dialect.PairRows, 1) + ` JOIN agents o ON o.id = list.name `
	received := ` receipts r JOIN messages x ON x.row_id = r.message
		JOIN members m ON m.workspace = x.workspace AND m.user_id = o.user_id
		WHERE r.agent = o.row_id AND r.number > list.number ORDER BY r.number, r.row_id LIMIT ?2`
	q := `SELECT o.id, r.number, x.id ` + agents + `CROSS JOIN` + received
	if t.Dialect.Postgres { // its planner expects a third of all receipts behind a position that it does not know
		q = `SELECT o.id, d.number, d.id ` + agents + `CROSS JOIN LATERAL (SELECT r.number, r.row_id, x.id FROM` +
			received + `) AS d ORDER BY d.number, d.row_id LIMIT ?2`
	}
	err = t.Query(q, []any{string(pairs), limit}, func(r sqldb.Row) error {
		var d Delivery
		err := r.Scan(&d.AgentID, &d.Number, &d.MessageID)
		list = append(list, d)
		return err
	})
	return list, err
}

// readMessages returns messages by their ids.
func readMessages(t *sqldb.Tx, ids []loci.ID) (list []loci.Message, err error) {
	err = t.Query(`SELECT`+columns+`FROM `+fmt.Sprintf(t.Dialect.StringRows, 1)+` JOIN messages x ON x.id = list.value`+
		senderJoin+`JOIN workspaces w ON w.row_id = x.workspace`, []any{sqldb.EncodeStrings(ids)},
		func(r sqldb.Row) error {
			var m loci.Message
			err := scan(r, &m)
			list = append(list, m)
			return err
		})
	return list, err
}
