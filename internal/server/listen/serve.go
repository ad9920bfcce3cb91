package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
)

// Times of a shutdown.
const (
	acceptPause = 20 * time.Millisecond // after which no connection waits to be accepted
	acceptGrace = time.Second           // for accepting them
)

// graces are the times that a shutdown gives to clients.
type graces struct {
	idle  time.Duration // for requests on connections that are kept alive
	drain time.Duration // for requests in progress
}

var defaultGraces = graces{idle: 500 * time.Millisecond, drain: 10 * time.Second}

// closeIdleAfter is how long a new connection waits for a slot before idle connections are closed.
const closeIdleAfter = time.Second

// A limitListener limits its connections by the file descriptors, so that enough remain for the database. Draining it
// accepts the connections that the kernel has accepted already, and none afterwards.
type limitListener struct {
	*net.TCPListener
	slots     chan struct{} // one is taken for each connection
	closeIdle func()        // closes idle connections
	closed    chan struct{}
	draining  atomic.Bool
}

// TCP listens at the address that a flag sets. It turns off Multipath TCP, Go's default, which has no socket filter:
// see dropSYN.
func TCP(ctx context.Context, address, flag string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(ctx, "tcp", address)
	return l, explainListen(ctx, err, address, flag)
}

func newLimitListener(l net.Listener, most int) *limitListener {
	return &limitListener{TCPListener: l.(*net.TCPListener), slots: make(chan struct{}, most), closeIdle: func() {},
		closed: make(chan struct{})}
}

// Accept returns the next connection. It waits while the limit is reached.
func (a *limitListener) Accept() (net.Conn, error) {
	if err := a.acquire(); err != nil {
		return nil, err
	}
	c, err := a.AcceptTCP()
	if a.draining.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		// The deadline may have passed before the first attempt.
		_ = a.SetDeadline(time.Now().Add(acceptPause))
		if c, err = a.AcceptTCP(); errors.Is(err, os.ErrDeadlineExceeded) {
			err = net.ErrClosed
		}
	}
	if err != nil {
		<-a.slots
		return nil, err
	}
	return &limitConn{TCPConn: c, release: sync.OnceFunc(func() { <-a.slots })}, nil
}

func (a *limitListener) acquire() error {
	for {
		wait := time.NewTimer(closeIdleAfter)
		select {
		case a.slots <- struct{}{}:
			wait.Stop()
			return nil
		case <-a.closed:
			wait.Stop()
			return net.ErrClosed
		case <-wait.C:
			a.closeIdle()
		}
	}
}

// drain accepts the waiting connections, and ends Accept. New connections are dropped: closing the listener would reset
// those that the kernel accepts meanwhile.
func (a *limitListener) drain() {
	a.draining.Store(true)
	dropSYN(a.TCPListener)
	_ = a.SetDeadline(time.Now().Add(acceptPause)) // fails on a closed listener only
	time.AfterFunc(acceptGrace, func() {
		close(a.closed)
		_ = a.Close() // while clients still connect
	})
}

// closeWhenScarce makes clients open a new connection for the next request
// during shutdown, and while connections are scarce.
func (a *limitListener) closeWhenScarce(h http.Handler) http.Handler {
	scarce := max(1, cap(a.slots)*3/4)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(a.slots) > scarce || a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// A limitConn returns its slot when it is closed.
type limitConn struct {
	*net.TCPConn
	release func()
}

// Close closes the connection.
func (c *limitConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}

// A client has bodyTimeout to send a request, and bodyIdleTimeout to send some of its body.
const (
	bodyTimeout     = 2 * time.Minute
	bodyIdleTimeout = 30 * time.Second
)

// Serve serves at most that many connections at a time until ctx ends. Then it finishes the requests in progress
// and those that were accepted. The next answer tells clients to close their connections, and only connections without
// a request are closed.
func Serve(ctx context.Context, l net.Listener, connections int, h http.Handler, log *slog.Logger) error {
	return serve(ctx, l, connections, h, log, defaultGraces)
}

func serve(ctx context.Context, l net.Listener, connections int, h http.Handler, log *slog.Logger, g graces) error {
	a := newLimitListener(l, connections)
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests() // those that are still in progress after the grace
	srv := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return requests },
		Handler:           httpapi.WithBodyDeadlines(a.closeWhenScarce(h), bodyIdleTimeout, bodyTimeout),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       bodyTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     ErrorLog(log, "api"),
	}
	a.closeIdle = func() {
		srv.SetKeepAlivesEnabled(false) // closes idle connections
		srv.SetKeepAlivesEnabled(true)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(Harden(a, "api", log)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	a.drain()
	<-ended
	for until := time.Now().Add(g.idle); len(a.slots) > 0 && time.Now().Before(until); {
		time.Sleep(5 * time.Millisecond)
	}
	draining, cancel := context.WithTimeout(context.Background(), g.drain)
	defer cancel()
	if err := srv.Shutdown(draining); errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
	}
	return nil
}
