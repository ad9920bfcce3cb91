package embeddb

import (
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci"
)

// A longJob is a long text that is embedded in several turns. Its vectors are stored together after the last turn. A
// process that stops before returns the memory to the queue, and the next one begins anew.
type longJob struct {
	*chunkedJob
	leaseUntil loci.Time
}

// maxLongJobs is the limit of long texts at once: each holds vectors of at most about 2 MB in memory.
const maxLongJobs = 8

// embedLongJob embeds the next chunks of the long text whose turn it is.
func (w *Worker) embedLongJob(ctx context.Context) error {
	if len(w.longJobs) == 0 {
		return nil
	}
	if err := w.renewLongJobs(ctx); err != nil || len(w.longJobs) == 0 {
		return err
	}
	x := w.longJobs[0]
	w.longJobs = w.longJobs[1:]
	done := len(x.vectors)
	vectors, err := w.embedChunks(ctx, x.chunks[done:min(done+chunksPerTurn, len(x.chunks))])
	if err != nil {
		return errors.Join(err, w.releaseJob(ctx, x.textJob, x.leaseUntil, err))
	}
	if x.vectors = append(x.vectors, vectors...); len(x.vectors) < len(x.chunks) {
		w.longJobs = append(w.longJobs, x)
		return nil
	}
	if err := w.storeResults(ctx, x.leaseUntil, []result{x.result}); err != nil {
		return errors.Join(err, w.releaseJob(ctx, x.textJob, x.leaseUntil, nil))
	}
	return nil
}

// renewLongJobs renews the leases of long texts in time, and drops those that have changed meanwhile.
func (w *Worker) renewLongJobs(ctx context.Context) (err error) {
	w.longJobs = slices.DeleteFunc(w.longJobs, func(x *longJob) bool {
		held := int64(1)
		if err == nil {
			x.leaseUntil, held, err = w.renewLeases(ctx, []textJob{x.textJob}, x.leaseUntil)
		}
		return err == nil && held == 0
	})
	return err
}

// releaseLongJobs returns unfinished long texts to the queue.
func (w *Worker) releaseLongJobs(ctx context.Context) {
	for _, x := range w.longJobs {
		if err := w.releaseJob(ctx, x.textJob, x.leaseUntil, nil); err != nil {
			w.db.Log.Warn("embed", "err", err)
		}
	}
	w.longJobs = nil
}
