package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
)

// metrics count what the server does.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	ready    *readiness
}

func newMetrics(st *store.Store, ready *readiness) *metrics {
	m := &metrics{
		ready:    ready,
		registry: prometheus.NewRegistry(),
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "loci_calls_total", Help: "Calls of operations, by how they ended."}, []string{"op", "door", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "loci_call_seconds", Help: "How long calls took.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}, []string{"op"}),
	}
	m.registry.MustRegister(m.calls, m.seconds, backlog{st, ready}, figures{st, ready}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_statements_total", Help: "Statements sent to the database."},
			func() float64 { return float64(store.Statements()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_check_findings_total", Help: "Flaws that samples of the memories have shown: see loci admin check."},
			func() float64 { return float64(store.SeenFlaws()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_check_damage_total", Help: "Of them, damage that only a backup can make good."},
			func() float64 { return float64(store.SeenDamage()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_database_corrupt_total", Help: "Statements that failed because the file of the database is damaged."},
			func() float64 { return float64(store.CorruptReads()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "loci_index_corrupt_total", Help: "Searches and jobs that failed because a keyword index is damaged: see loci admin check --repair."},
			func() float64 { return float64(store.CorruptIndexReads()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "loci_info", Help: "1, with the version and the database.", ConstLabels: prometheus.Labels{"version": Version, "database": st.Engine()}},
			func() float64 { return 1 }))
	return m
}

func (m *metrics) seen(o *op.Op, c *op.Call, code loci.Code, took time.Duration) {
	if code == "" {
		code = "ok"
	}
	m.calls.WithLabelValues(o.Name, c.Door, string(code)).Inc()
	m.seconds.WithLabelValues(o.Name).Observe(took.Seconds())
}

// watch runs the check of the readiness, until stop is called.
func (m *metrics) watch() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { m.ready.watch(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// Bounds of connections to the metrics listener.
const (
	metricsReadWait = 30 * time.Second // for a request
	metricsIdle     = 2 * time.Minute  // longer than the usual pauses between scrapes
)

// listen answers /metrics and /ready on an address of its own, if there is one.
func (m *metrics) listen(addr string, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	srv := m.server(log)
	go srv.Serve(Paced(&retryListener{l, "metrics", log})) // ends with Close
	return func() { srv.Close() }, nil
}

func (m *metrics) server(log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: metricsReadWait,
		IdleTimeout: metricsIdle, MaxHeaderBytes: 16 << 10, ErrorLog: httpErrorLog(log, "metrics"),
	}
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	// A figure that cannot be had is left out: the others tell most when it is.
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.Handle("GET /ready", m.ready)
	return mux
}

// collectWithin is the time for which a figure is waited for.
const collectWithin = 2 * time.Second

// backlog tells, when it is asked, how many memories wait for their vectors.
type backlog struct {
	store *store.Store
	ready *readiness
}

var (
	waiting = prometheus.NewDesc("loci_embeddings_pending", "Memories that wait for their vectors.", nil, nil)
	failing = prometheus.NewDesc("loci_embeddings_failed", "Of them, those for which it failed; they are tried again. The status of an account and the log tell why.", nil, nil)
)

func (b backlog) Describe(to chan<- *prometheus.Desc) { to <- waiting; to <- failing }

func (b backlog) Collect(to chan<- prometheus.Metric) {
	if !b.ready.up() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	n, err := store.SystemRead(ctx, b.store, "count memories that wait for vectors", func(t *store.SystemTx) (store.Backlog, error) { return t.Backlog() })
	if err != nil {
		return
	}
	to <- prometheus.MustNewConstMetric(waiting, prometheus.GaugeValue, float64(n.Pending))
	to <- prometheus.MustNewConstMetric(failing, prometheus.GaugeValue, float64(n.Failed))
}
