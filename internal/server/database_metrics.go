package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
)

// A databaseCollector reads the metrics of the database, the embedding queue and the jobs at each scrape.
type databaseCollector struct {
	store *store.Store
	ready *readiness
}

// collectTimeout bounds the read of the metrics of a database.
const collectTimeout = 2 * time.Second

func newDesc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

var (
	databaseUp        = newDesc("loci_database_up", "1 where the database answered the last check, else 0.")
	embeddingsPending = newDesc("loci_embeddings_pending", "Memories that wait for their vectors.")
	embeddingsFailed  = newDesc("loci_embeddings_failed",
		"Pending memories whose last attempt failed; they are retried. The account status and the log show why.")
	jobsPending = prometheus.NewDesc("loci_jobs_pending", "Background jobs in the database that have not succeeded.",
		[]string{"kind"}, nil)
	jobsFailed = prometheus.NewDesc("loci_jobs_failed",
		"Pending background jobs whose last attempt failed; they are retried. The log shows why.",
		[]string{"kind"}, nil)
	jobsOldest = prometheus.NewDesc("loci_jobs_oldest_seconds",
		"Unix time at which the oldest pending background job was added.", []string{"kind"}, nil)
	jobsDropped = prometheus.NewDesc("loci_jobs_dropped_total",
		"Background jobs that were given up, such as mails to a refused recipient. The log shows why.",
		[]string{"kind"}, nil)
)

// databaseMetrics are the metrics of the database. A metric that the engine lacks is left out.
var databaseMetrics = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(sqldb.Stats) int64
}{
	{newDesc("loci_database_connections", "The most connections, for reading (SQLite) or of any kind (PostgreSQL)."),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.Connections }},
	{newDesc("loci_database_connections_in_use", "Connections in use."),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.InUse }},
	{newDesc("loci_database_connection_waits_total", "Callers that waited for a connection."),
		prometheus.CounterValue, func(s sqldb.Stats) int64 { return s.WaitCount }},
	{newDesc("loci_writer_queue", "Writes that wait for the writer (SQLite)."),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.QueuedWrites }},
	{newDesc("loci_database_bytes", "Size of the database."),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.DatabaseBytes }},
	{newDesc("loci_wal_bytes", "Size of the write-ahead log (SQLite)."),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.WALBytes }},
	{newDesc("loci_disk_free_bytes", "Bytes that are free on the disk of the database (SQLite)."),
		prometheus.GaugeValue, func(s sqldb.Stats) int64 { return s.DiskFreeBytes }},
}

// Describe lists the metrics.
func (c databaseCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{databaseUp, embeddingsPending, embeddingsFailed, jobsPending, jobsFailed,
		jobsOldest, jobsDropped} {
		to <- desc
	}
	for _, x := range databaseMetrics {
		to <- x.desc
	}
}

// sender sends a figure with the values of its labels.
type sender func(desc *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string)

// collectJobs reads the figures of the jobs. A kind without jobs has zeros: an absent figure could not be read.
func (c databaseCollector) collectJobs(ctx context.Context, send sender) {
	kinds, err := store.SystemRead(ctx, c.store, "count the jobs", (*store.SystemTx).JobStats)
	if err != nil {
		return
	}
	idle := c.store.Jobs().Dropped()
	for _, k := range kinds {
		delete(idle, k.Kind)
		send(jobsPending, prometheus.GaugeValue, k.Waiting, k.Kind)
		send(jobsFailed, prometheus.GaugeValue, k.Failed, k.Kind)
		send(jobsOldest, prometheus.GaugeValue, k.OldestAt.Std().Unix(), k.Kind)
	}
	for kind := range idle {
		send(jobsPending, prometheus.GaugeValue, 0, kind)
		send(jobsFailed, prometheus.GaugeValue, 0, kind)
	}
}

