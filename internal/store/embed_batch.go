package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// chunksPerTurn is the number of chunks that one owner gets embedded in one turn, and that a model is given together.
const chunksPerTurn = 32

// An embedBatch is what is embedded together.
type embedBatch struct {
	worker     *embedWorker
	jobs       []*chunkedJob
	leaseUntil loci.Time // until when they are this batch's
	leasedAt   time.Time
}

// A chunkedJob is a task with what its text is cut into; nothing, where a memory has the vectors of the same text.
type chunkedJob struct {
	embedResult
	chunks []string
}

// runBatch takes memories, embeds the short texts among them, and puts the long ones in line.
func (e *embedWorker) runBatch(ctx context.Context, memories []int64) error {
	if len(memories) == 0 {
		return nil
	}
	b := &embedBatch{worker: e, leasedAt: time.Now()}
	tasks, err := System(ctx, e.store, "take memories to embed", func(t *SystemTx) (list []embedJob, err error) {
		list, b.leaseUntil, err = t.leaseJobs(memories)
		return list, err
	})
	if err != nil {
		return err
	}
	for i, x := range tasks {
		c, err := e.chunkJob(ctx, x)
		if err != nil {
			for _, x := range tasks[i:] {
				err = errors.Join(err, e.releaseJob(ctx, x, b.leaseUntil, nil))
			}
			return err
		}
		if err := b.add(ctx, c); err != nil {
			return err
		}
	}
	return b.run(ctx)
}

// chunkJob cuts the text of a task into chunks, unless the workspace has its vectors.
func (e *embedWorker) chunkJob(ctx context.Context, x embedJob) (c *chunkedJob, err error) {
	c = &chunkedJob{embedResult: embedResult{embedJob: x, textHash: textHash(x.title, x.content)}}
	c.copyFrom, err = SystemRead(ctx, e.store, "look for vectors of the same text", func(t *SystemTx) (int64, error) {
		return t.findEmbeddedText(x.workspace, e.generation, c.textHash)
	})
	if err == nil && c.copyFrom == 0 {
		c.chunks = vector.Chunks(x.title, x.content, e.model)
	}
	return c, err
}

// add makes a task part of the batch. A text of more chunks than a turn has is embedded in slices, and one that its
// owner
// has no room for in this turn waits for the next.
func (b *embedBatch) add(ctx context.Context, c *chunkedJob) error {
	if len(c.chunks) > chunksPerTurn {
		b.worker.longJobs = append(b.worker.longJobs,
			&longJob{chunkedJob: c, leaseUntil: b.leaseUntil, leasedAt: b.leasedAt})
		return nil
	}
	turn := len(c.chunks)
	for _, x := range b.jobs {
		if x.owner == c.owner {
			turn += len(x.chunks)
		}
	}
	if turn > chunksPerTurn {
		return b.worker.releaseJob(ctx, c.embedJob, b.leaseUntil, nil)
	}
	b.jobs = append(b.jobs, c)
	return nil
}

// run embeds the tasks of a batch, and one by one where that fails: one text
// that a model refuses keeps no other from its vectors.
func (b *embedBatch) run(ctx context.Context) error {
	if len(b.jobs) == 0 {
		return nil
	}
	err := b.embed(ctx, b.jobs)
	if err == nil {
		b.worker.failures = 0
		return nil
	}
	worked := 0
	var errs []error
	for i, x := range b.jobs {
		if err := b.embed(ctx, b.jobs[i:i+1]); err == nil {
			worked++
		} else if err := b.worker.releaseJob(ctx, x.embedJob, b.leaseUntil, err); err != nil {
			errs = append(errs, err)
		}
	}
	if worked > 0 {
		b.worker.failures = 0
	} else {
		b.worker.recordFailure(ctx, len(b.jobs), err)
	}
	return errors.Join(errs...)
}

// recordFailure counts a failure of the model, but for one that is the end of the process.
func (e *embedWorker) recordFailure(ctx context.Context, memories int, err error) {
	if ctx.Err() == nil {
		e.failures++
		e.store.db.Log.Warn("embed", "memories", memories, "err", err)
	}
}

// maxErrorBytes is how many bytes of a reason are kept.
const maxErrorBytes = 300

// releaseJob ends a task without a result: with a reason it failed, unless the process ends.
func (e *embedWorker) releaseJob(ctx context.Context, x embedJob, due loci.Time, reason error) error {
	text := ""
	if reason != nil && ctx.Err() == nil {
		text = reason.Error()
		text = strings.ToValidUTF8(text[:min(len(text), maxErrorBytes)], "")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := System(ctx, e.store, "put memories back that were not embedded", func(t *SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.requeue(x, due, text)
	})
	return err
}

// embed gives some tasks their vectors.
func (b *embedBatch) embed(ctx context.Context, tasks []*chunkedJob) error {
	var chunks []string
	var of []*chunkedJob
	for _, x := range tasks {
		x.vectors = nil // of a call that failed
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
		if err := b.renewLeases(ctx); err != nil {
			return err
		}
	}
	results := make([]embedResult, len(tasks))
	for i, x := range tasks {
		results[i] = x.embedResult
	}
	return b.worker.storeVectors(ctx, b.leaseUntil, results)
}

// embedChunks returns the vectors of some chunks, encoded.
func (e *embedWorker) embedChunks(ctx context.Context, chunks []string) ([][]byte, error) {
	vectors, err := e.model.Embed(ctx, chunks)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(vectors))
	for i, v := range vectors {
		if !e.acceptsDimensions(v) {
			return nil, fmt.Errorf("the embedding service answers with vectors of %d dimensions, and had others "+
				"before "+
				"under the same name: name another model", len(v))
		}
		list[i] = vector.Encode(v)
	}
	return list, nil
}

func (e *embedWorker) storeVectors(ctx context.Context, due loci.Time, results []embedResult) error {
	_, err := System(ctx, e.store, "store vectors", func(t *SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.storeResults(e.generation, due, results)
	})
	return err
}

// renewLeases keeps the tasks where embedding takes long.
func (b *embedBatch) renewLeases(ctx context.Context) (err error) {
	if time.Since(b.leasedAt) < leaseDuration/4 {
		return nil
	}
	tasks := make([]embedJob, len(b.jobs))
	for i, x := range b.jobs {
		tasks[i] = x.embedJob
	}
	b.leaseUntil, _, err = b.worker.renewLeases(ctx, tasks, b.leaseUntil)
	b.leasedAt = time.Now()
	return err
}

// renewLeases makes the leases of tasks longer, and returns how many are still held.
func (e *embedWorker) renewLeases(ctx context.Context, tasks []embedJob, due loci.Time) (until loci.Time, left int64,
	err error) {
	until, err = System(ctx, e.store, "keep memories that take long to embed",
		func(t *SystemTx) (until loci.Time, err error) {
			until, left, err = t.renewLeases(tasks, due)
			return until, err
		})
	return until, left, err
}

// textHash names the text that is embedded; equal ones have equal vectors.
func textHash(title, content string) int64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(title))))
	h.Write([]byte(title))
	h.Write([]byte(content))
	return int64(binary.BigEndian.Uint64(h.Sum(nil)))
}
