package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
)

// A databaseCollector reads the metrics of the database at each scrape.
type databaseCollector struct {
	store *store.Store
	ready *readiness
}

var databaseUp = prometheus.NewDesc("loci_database_up", "1 where the database answered the last check, else 0.", nil,
	nil)

// databaseMetrics are the metrics of the database. A metric that the engine lacks is left out.
var databaseMetrics = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(sqldb.Stats) int64
}{
	{prometheus.NewDesc("loci_database_connections",
		"The most connections, for reading (SQLite) or of any kind (PostgreSQL).", nil, nil),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.Connections }},
	{prometheus.NewDesc("loci_database_connections_in_use", "Connections in use.", nil, nil), prometheus.GaugeValue,
		func(s sqldb.Stats) int64 {
			return s.InUse
		}},
	{prometheus.NewDesc("loci_database_connection_waits_total", "Callers that waited for a connection.", nil, nil),
		prometheus.CounterValue, func(s sqldb.Stats) int64 {
			return s.WaitCount
		}},
	{prometheus.NewDesc("loci_writer_queue", "Writes that wait for the writer (SQLite).", nil, nil),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 {
			return s.QueuedWrites
		}},
	{prometheus.NewDesc("loci_database_bytes", "Size of the database.", nil, nil), prometheus.GaugeValue,
		func(s sqldb.Stats) int64 {
			return s.DatabaseBytes
		}},
	{prometheus.NewDesc("loci_wal_bytes", "Size of the write-ahead log (SQLite).", nil, nil), prometheus.GaugeValue,
		func(s sqldb.Stats) int64 {
			return s.WALBytes
		}},
	{prometheus.NewDesc("loci_disk_free_bytes", "Bytes that are free on the disk of the database (SQLite).", nil, nil),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 {
			return s.DiskFreeBytes
		}},
}

// Describe lists the metrics.
func (f databaseCollector) Describe(to chan<- *prometheus.Desc) {
	to <- databaseUp
	for _, x := range databaseMetrics {
		to <- x.desc
	}
}

// Collect reads the metrics.
func (f databaseCollector) Collect(to chan<- prometheus.Metric) {
	up := 0.0
	if f.ready.databaseUp() {
		up = 1
	}
	to <- prometheus.MustNewConstMetric(databaseUp, prometheus.GaugeValue, up)
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	if up == 0 {
		cancel() // a scrape must not wait for an absent database
	}
	s := f.store.Stats(ctx)
	for _, x := range databaseMetrics {
		if n := x.of(s); n >= 0 {
			to <- prometheus.MustNewConstMetric(x.desc, x.kind, float64(n))
		}
	}
}
