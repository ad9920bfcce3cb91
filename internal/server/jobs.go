package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// Every how often a sample of the memories is inspected, and how many those are.
const (
	sampleInterval = 10 * time.Minute
	sampleSize     = 300
)

// startJobs forgets, every hour, what has had its time, inspects some memories
// now and then, and paces the heap.
func startJobs(ctx context.Context, st *store.Store, log *slog.Logger) *sync.WaitGroup {
	var jobs sync.WaitGroup
	jobs.Go(func() { TuneGC(ctx) })
	every := func(pause time.Duration, name string, do func() error) {
		jobs.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if err := do(); err != nil && ctx.Err() == nil {
						log.Error(name, "err", err)
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	every(time.Hour, "sweep", func() error { return deleteExpired(ctx, st) })
	every(sampleInterval, "check", func() error { return sampleIntegrity(ctx, st, log) })
	return &jobs
}

// sampleIntegrity looks whether what is derived from some memories is what they say. The
// log gets kinds and ids alone.
func sampleIntegrity(ctx context.Context, st *store.Store, log *slog.Logger) error {
	sum, err := st.SampleIntegrity(ctx, sampleSize)
	for _, f := range sum.Inconsistencies {
		log.Error("check", "kind", f.Kind, "id", f.ID)
	}
	return err
}

func deleteExpired(ctx context.Context, st *store.Store) error {
	_, err := store.System(ctx, st, "forget what has expired", func(t *store.SystemTx) (loci.Empty, error) {
		if _, err := t.DeleteExpiredReplays(); err != nil {
			return loci.Empty{}, err
		}
		_, err := t.DeleteExpiredSignIns()
		return loci.Empty{}, err
	})
	return err
}
