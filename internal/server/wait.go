package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server/listen"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
)

// While a server waits for its database, it tries once each waitInterval and logs once each waitLogInterval.
const (
	waitInterval    = time.Second
	waitLogInterval = 10 * time.Second
)

// waitForDatabase waits until the PostgreSQL server accepts connections, at most for DBWait. Meanwhile /health answers,
// and everything else is 503. Other errors, as of a wrong password, are left to the opening.
func (x *instance) waitForDatabase(ctx context.Context) error {
	if x.DB == "" || x.DBWait == 0 || !postgres.IsStarting(postgres.Ping(ctx, x.DB)) {
		return nil
	}
	waiting, end := context.WithTimeout(ctx, x.DBWait)
	defer end()
	ready := &readiness{log: x.log, draining: ctx.Done()}
	stop, err := x.answerWhileWaiting(waiting, ready)
	if err != nil {
		return err
	}
	defer stop()
	tick := time.NewTicker(waitInterval)
	defer tick.Stop()
	var logged time.Time
	for {
		err := postgres.Ping(waiting, x.DB)
		if !postgres.IsStarting(err) && waiting.Err() == nil {
			x.log.Info("the database answers")
			return nil
		}
		if waiting.Err() == nil {
			ready.set(err)
			if now := time.Now(); now.Sub(logged) >= waitLogInterval {
				x.log.Warn("the server waits for its database", "most", x.DBWait.String(), "err", causeText(err))
				logged = now
			}
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
			return ctx.Err() // the opening reports a database that is still not there
		}
	}
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
	go func() { ended <- listen.Serve(serving, serving, l, x.descriptors.Connections(), mux, x.log) }()
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
