package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
)

// A client has publicBodyTimeout to send a body, and bodyTimeout once it has proved a credential. It has
// bodyIdleTimeout to send some of its body. Requests in progress have finishTimeout when the server ends, and
// connections a tenth of it for their first request.
const (
	publicBodyTimeout = 10 * time.Second
	bodyTimeout       = 2 * time.Minute
	bodyIdleTimeout   = 30 * time.Second
	finishTimeout     = 10 * time.Second
)

// TCP listens at the address that a flag sets.
func TCP(ctx context.Context, address, flag string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	return l, explainListen(ctx, err, address, flag)
}

// Serve serves at most that many connections at a time until closing ends. Then it closes the listener and finishes
// the requests in progress. Once draining has ended, the drain begins: each answer closes its connection. A client that
// keeps connections alive opens a new one, which its proxy may route to another server.
//
// Users and networks have a share of the connections. The peers that are trusted proxies have none of their own.
func Serve(draining, closing context.Context, l net.Listener, connections int, proxies httpapi.Proxies,
	h http.Handler, log *slog.Logger) error {
	return serve(draining, closing, l, connections, proxies, h, log, finishTimeout)
}

func serve(draining, closing context.Context, l net.Listener, connections int, proxies httpapi.Proxies, h http.Handler,
	log *slog.Logger, finish time.Duration) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(closing))
	defer endRequests() // those that are still in progress after finish
	srv := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       bodyTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     ErrorLog(log, "api"),
	}
	a := newLimitListener(l, connections, srv)
	var first firstRequests
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		conn := c.(*deadlineConn)
		conn.began = first.add()
		conn.share = newConnShare(a.shares.Add(proxies.Subnet(c.RemoteAddr().String()), func() { conn.Close() }))
		return context.WithValue(ctx, connKey{}, conn)
	}
	h = withShares(h, proxies)
	// Disabling keep-alives would close idle connections, and with them requests that are on their way.
	srv.Handler = httpapi.WithBodyDeadlines(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connOf(r.Context()).began()
		if draining.Err() != nil || a.shares.IsScarce() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	}), bodyIdleTimeout, publicBodyTimeout)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(withWriteDeadlines(a)) }()
	select {
	case err := <-ended:
		return err
	case <-closing.Done():
	}
	waitForQueue(l)
	a.Close()
	<-ended // what the listener had accepted is served
	first.wait(finish / 10)
	finishing, cancel := context.WithTimeout(context.Background(), finish)
	defer cancel()
	if err := srv.Shutdown(finishing); errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
	}
	return nil
}
