package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A longJob is a long text that is embedded turn by turn. Its vectors are written when all of them are there: a process
// that ends before gives the memory back, and the next one begins anew.
type longJob struct {
	*chunkedJob
	leaseUntil loci.Time // until when the task is this process's
	leasedAt   time.Time
}

// maxLongJobs is the number of long texts under way at once: each holds its vectors in memory, at most some 2 MB.
const maxLongJobs = 8

// embedLongJob embeds the next chunks of the long text whose turn it is.
func (e *embedWorker) embedLongJob(ctx context.Context) error {
	if len(e.longJobs) == 0 {
		return nil
	}
	if err := e.renewLongJobs(ctx); err != nil || len(e.longJobs) == 0 {
		return err
	}
	x := e.longJobs[0]
	e.longJobs = e.longJobs[1:]
	done := len(x.vectors)
	vectors, err := e.embedChunks(ctx, x.chunks[done:min(done+chunksPerTurn, len(x.chunks))])
	if err != nil {
		e.recordFailure(ctx, 1, err)
		return e.releaseJob(ctx, x.embedJob, x.leaseUntil, err)
	}
	e.failures = 0
	if x.vectors = append(x.vectors, vectors...); len(x.vectors) < len(x.chunks) {
		e.longJobs = append(e.longJobs, x)
		return nil
	}
	if err := e.storeVectors(ctx, x.leaseUntil, []embedResult{x.embedResult}); err != nil {
		return errors.Join(err, e.releaseJob(ctx, x.embedJob, x.leaseUntil, nil))
	}
	return nil
}

// renewLongJobs keeps the long texts under way, and drops those that have changed meanwhile.
func (e *embedWorker) renewLongJobs(ctx context.Context) error {
	for i, x := range e.longJobs {
		if time.Since(x.leasedAt) < leaseDuration/4 {
			continue
		}
		due, held, err := e.renewLeases(ctx, []embedJob{x.embedJob}, x.leaseUntil)
		if err != nil {
			return err
		}
		if x.leaseUntil, x.leasedAt = due, time.Now(); held == 0 {
			e.longJobs[i] = nil
		}
	}
	e.longJobs = slices.DeleteFunc(e.longJobs, func(x *longJob) bool { return x == nil })
	return nil
}

// releaseLongJobs gives back the long texts under way when the process ends.
func (e *embedWorker) releaseLongJobs(ctx context.Context) {
	for _, x := range e.longJobs {
		if err := e.releaseJob(ctx, x.embedJob, x.leaseUntil, nil); err != nil {
			e.store.db.Log.Warn("embed", "err", err)
		}
	}
	e.longJobs = nil
}
