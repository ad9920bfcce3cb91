package listen

import (
	"context"
	"net"
	"sync"
	"time"
)

// firstRequests counts the connections whose first request has not reached the handler: a shutdown of an http.Server
// closes them without an answer, and a proxy must not repeat what it has sent.
type firstRequests struct{ waiting sync.WaitGroup }

type connKey struct{}

// accepted counts a connection of the server.
func (f *firstRequests) accepted(ctx context.Context, c net.Conn) context.Context {
	conn, ok := c.(*deadlineConn)
	if !ok {
		return ctx
	}
	f.waiting.Add(1)
	conn.began = sync.OnceFunc(f.waiting.Done)
	return context.WithValue(ctx, connKey{}, conn)
}

// began tells that a request of a connection has reached the handler.
func (f *firstRequests) began(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(*deadlineConn); ok {
		conn.began()
	}
}

// wait returns once no connection waits for its first request, or after a time.
func (f *firstRequests) wait(most time.Duration) {
	all := make(chan struct{})
	go func() {
		f.waiting.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(most):
	}
}
