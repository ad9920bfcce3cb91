package listen

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
)

// closeIdleAfter is how long a new connection waits for a slot before idle connections are closed.
const closeIdleAfter = time.Second

// A limitListener bounds the open connections of an http.Server, so that enough file descriptors remain for the
// database. New connections wait in the queue of the system. An idle one makes room for them.
type limitListener struct {
	net.Listener
	server *http.Server
	slots  chan struct{} // one is taken for each connection
	shares *limit.Shares // of the connections, by user or network
	closed context.Context
	stop   context.CancelFunc
}

// newLimitListener bounds the connections of a server, which must serve on the listener.
func newLimitListener(l net.Listener, most int, server *http.Server) *limitListener {
	a := &limitListener{Listener: Retry(l), server: server, slots: make(chan struct{}, most),
		shares: limit.NewShares(limit.Share(most))}
	a.closed, a.stop = context.WithCancel(context.Background())
	server.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			if c, ok := c.(*deadlineConn); ok && c.holding != nil {
				c.holding.Remove()
			}
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

type connKey struct{}

// withShares returns a handler that counts connections by network, and those with a call of a proved credential by the
// user alone. A network at its share loses the connection that has waited for longest, first of those that are idle or
// send a body. A user at its share is refused.
func (a *limitListener) withShares(h http.Handler, proxies httpapi.Proxies) http.Handler {
	a.server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		conn, ok := c.(*deadlineConn)
		if !ok {
			return ctx
		}
		conn.holding = a.shares.Add(proxies.Subnet(c.RemoteAddr().String()), func() { conn.Close() })
		return context.WithValue(ctx, connKey{}, conn.holding)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		holding, ok := r.Context().Value(connKey{}).(*limit.Holding)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		holding.Move(limit.Subnet(proxies.ClientIP(r)), r.ContentLength != 0)
		defer holding.Move(proxies.Subnet(r.RemoteAddr), true)
		h.ServeHTTP(w, r.WithContext(limit.WithProver(r.Context(), func(user limit.Key) error {
			if !holding.TryMove(user) {
				w.Header().Set("Connection", "close")
				return connectionRefusal.Error(connectionRefusal.RetryAfter)
			}
			httpapi.SetBodyTimeout(r, bodyTimeout)
			return nil
		})))
	})
}

// connectionRefusal refuses a call of a user whose other calls hold its share of the connections.
var connectionRefusal = limit.Refusal{Name: "connections of a user", Code: loci.CodeRateLimited,
	RetryAfter: time.Second,
	Message:    "Your other calls and streams hold as many connections as one user may: end some, and try again."}
