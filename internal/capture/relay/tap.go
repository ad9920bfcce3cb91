package relay

import (
	"bytes"
	"sync"
)

// A direction is one of the two streams.
type direction int

const (
	fromClient direction = iota // to the program
	fromAgent                   // from the program to the client
)

// maxQueued is the most memory of data that waits for an observer. Each piece costs pieceCost beside its bytes.
const (
	maxQueued = 16 << 20
	pieceCost = 64
)

// An Observer reads a copy of both streams, from one goroutine.
type Observer interface {
	// FromClient and FromAgent get the next bytes of a direction, in the order in which the relay received them. They
	// must not keep data.
	FromClient(data []byte)
	FromAgent(data []byte)
	// Lost reports that bytes of either direction are missing here.
	Lost()
}

// A Tap hands copies of bytes to an observer. It drops what the observer is too slow for.
type Tap struct {
	mu     sync.Mutex
	queue  []piece
	size   int  // of the data in the queue
	lost   bool // the last piece of the queue marks a loss
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

// A piece is data of a direction, or without data the mark of a loss.
type piece struct {
	direction direction
	data      []byte
}

// NewTap starts to feed an observer. Close ends it.
func NewTap(o Observer) *Tap {
	t := &Tap{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go t.run(o)
	return t
}

// offer copies data for the observer. It never waits for it: with a full queue it notes a loss.
func (t *Tap) offer(d direction, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cost := len(data) + pieceCost
	switch {
	case t.closed:
		return
	case t.size+cost > maxQueued:
		if !t.lost {
			t.queue, t.lost = append(t.queue, piece{}), true
		}
	default:
		t.queue, t.lost = append(t.queue, piece{d, bytes.Clone(data)}), false
		t.size += cost
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Close ends the stream of the observer. Done is closed when it has read the rest.
func (t *Tap) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		close(t.wake)
	}
}

// Done is closed when the observer has read everything before Close.
func (t *Tap) Done() <-chan struct{} { return t.done }

// run feeds the observer. A fault of the observer ends the observation, and not the conversation.
func (t *Tap) run(o Observer) {
	defer close(t.done)
	defer func() {
		if recover() != nil {
			t.Close()
			t.take()
		}
	}()
	for more := true; more; {
		_, more = <-t.wake
		for _, p := range t.take() {
			switch {
			case p.data == nil:
				o.Lost()
			case p.direction == fromClient:
				o.FromClient(p.data)
			default:
				o.FromAgent(p.data)
			}
		}
	}
}

// take empties the queue.
func (t *Tap) take() []piece {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.queue
	t.queue, t.size, t.lost = nil, 0, false
	return taken
}
