package server

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

const (
	sweepInterval  = time.Hour
	sampleInterval = 10 * time.Minute
	sampleSize     = 300 // memories
	totalsInterval = 10 * time.Minute
)

// newJobs returns the jobs of a server. Each server runs all of them: they need no lease, because their transactions
// change nothing twice.
func newJobs(st *store.Store, d *dispatch.Dispatcher, c *dispatch.Changes, gate *auth.Gate, m *metrics,
	log *slog.Logger) *job.Runner {
	r := job.New(log)
	sweepNow := r.Add(job.Job{Name: "sweep", Every: sweepInterval,
		Run: func(ctx context.Context) error { return deleteExpired(ctx, st) }})
	sweepNow()                   // a server that is started often may never run for an interval
	checker := integrity.New(st) // its samples go on where the last one ended
	sampleNow := r.Add(job.Job{Name: "integrity_sample", Every: sampleInterval,
		Run: func(ctx context.Context) error { return sampleIntegrity(ctx, checker, log) }})
	sampleNow() // a damaged file may come with the start
	countNow := r.Add(job.Job{Name: "count_records", Every: totalsInterval, Run: m.totals.count})
	countNow()
	r.Add(job.Job{Name: "flush_resting", Every: indexdb.RestInterval, Run: st.Index().FlushResting})
	r.Add(job.Job{Name: "save_counts", Every: auth.SaveInterval, Run: gate.Save})
	d.Wake = r.Add(job.Job{Name: "messages", Every: dispatch.LookInterval, MaxBackoff: dispatch.LookInterval,
		Run: d.Look})
	c.Wake = r.Add(job.Job{Name: "changes", Every: dispatch.LookInterval, MaxBackoff: dispatch.LookInterval,
		Run: c.Look})
	d.WakeNotify = r.Add(job.Job{Name: "notify_servers", Run: d.Notify})
	r.Add(job.Job{Name: "listen_servers", Every: dispatch.LookInterval, MaxBackoff: 5 * dispatch.LookInterval,
		Run: d.Listen})
	checkNow := r.Add(job.Job{Name: "readiness", Every: readinessInterval,
		Run: func(ctx context.Context) error { m.ready.checkOnce(ctx); return nil }})
	checkNow()
	m.registry.MustRegister(jobCollector{func() []job.Status {
		return slices.Concat(r.Status(), st.Index().Jobs(), st.Embedder().Jobs(), st.Jobs().Status())
	}})
	return r
}

// sampleIntegrity checks some rows and the derived data of some memories. The log gets kinds and ids alone.
func sampleIntegrity(ctx context.Context, c *integrity.Checker, log *slog.Logger) error {
	sum, err := c.Sample(ctx, sampleSize)
	for _, f := range sum.Inconsistencies {
		log.Error("check", "kind", f.Kind, "id", f.ID)
	}
	return err
}

// deleteExpired deletes idempotency keys, sign-ins, links, uploads, grants and texts of events that have expired. It
// deletes the counts of mails of past days, and messages that were closed long ago. It replaces the secrets of files
// in time.
func deleteExpired(ctx context.Context, st *store.Store) error {
	_, err := store.System(ctx, st, "delete expired records", func(t *store.SystemTx) (loci.Empty, error) {
		if _, err := t.DeleteExpiredResponses(); err != nil {
			return loci.Empty{}, err
		}
		if _, err := t.DeleteExpiredSignIns(); err != nil {
			return loci.Empty{}, err
		}
		if err := t.DeleteExpiredTokens(); err != nil {
			return loci.Empty{}, err
		}
		if err := attachmentdb.DeleteExpiredUploads(t); err != nil {
			return loci.Empty{}, err
		}
		if err := t.DeletePastMails(); err != nil {
			return loci.Empty{}, err
		}
		if _, err := t.RotateFileSecrets(file.SecretAge); err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, t.Grants().DeleteExpired()
	})
	if err != nil {
		return err
	}
	if err := sessiondb.DeleteExpiredTexts(ctx, st.DB()); err != nil {
		return err
	}
	return messagedb.DeleteClosed(ctx, st.DB())
}

// jobCollector reports the states of the jobs.
type jobCollector struct{ status func() []job.Status }

var (
	jobFailures = prometheus.NewDesc("loci_job_failures_total", "Rounds of a job that failed.", []string{"job"}, nil)
	jobLastRun  = prometheus.NewDesc("loci_job_last_run_seconds", "Unix time at which the last round of a job began.",
		[]string{"job"}, nil)
)

// Describe lists the metrics.
func (c jobCollector) Describe(to chan<- *prometheus.Desc) {
	to <- jobFailures
	to <- jobLastRun
}

// Collect reads the metrics. A job that has not run has no time.
func (c jobCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.status() {
		to <- prometheus.MustNewConstMetric(jobFailures, prometheus.CounterValue, float64(s.Failures), s.Name)
		if !s.LastStart.IsZero() {
			to <- prometheus.MustNewConstMetric(jobLastRun, prometheus.GaugeValue,
				float64(s.LastStart.UnixMilli())/1000, s.Name)
		}
	}
}
