package listen

import (
	"context"
	"net"
	"net/http"
	"time"
)

// closeIdleAfter is how long a new connection waits for a slot before idle connections are closed.
const closeIdleAfter = time.Second

// A limitListener bounds the open connections of an http.Server, so that enough file descriptors remain for the
// database. New connections wait in the queue of the system. An idle one makes room for them.
type limitListener struct {
	net.Listener
	server *http.Server
	slots  chan struct{} // one is taken for each connection
	closed context.Context
	stop   context.CancelFunc
}

// newLimitListener bounds the connections of a server, which must serve on the listener.
func newLimitListener(l net.Listener, most int, server *http.Server) *limitListener {
	a := &limitListener{Listener: Retry(l), server: server, slots: make(chan struct{}, most)}
	a.closed, a.stop = context.WithCancel(context.Background())
	server.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			<-a.slots
		}
	}
	return a
}

// Accept returns the next connection. It waits while the limit is reached.
func (a *limitListener) Accept() (net.Conn, error) {
	for {
		select {
		case a.slots <- struct{}{}:
			c, err := a.Listener.Accept()
			if err != nil {
				<-a.slots
			}
			return c, err
		case <-a.closed.Done():
			return nil, net.ErrClosed
		case <-time.After(closeIdleAfter):
			a.server.SetKeepAlivesEnabled(false) // closes idle connections
			a.server.SetKeepAlivesEnabled(true)
		}
	}
}

// Close ends Accept.
func (a *limitListener) Close() error {
	a.stop()
	return a.Listener.Close()
}

// isScarce reports that few slots are free: then a connection serves one request.
func (a *limitListener) isScarce() bool { return len(a.slots) > max(1, cap(a.slots)*3/4) }
