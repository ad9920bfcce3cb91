package listen

import (
	"cmp"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/limit"
)

// stallAfter is how long a client may send nothing of its body, or take nothing of its response, before its connection
// counts for its network too.
const stallAfter = time.Second / 4

// A connShare counts a connection in the shares of users and networks: for the network of the client, and for the user
// alone once the request has proved a credential. While it is stalled it counts for the network too.
type connShare struct {
	holding *limit.Holding[limit.Key]

	mu            sync.Mutex
	network, user limit.Key   // of the request; without a proof there is no user
	unread        bool        // the body of the request has not arrived
	writing       bool        // the client has yet to take a part of the response
	stalled       bool        // for stallAfter
	timer         *time.Timer // calls stall
}

func newConnShare(holding *limit.Holding[limit.Key]) *connShare {
	s := &connShare{holding: holding}
	s.timer = time.AfterFunc(time.Hour, s.stall)
	s.timer.Stop()
	return s
}

// begin counts the connection for the network of a client that sends a request.
func (s *connShare) begin(network limit.Key, hasBody bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network, s.user, s.unread = network, limit.Key{}, hasBody
	s.move()
}

// prove counts the connection for a user alone.
func (s *connShare) prove(user limit.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user = user
	s.move()
}

// arrived ends the wait for the body.
func (s *connShare) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = false
	s.move()
}

// finish counts the connection for its peer after a request. While its body has not arrived the server reads on, and
// the connection stays what it is.
func (s *connShare) finish(peer limit.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unread {
		s.network, s.user = peer, limit.Key{}
		s.move()
	}
}

// end ends the count.
func (s *connShare) end() {
	s.timer.Stop()
	s.holding.Remove()
}

// read reports that a part of the request has arrived.
func (s *connShare) read() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mayStall() {
		if s.stalled {
			s.stalled = false
			s.holding.CountForOne() // the wait for the whole body continues
		}
		s.watch()
	}
}

// write reports that the client gets a part of the response, which the caller writes until done.
func (s *connShare) write(done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.writing // the part before, if any
	if s.writing = !done; s.stalled && took {
		s.move()
	} else {
		s.watch()
	}
}

// move counts the connection for the user or network of its request alone.
func (s *connShare) move() {
	s.stalled = false
	s.holding.Move(cmp.Or(s.user, s.network), s.unread)
	s.watch()
}

func (s *connShare) mayStall() bool { return s.writing || s.unread && s.user != limit.Key{} }

func (s *connShare) watch() {
	if s.mayStall() {
		s.timer.Reset(stallAfter)
	} else {
		s.timer.Stop()
	}
}

// stall counts the connection for its network too.
func (s *connShare) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mayStall() || s.stalled {
		return
	}
	s.stalled = true
	if !s.unread {
		s.holding.Wait() // for the client, which takes nothing of the response
	}
	if s.user != (limit.Key{}) {
		s.holding.CountFor(s.network)
	}
}
