package embeddb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// chunksPerTurn is the limit of chunks of one owner in one turn, and of one call of the model.
const chunksPerTurn = 32

// A batch is a list of short texts that are embedded together.
type batch struct {
	worker     *Worker
	jobs       []*chunkedJob
	leaseUntil loci.Time
}

// A chunkedJob is a job with the chunks of its text. It has none if another memory has the vectors of the same text.
type chunkedJob struct {
	result
	chunks []string
}

// runBatch leases memories, embeds the short texts among them, and appends the long ones to longJobs.
func (w *Worker) runBatch(ctx context.Context, memories []int64) error {
	if len(memories) == 0 {
		return nil
	}
	b := &batch{worker: w}
	jobs, err := sqldb.System(ctx, w.db, "lease memories to embed", func(t *sqldb.Tx) (list []textJob, err error) {
		list, b.leaseUntil, err = leaseJobs(t, memories)
		return list, err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, x := range jobs {
		c, err := w.chunkJob(ctx, x)
		if err == nil {
			err = b.add(ctx, c)
		}
		if err != nil {
			errs = append(errs, err, w.releaseJob(ctx, x, b.leaseUntil, nil))
		}
	}
	return errors.Join(append(errs, b.run(ctx))...)
}

// chunkJob splits the text of a job into chunks, unless the workspace has its vectors.
func (w *Worker) chunkJob(ctx context.Context, x textJob) (c *chunkedJob, err error) {
	c = &chunkedJob{result: result{textJob: x, textHash: TextHash(x.title, x.content)}}
	c.copyFrom, err = sqldb.SystemRead(ctx, w.db, "look for vectors of the same text",
		func(t *sqldb.Tx) (int64, error) {
			return findEmbeddedText(t, x.workspace, w.generation, c.textHash)
		})
	if err == nil && c.copyFrom == 0 {
		c.chunks = vector.Chunks(x.title, x.content, w.model)
	}
	return c, err
}

// add appends a job to the batch. A text of more than chunksPerTurn chunks becomes a long job. A text that exceeds the
// turn of its owner is released until the next turn.
func (b *batch) add(ctx context.Context, c *chunkedJob) error {
	if len(c.chunks) > chunksPerTurn {
		b.worker.longJobs = append(b.worker.longJobs, &longJob{chunkedJob: c, leaseUntil: b.leaseUntil})
		return nil
	}
	turn := len(c.chunks)
	for _, x := range b.jobs {
		if x.owner == c.owner {
			turn += len(x.chunks)
		}
	}
	if turn > chunksPerTurn {
		return b.worker.releaseJob(ctx, c.textJob, b.leaseUntil, nil)
	}
	b.jobs = append(b.jobs, c)
	return nil
}

// run embeds the jobs together, and one by one if that fails. So a text that the model refuses blocks no other. A
// refused text ends the turn of its owner. So an outage of the model costs one call for each owner. It returns an error
// if no job succeeded, or if one could not be released.
func (b *batch) run(ctx context.Context) error {
	if len(b.jobs) == 0 {
		return nil
	}
	together := b.embed(ctx, b.jobs)
	if together == nil {
		return nil
	}
	failed, errs, ended := together, []error(nil), map[int64]bool{}
	for i, x := range b.jobs {
		var reason error
		if !ended[x.owner] {
			err := together
			if len(b.jobs) > 1 {
				err = b.embed(ctx, b.jobs[i:i+1])
			}
			if err == nil {
				failed = nil
				continue
			}
			if _, ok := errors.AsType[databaseError](err); !ok {
				reason = err
			}
			ended[x.owner] = true
		}
		errs = append(errs, b.worker.releaseJob(ctx, x.textJob, b.leaseUntil, reason))
	}
	return errors.Join(append(errs, failed)...)
}

// maxErrorBytes is the limit of a stored reason.
const maxErrorBytes = 300

// releaseJob returns a job to the queue. A reason counts as a failure, except while the process stops.
func (w *Worker) releaseJob(ctx context.Context, x textJob, leaseUntil loci.Time, reason error) error {
	text := ""
	if reason != nil && ctx.Err() == nil {
		text = reason.Error()
		text = strings.ToValidUTF8(text[:min(len(text), maxErrorBytes)], "")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := sqldb.System(ctx, w.db, "requeue memories",
		func(t *sqldb.Tx) (loci.Empty, error) {
			return loci.Empty{}, requeue(t, x, leaseUntil, text)
		})
	return err
}

// A databaseError is an error of embed that concerns neither the texts nor the model.
type databaseError struct{ error }

func (e databaseError) Unwrap() error { return e.error }

// embed computes and stores the vectors of some jobs.
func (b *batch) embed(ctx context.Context, jobs []*chunkedJob) error {
	var chunks []string
	var of []*chunkedJob
	for _, x := range jobs {
		x.vectors = nil // of a failed call
		for _, text := range x.chunks {
			chunks, of = append(chunks, text), append(of, x)
		}
	}
	for len(chunks) > 0 {
		n := min(chunksPerTurn, len(chunks))
		vectors, err := b.worker.embedChunks(ctx, chunks[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			of[i].vectors = append(of[i].vectors, v)
		}
		chunks, of = chunks[n:], of[n:]
		if err := b.renew(ctx); err != nil {
			return databaseError{err}
		}
	}
	results := make([]result, len(jobs))
	for i, x := range jobs {
		results[i] = x.result
	}
	if err := b.worker.storeResults(ctx, b.leaseUntil, results); err != nil {
		return databaseError{err}
	}
	return nil
}

// embedChunks returns the encoded vectors of at most chunksPerTurn chunks.
func (w *Worker) embedChunks(ctx context.Context, chunks []string) ([][]byte, error) {
	vectors, err := w.callModel(ctx, chunks)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(vectors))
	for i, v := range vectors {
		if !w.acceptsDimensions(v) {
			return nil, fmt.Errorf("the embedding service answers with vectors of %d dimensions, and had others "+
				"before under the same name: name another model", len(v))
		}
		list[i] = vector.Encode(v)
	}
	return list, nil
}

func (w *Worker) storeResults(ctx context.Context, leaseUntil loci.Time, results []result) error {
	_, err := sqldb.System(ctx, w.db, "store vectors", func(t *sqldb.Tx) (loci.Empty, error) {
		return loci.Empty{}, w.writeResults(t, leaseUntil, results)
	})
	return err
}

// renew renews the leases of the batch in time.
func (b *batch) renew(ctx context.Context) (err error) {
	jobs := make([]textJob, len(b.jobs))
	for i, x := range b.jobs {
		jobs[i] = x.textJob
	}
	b.leaseUntil, _, err = b.worker.renewLeases(ctx, jobs, b.leaseUntil)
	return err
}

// renewLeases extends the leases of jobs after a quarter of their time. It returns their end, and how many are still
// held.
func (w *Worker) renewLeases(ctx context.Context, jobs []textJob,
	leaseUntil loci.Time) (until loci.Time, held int64, err error) {
	if leaseUntil.Std().Sub(w.db.Now().Std()) > leaseDuration*3/4 {
		return leaseUntil, int64(len(jobs)), nil
	}
	until, err = sqldb.System(ctx, w.db, "renew leases of the embedding queue",
		func(t *sqldb.Tx) (until loci.Time, err error) {
			until, held, err = extendLeases(t, jobs, leaseUntil)
			return until, err
		})
	if err != nil {
		return leaseUntil, 0, err // the leases have not changed
	}
	return until, held, nil
}
