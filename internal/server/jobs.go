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
	sampleEvery = 10 * time.Minute
	sampleSize  = 300
)

// startJobs forgets, every hour, what has had its time, inspects some memories
// now and then, and paces the heap.
func startJobs(ctx context.Context, st *store.Store, log *slog.Logger) *sync.WaitGroup {
	var jobs sync.WaitGroup
	jobs.Go(func() { PaceHeap(ctx) })
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
	every(time.Hour, "sweep", func() error { return sweep(ctx, st) })
	every(sampleEvery, "check", func() error { return sample(ctx, st, log) })
	return &jobs
}

// sample looks whether what is derived from some memories is what they say. The
// log gets kinds and ids alone.
func sample(ctx context.Context, st *store.Store, log *slog.Logger) error {
	sum, err := st.Sample(ctx, sampleSize)
	for _, f := range sum.Flaws {
		log.Error("check", "kind", f.Kind, "id", f.ID)
	}
	return err
}

func sweep(ctx context.Context, st *store.Store) error {
	_, err := store.System(ctx, st, "forget what has expired", func(t *store.SystemTx) (loci.Nothing, error) {
		if _, err := t.DropOnces(); err != nil {
			return loci.Nothing{}, err
		}
		_, err := t.DropSignins()
		return loci.Nothing{}, err
	})
	return err
}