// Collect reads the metrics. While the database is down, it reads only those that need no statement.
func (c databaseCollector) Collect(to chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, kind, float64(n), labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	if c.ready.databaseUp() {
		send(databaseUp, prometheus.GaugeValue, 1)
		n, err := store.SystemRead(ctx, c.store, "count the embedding queue", (*store.SystemTx).EmbeddingQueue)
		if err == nil {
			send(embeddingsPending, prometheus.GaugeValue, n.Pending)
			send(embeddingsFailed, prometheus.GaugeValue, n.Failed)
		}
		c.collectJobs(ctx, send)
	} else {
		send(databaseUp, prometheus.GaugeValue, 0)
		cancel() // a scrape must not wait for an absent database
	}
	for kind, n := range c.store.Jobs().Dropped() {
		send(jobsDropped, prometheus.CounterValue, n, kind)
	}
	s := c.store.Stats(ctx)
	for _, x := range databaseMetrics {
		if n := x.of(s); n >= 0 {
			send(x.desc, x.kind, n)
		}
	}
}

// A totalsCollector reports how many records the database has. A job counts them now and then, so that a scrape costs
// nothing.
type totalsCollector struct {
	store *store.Store
	last  atomic.Pointer[store.Totals]
}

// count counts the records.
func (c *totalsCollector) count(ctx context.Context) error {
	n, err := store.SystemRead(ctx, c.store, "count the records", (*store.SystemTx).Totals)
	if err == nil {
		c.last.Store(&n)
	}
	return err
}

var (
	totalUsers      = newDesc("loci_users", "Users, counted every ten minutes.")
	totalWorkspaces = newDesc("loci_workspaces", "Workspaces, counted every ten minutes.")
	totalMemories   = newDesc("loci_memories", "Memories, counted every ten minutes.")
	logRows         = newDesc("loci_index_log_rows",
		"Changes that wait to be flushed to the keyword indexes of all workspaces, counted every minute.")
)

// Describe lists the metrics.
func (c *totalsCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{totalUsers, totalWorkspaces, totalMemories, logRows} {
		to <- desc
	}
}

// Collect reports the last counts.
func (c *totalsCollector) Collect(to chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, n int64) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n))
	}
	if n := c.last.Load(); n != nil {
		send(totalUsers, n.Users)
		send(totalWorkspaces, n.Workspaces)
		send(totalMemories, n.Memories)
	}
	if n := c.store.Index().WaitingRows(); n >= 0 {
		send(logRows, n)
	}
}

// A lastBackupCollector reports the time of the last backup that a data folder has noted.
type lastBackupCollector struct{ data string }

var lastBackup = newDesc("loci_last_backup_seconds",
	"Unix time of the last backup: of loci admin backup, or of loci.backup in the data folder.")

// Describe lists the metric.
func (c lastBackupCollector) Describe(to chan<- *prometheus.Desc) { to <- lastBackup }

// Collect reports the time, if there was a backup.
func (c lastBackupCollector) Collect(to chan<- prometheus.Metric) {
	if at, err := backup.Last(c.data); err == nil && !at.IsZero() {
		to <- prometheus.MustNewConstMetric(lastBackup, prometheus.GaugeValue, float64(at.UnixMilli())/1000)
	}
}

// A cacheCollector reads the bytes of the caches.
type cacheCollector struct{ caches *cache.Budget }

var (
	cacheBytes = prometheus.NewDesc("loci_cache_bytes", "Bytes of a cache.", []string{"cache"}, nil)
	cacheLimit = newDesc("loci_cache_limit_bytes", "Bytes that all caches may have together.")
)

// Describe lists the metrics.
func (c cacheCollector) Describe(to chan<- *prometheus.Desc) {
	to <- cacheBytes
	to <- cacheLimit
}

// Collect reads the metrics.
func (c cacheCollector) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(cacheLimit, prometheus.GaugeValue, float64(c.caches.Limit()))
	for _, u := range c.caches.Usages() {
		to <- prometheus.MustNewConstMetric(cacheBytes, prometheus.GaugeValue, float64(u.Bytes), u.Name)
	}
}

// A findingCollector reports what samples have found.
type findingCollector struct{}

var findings = prometheus.NewDesc("loci_check_findings_total",
	"Inconsistencies found in samples of the rows, by kind: run loci admin check.", []string{"kind"}, nil)

// Describe lists the metric.
func (findingCollector) Describe(to chan<- *prometheus.Desc) { to <- findings }

// Collect reads the metric.
func (findingCollector) Collect(to chan<- prometheus.Metric) {
	for kind, n := range integrity.InconsistencyCounts() {
		to <- prometheus.MustNewConstMetric(findings, prometheus.CounterValue, float64(n), kind)
	}
}
