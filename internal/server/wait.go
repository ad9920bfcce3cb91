package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server/listen"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/store"
)

// While a server waits for its database, it tries once each waitInterval and logs once each waitLogInterval.
const (
	waitInterval    = time.Second
	waitLogInterval = 10 * time.Second
)

// openWaiting opens the database. It waits for a PostgreSQL server that does not accept connections yet, at most for
// DBWait. Other errors, as of a wrong password, end it at once.
func (x *instance) openWaiting(ctx context.Context) (*store.Store, error) {
	open := func() (*store.Store, error) { return x.openStore(ctx, store.Options{Log: x.log, Embedder: x.model}) }
	st, err := open()
	if x.DB == "" || x.DBWait == 0 || !postgres.IsStarting(err) {
		return st, err
	}
	if err := x.waitForDatabase(ctx, err); err != nil {
		return nil, err
	}
	return open() // reports a database that is still not there
}

// waitForDatabase waits until the database accepts connections, or for DBWait. err is that of the last attempt.
// Meanwhile /health answers, and everything else is 503.
func (x *instance) waitForDatabase(ctx context.Context, err error) error {
	waiting, end := context.WithTimeout(ctx, x.DBWait)
	defer end()
	ready := &readiness{log: x.log, draining: ctx.Done()}
	stop, listenErr := x.answerWhileWaiting(waiting, ready)
	if listenErr != nil {
		return listenErr
	}
	defer stop()
	var logged time.Time
	for postgres.IsStarting(err) {
		ready.set(err, nil)
		if now := time.Now(); now.Sub(logged) >= waitLogInterval {
			x.log.Warn("the server waits for its database", "most", x.DBWait.String(), "err", causeText(err))
			logged = now
		}
		if !contextio.Sleep(waiting, waitInterval) {
			return ctx.Err()
		}
		err = postgres.Ping(waiting, x.DB)
	}
	if waiting.Err() == nil {
		x.log.Info("the database answers")
	}
	return ctx.Err()
}

// answerWhileWaiting listens at the addresses of the server until stop.
func (x *instance) answerWhileWaiting(ctx context.Context, ready *readiness) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.Handle("GET /health", rest.Health(Version))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpapi.WriteError(w, r, nil, loci.NewError(loci.CodeUnavailable))
	})
	l, err := listen.TCP(ctx, x.Listen, "listen")
	if err != nil {
		return nil, err
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		ended <- listen.Serve(serving, serving, l, x.descriptors.Connections(), x.TrustedProxies, mux, x.log)
	}()
	stopCalls := func() {
		end()
		if err := <-ended; err != nil {
			x.log.Error("the listener ended", "err", err)
		}
	}
	m := &metrics{registry: prometheus.NewRegistry(), ready: ready}
	stopMetrics, err := m.listen(ctx, x.MetricsListen, x.log)
	if err != nil {
		stopCalls()
		return nil, err
	}
	return func() { stopMetrics(); stopCalls() }, nil
}
