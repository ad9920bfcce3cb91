package dispatch

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci"
)

// A Subscription is one stream of an agent.
type Subscription struct {
	signals
	d     *Dispatcher
	agent *agent
	close func()
}

// Subscribe adds a stream of an agent with a key. A key has at most 50. The caller reads what the agent has received so
// far, then calls Start, and Close at the end.
func (d *Dispatcher) Subscribe(key, agentID loci.ID) (*Subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[key] >= maxStreams {
		return nil, loci.Errorf(loci.CodeRateLimited, "This key has %d streams already: close one.", maxStreams)
	}
	a := d.agents[agentID]
	if a == nil {
		a = &agent{id: agentID, key: key, listeners: map[*Subscription]bool{}}
		d.agents[agentID] = a
	}
	s := &Subscription{signals: newSignals(), d: d, agent: a}
	s.close = sync.OnceFunc(s.remove)
	a.listeners[s] = true
	d.streams[key]++
	d.count++
	return s, nil
}

// Close removes the stream. It may be called more than once.
func (s *Subscription) Close() { s.close() }

func (s *Subscription) remove() {
	d, a := s.d, s.agent
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count--
	if d.streams[a.key]--; d.streams[a.key] == 0 {
		delete(d.streams, a.key)
	}
	if delete(a.listeners, s); len(a.listeners) == 0 {
		delete(d.agents, a.id)
	}
}

// Start states up to which number the messages of the agent were read. All smaller ones were committed then.
func (s *Subscription) Start(number int64) {
	d, a := s.d, s.agent
	d.mu.Lock()
	defer d.mu.Unlock()
	if !a.isKnown {
		a.isKnown, a.base, a.seen = true, number, number
	}
	d.due[a.id] = true // what was committed after it was read
	d.Wake()
}

// Reserve reserves memory for an event that many messages make large, of what all streams share. release gives it back.
func (d *Dispatcher) Reserve(bytes int) (release func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reserved+bytes > maxReserved {
		return nil, false
	}
	d.reserved += bytes
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.reserved -= bytes
	}), true
}

// A Next is what follows a position of a stream.
type Next struct {
	Events []*loci.AgentEvent
	Number int64 // the position behind the events
	Behind int64 // if not 0, the messages between Number and Behind are to be read from the database
}

// maxNext is the number of events that After returns: they stay in memory while a client reads them.
const maxNext = 4

// After returns what follows a position.
func (s *Subscription) After(number int64) (next Next) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	a := s.agent
	if next.Number = number; !a.isKnown || a.seen <= number {
		return next
	}
	if number < a.base {
		next.Behind = a.seen
		return next
	}
	from, _ := slices.BinarySearchFunc(a.recent, number+1, func(x item, n int64) int { return int(x.number - n) })
	for _, x := range a.recent[from:] {
		if len(next.Events) == maxNext {
			s.signal()
			return next
		}
		e := s.d.events.Get(x.message)
		if e == nil { // it was evicted
			if len(next.Events) > 0 {
				s.signal()
			} else {
				next.Behind = x.number
			}
			return next
		}
		next.Events, next.Number = append(next.Events, e), x.number
	}
	next.Number = a.seen
	return next
}
