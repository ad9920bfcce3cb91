package listen

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
)

// A new connection waits closeIdleAfter for a slot before idle connections are closed, and endInterval before stalled
// ones are.
const (
	closeIdleAfter = time.Second
	endInterval    = time.Second / 20
)

// A limitListener bounds the open connections of an http.Server, so that enough file descriptors remain for the
// database. New connections wait in the queue of the system. An idle one makes room for them.
type limitListener struct {
	net.Listener
	server *http.Server
	slots  chan struct{}            // one is taken for each connection
	shares *limit.Shares[limit.Key] // of the connections, by user or network
	closed context.Context
	stop   context.CancelFunc
}

// newLimitListener bounds the connections of a server, which must serve on the listener.
func newLimitListener(l net.Listener, most int, server *http.Server) *limitListener {
	a := &limitListener{Listener: Retry(l), server: server, slots: make(chan struct{}, most),
		shares: limit.NewShares[limit.Key](most, limit.Share(most))}
	a.closed, a.stop = context.WithCancel(context.Background())
	server.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			c.(*deadlineConn).share.end()
			<-a.slots
		}
	}
	return a
}

// Accept returns the next connection. It waits while the limit is reached.
func (a *limitListener) Accept() (net.Conn, error) {
	for began := time.Now(); ; {
		a.shares.EndStalled()
		select {
		case a.slots <- struct{}{}:
			c, err := a.Listener.Accept()
			if err != nil {
				<-a.slots
			}
			return c, err
		case <-a.closed.Done():
			return nil, net.ErrClosed
		case <-time.After(endInterval):
			if time.Since(began) >= closeIdleAfter {
				a.server.SetKeepAlivesEnabled(false) // closes idle connections
				a.server.SetKeepAlivesEnabled(true)
				began = time.Now()
			}
		}
	}
}

// Close ends Accept.
func (a *limitListener) Close() error {
	a.stop()
	return a.Listener.Close()
}

// withShares returns a handler that counts the connection of a request to the network of its client, and to the user
// alone once it has proved a credential. While few are free, a network or user above its share loses connections that
// wait: those that have not sent a whole request, or take nothing of their response.
func withShares(h http.Handler, proxies httpapi.Proxies) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		share := connOf(r.Context()).share
		share.begin(limit.Subnet(proxies.ClientIP(r)), httpapi.OnBodyEnd(r, share.arrived))
		defer share.finish(proxies.Subnet(r.RemoteAddr))
		h.ServeHTTP(w, r.WithContext(limit.WithProver(r.Context(), func(user limit.Key) {
			share.prove(user)
			httpapi.SetBodyTimeout(r, bodyTimeout)
		})))
	})
}
