package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server/listen"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/integrity"
)

// metrics count the work of the server.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	ready    *readiness
	totals   *totalsCollector

	refusedSignIns, unmatched *prometheus.CounterVec

	ignoredProxies    prometheus.Counter
	warnOfIgnoredOnce sync.Once
}

func newMetrics(st *store.Store, ready *readiness) *metrics {
	m := &metrics{
		totals:   &totalsCollector{store: st},
		ready:    ready,
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "loci_calls_total",
			Help: "Calls of operations, by result code."}, []string{"op", "transport", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "loci_call_seconds",
			Help:    "Duration of calls in seconds.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}, []string{"op"}),
		refusedSignIns: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "loci_signins_refused_total",
			Help: "Refused sign-ins, by cause: address, password, disabled or limit."}, []string{"cause"}),
		unmatched: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "loci_unmatched_total",
			Help: "Requests to an unknown path (404), an unknown method (405) or an unknown tool, by kind."},
			[]string{"kind"}),
		ignoredProxies: prometheus.NewCounter(prometheus.CounterOpts{Name: IgnoredProxiesMetric,
			Help: "Requests with X-Forwarded-For from this machine or a private network, by a proxy that is not " +
				"trusted."}),
	}
	for _, cause := range service.SignInRefusals { // zeros, so that the first one is an increase
		m.refusedSignIns.WithLabelValues(cause)
	}
	for _, kind := range httpapi.UnmatchedKinds {
		m.unmatched.WithLabelValues(string(kind))
	}
	m.registry.MustRegister(m.calls, m.seconds, m.refusedSignIns, m.unmatched, m.ignoredProxies, m.totals,
		cacheCollector{st.Caches()}, databaseCollector{st, ready},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_statements_total",
			Help: "Statements sent to the database."},
			func() float64 { return float64(sqldb.Statements()) }),
		findingCollector{},
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_check_damage_total",
			Help: "Inconsistencies that only a backup can repair."},
			func() float64 { return float64(integrity.UnrepairableCount()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_database_corrupt_total",
			Help: "Statements that failed because the file of the database is damaged or its disk fails."},
			func() float64 { return float64(sqldb.CorruptionErrors()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_index_corrupt_total",
			Help: "Searches and jobs that failed because a keyword index is damaged: run loci admin check --repair."},
			func() float64 { return float64(indexdb.CorruptReads()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "loci_info", Help: "1, with the version and the database.",
			ConstLabels: prometheus.Labels{"version": Version, "database": st.Engine()}},
			func() float64 { return 1 }))
	return m
}

// countRefusedSignIn counts a refused sign-in.
func (m *metrics) countRefusedSignIn(cause string) { m.refusedSignIns.WithLabelValues(cause).Inc() }

// countUnmatched counts a request that names nothing that the server has.
func (m *metrics) countUnmatched(kind httpapi.Unmatched) {
	m.unmatched.WithLabelValues(string(kind)).Inc()
}

// IgnoredProxiesMetric counts requests of likely proxies that are not trusted.
const IgnoredProxiesMetric = "loci_ignored_proxies_total"

// countIgnoredProxy counts a request of a likely proxy that is not trusted, and logs the first.
func (m *metrics) countIgnoredProxy() {
	m.ignoredProxies.Inc()
	m.warnOfIgnoredOnce.Do(func() {
		m.ready.log.Warn("a proxy is not trusted: X-Forwarded-For is ignored, and all its clients count as one. Set " +
			"LOCI_TRUSTED_PROXIES to its network, if it is yours")
	})
}

func (m *metrics) observe(o *op.Op, c *op.Call, code loci.Code, elapsed time.Duration) {
	if code == "" {
		code = "ok"
	}
	m.calls.WithLabelValues(o.Name, c.Transport, string(code)).Inc()
	if !o.Streams {
		m.seconds.WithLabelValues(o.Name).Observe(elapsed.Seconds())
	}
}

// Bounds of connections to the metrics listener.
const (
	metricsReadTimeout  = 30 * time.Second // for a request
	metricsWriteTimeout = 2 * time.Minute  // for a request and its answer
	metricsIdleTimeout  = 2 * time.Minute  // longer than the usual pauses between scrapes
)

// listen serves /metrics and /ready on an address of its own, if one is set.
func (m *metrics) listen(ctx context.Context, addr string, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := listen.TCP(ctx, addr, "metrics-listen")
	if err != nil {
		return nil, err
	}
	srv := m.server(log)
	go func() { // ends with Close
		if err := srv.Serve(listen.Retry(l)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the metrics listener ended", "err", err)
		}
	}()
	return func() { srv.Close() }, nil
}

func (m *metrics) server(log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: metricsReadTimeout,
		WriteTimeout: metricsWriteTimeout, IdleTimeout: metricsIdleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: listen.ErrorLog(log, "metrics"),
	}
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	// A metric that fails is left out: the others matter most then.
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry,
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.Handle("GET /ready", m.ready)
	return mux
}
