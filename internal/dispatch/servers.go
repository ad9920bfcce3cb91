package dispatch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
)

// maxPayload is less than the limit of PostgreSQL, 8,000 bytes.
const maxPayload = 7000

// A notification is what one server tells the others: that agents have received messages.
type notification struct {
	Server string    `json:"server"`
	Agents []loci.ID `json:"agents"` // null: any agent
}

// Announce tells the listeners here, and those of the other servers, that agents have received a message. It waits for
// nobody.
func (d *Dispatcher) Announce(agents []loci.ID) {
	d.markDue(agents)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range agents {
		d.announced[id] = true
	}
	if len(agents) > 0 {
		d.WakeNotify()
	}
}

// Notify tells the other servers what was announced since the last round.
func (d *Dispatcher) Notify(ctx context.Context) error {
	d.mu.Lock()
	n := notification{Server: d.name, Agents: slices.Collect(maps.Keys(d.announced))}
	clear(d.announced)
	d.mu.Unlock()
	if len(n.Agents) == 0 {
		return nil
	}
	payload, err := json.Marshal(n)
	if err == nil && len(payload) > maxPayload {
		n.Agents = nil
		payload, err = json.Marshal(n)
	}
	if err != nil {
		return err
	}
	return d.source.NotifyServers(ctx, string(payload))
}

// Listen receives the notifications of the other servers, until ctx ends or the connection is lost.
func (d *Dispatcher) Listen(ctx context.Context) error { return d.source.ListenServers(ctx, d.receive) }

// receive reads a payload. An empty one begins a connection: notifications may have been lost before it.
func (d *Dispatcher) receive(payload string) {
	var n notification
	if err := json.Unmarshal([]byte(payload), &n); err == nil && n.Server == d.name {
		return
	}
	if n.Agents != nil {
		d.markDue(n.Agents)
		return
	}
	d.Recheck()
}
