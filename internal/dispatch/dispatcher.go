package dispatch

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// A Source reads the receipts and messages, and connects the servers of a database.
type Source interface {
	AgentStates(ctx context.Context, ids []loci.ID) (map[loci.ID]messagedb.AgentState, error)
	Deliveries(ctx context.Context, after []messagedb.Position, limit int) ([]messagedb.Delivery, error)
	Messages(ctx context.Context, ids []loci.ID) ([]loci.Message, error)
	NotifyServers(ctx context.Context, payload string) error
	ListenServers(ctx context.Context, f func(payload string)) error
}

const (
	// LookInterval bounds how late a message or a revocation of another server is noticed.
	LookInterval = time.Second
	// maxStreams is the number of streams of a key.
	maxStreams = 50
	// maxRecent is the number of newest messages of an agent whose numbers are kept.
	maxRecent = 64
	// maxDeliveries is the number of messages that one query looks for.
	maxDeliveries = 1000
	// maxEventBytes bounds the texts that are kept.
	maxEventBytes = 8 << 20
	// maxReserved bounds the large events of all streams.
	maxReserved = 32 << 20
)

// A Dispatcher knows the agents that listen on this server.
type Dispatcher struct {
	source Source
	name   string                                  // in notifications
	events *cache.Cache[loci.ID, *loci.AgentEvent] // by the id of the message

	// Wake starts a round of Look, and WakeNotify one of Notify, soon. They are set before the first use.
	Wake, WakeNotify func()

	mu        sync.Mutex
	agents    map[loci.ID]*agent // those that listen
	streams   map[loci.ID]int    // of a key
	count     int                // of all streams
	reserved  int                // bytes of large events
	due       map[loci.ID]bool   // agents that have perhaps received something
	allDue    bool               // all agents, and their keys are to be checked
	checked   time.Time          // when all were due
	announced map[loci.ID]bool   // agents that other servers are to look for
}

// An agent is the state of an agent that listens.
type agent struct {
	id, key   loci.ID
	listeners map[*Subscription]bool
	isKnown   bool   // seen is set
	base      int64  // the messages up to it are not in recent
	seen      int64  // the messages up to it were looked at
	recent    []item // those between base and seen that were in reach at the last look
}

// An item is a message at its place in the sequence of an agent.
type item struct {
	number  int64
	message loci.ID
}

// New returns a dispatcher without listeners.
func New(s Source, caches *cache.Budget) *Dispatcher {
	return &Dispatcher{source: s, name: rand.Text(), events: cache.New(caches, "events", sizeOf).AtMost(maxEventBytes),
		agents: map[loci.ID]*agent{}, streams: map[loci.ID]int{}, due: map[loci.ID]bool{},
		announced: map[loci.ID]bool{},
		Wake:      func() {}, WakeNotify: func() {}}
}

// Streams returns the number of streams.
func (d *Dispatcher) Streams() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// markDue notes agents that have perhaps received something, if they listen here.
func (d *Dispatcher) markDue(ids []loci.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if d.agents[id] != nil {
			d.due[id] = true
		}
	}
	if len(d.due) > 0 {
		d.Wake()
	}
}

// Recheck makes all agents due: a credential or a membership has changed.
func (d *Dispatcher) Recheck() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.allDue = true; len(d.agents) > 0 {
		d.Wake()
	}
}

// sizeOf is that of the message and of its encoding.
func sizeOf(id loci.ID, e *loci.AgentEvent) int {
	return len(id) + len(e.Encoding()) + len(e.Message.Content) + len(e.Message.Subject) + 512
}

// Look does one round: it finds what the agents that are due have received, and wakes their listeners. Once in an
// interval all agents are due, and those whose key was revoked end.
func (d *Dispatcher) Look(ctx context.Context) error {
	ids, all := d.takeDue()
	if len(ids) == 0 {
		return nil
	}
	err := d.look(ctx, ids, all)
	if err != nil {
		d.mu.Lock()
		d.allDue = true // what was due is looked for again
		d.mu.Unlock()
	}
	return err
}

// takeDue returns the agents that are due.
func (d *Dispatcher) takeDue() (ids []loci.ID, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); now.Sub(d.checked) >= LookInterval*9/10 { // rounds do not start on time
		d.allDue, d.checked = true, now
	}
	all = d.allDue
	for id, a := range d.agents {
		if all || d.due[id] && a.isKnown {
			ids = append(ids, id)
		}
		if all { // a membership may have ended since they were found: streams that are behind read the database
			a.base, a.recent = a.seen, nil
		}
	}
	d.allDue = false
	clear(d.due)
	return ids, all
}

func (d *Dispatcher) look(ctx context.Context, ids []loci.ID, all bool) error {
	var states map[loci.ID]messagedb.AgentState
	if all {
		var err error
		if states, err = d.source.AgentStates(ctx, ids); err != nil {
			return err
		}
	}
	looked := map[loci.ID]bool{} // the agents whose messages were looked for
	after := d.positions(ids, states)
	for len(after) > 0 {
		for _, x := range after {
			looked[x.AgentID] = true
		}
		list, err := d.source.Deliveries(ctx, after, maxDeliveries)
		if err == nil {
			err = d.loadEvents(ctx, list)
		}
		if err != nil {
			return err
		}
		d.deliver(list)
		if len(list) < maxDeliveries {
			d.catchUp(states, looked)
			return nil
		}
		after = d.positions(ids, states)
	}
	return nil
}

// positions ends the agents that have no longer a credential, and returns where those are that have perhaps received
// something.
func (d *Dispatcher) positions(ids []loci.ID, states map[loci.ID]messagedb.AgentState) (after []messagedb.Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		a := d.agents[id]
		if a == nil {
			continue
		}
		state, ok := states[id]
		switch {
		case states != nil && (!ok || state.Ended):
			a.end()
		case !a.isKnown || states != nil && state.LastNumber <= a.seen:
		default:
			after = append(after, messagedb.Position{AgentID: id, Number: a.seen})
		}
	}
	return after
}

// loadEvents reads and encodes the messages that are not kept.
func (d *Dispatcher) loadEvents(ctx context.Context, list []messagedb.Delivery) error {
	var missing []loci.ID
	asked := map[loci.ID]bool{}
	for _, x := range list {
		if !asked[x.MessageID] && d.events.Get(x.MessageID) == nil {
			missing = append(missing, x.MessageID)
		}
		asked[x.MessageID] = true
	}
	for len(missing) > 0 {
		n := min(len(missing), maxDeliveries/10) // of 32 KiB each
		messages, err := d.source.Messages(ctx, missing[:n])
		if err != nil {
			return err
		}
		for _, m := range messages {
			e := loci.NewMessageEvent(m)
			data, err := op.Marshal(e)
			if err != nil {
				return err
			}
			e = e.WithEncoding(data)
			d.events.Put(m.ID, &e)
		}
		missing = missing[n:]
	}
	return nil
}

// deliver adds what was found to the agents, and wakes their listeners.
func (d *Dispatcher) deliver(list []messagedb.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range list {
		if a := d.agents[x.AgentID]; a != nil && a.isKnown && x.Number > a.seen {
			a.add(item{x.Number, x.MessageID})
		}
	}
}

// catchUp skips the messages out of reach of agents, which the look for them has not found.
func (d *Dispatcher) catchUp(states map[loci.ID]messagedb.AgentState, looked map[loci.ID]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range looked {
		if a := d.agents[id]; a != nil && a.isKnown && states[id].LastNumber > a.seen {
			a.seen = states[id].LastNumber
		}
	}
}

func (a *agent) add(x item) {
	a.seen = x.number
	if a.recent = append(a.recent, x); len(a.recent) > maxRecent {
		n := len(a.recent) - maxRecent/2
		a.base = a.recent[n-1].number
		a.recent = append(a.recent[:0:0], a.recent[n:]...)
	}
	for s := range a.listeners {
		s.signal()
	}
}

func (a *agent) end() {
	for s := range a.listeners {
		s.endOnce()
	}
}
