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
	"github.com/loci-memory/loci/internal/search"
)

// turnChunks is the number of chunks that one owner gets embedded in one turn, and that a model is given together.
const turnChunks = 32

// An embedBatch is what is embedded together.
type embedBatch struct {
	e     *embedding
	tasks []*chunkedTask
	due   loci.Time // until when they are this batch's
	taken time.Time
}

// A chunkedTask is a task with what its text is cut into; nothing, where a memory has the vectors of the same text.
type chunkedTask struct {
	result
	chunks []string
}

// embedBatch takes memories, embeds the short texts among them, and puts the long ones in line.
func (e *embedding) embedBatch(ctx context.Context, memories []int64) error {
	if len(memories) == 0 {
		return nil
	}
	b := &embedBatch{e: e, taken: time.Now()}
	tasks, err := System(ctx, e.s, "take memories to embed", func(t *SystemTx) (list []task, err error) {
		list, b.due, err = t.take(memories)
		return list, err
	})
	if err != nil {
		return err
	}
	for i, x := range tasks {
		c, err := e.cut(ctx, x)
		if err != nil {
			for _, x := range tasks[i:] {
				err = errors.Join(err, e.release(ctx, x, b.due, nil))
			}
			return err
		}
		if err := b.add(ctx, c); err != nil {
			return err
		}
	}
	return b.work(ctx)
}

// cut cuts the text of a task into chunks, unless the workspace has its vectors.
func (e *embedding) cut(ctx context.Context, x task) (c *chunkedTask, err error) {
	c = &chunkedTask{result: result{task: x, text: textHash(x.title, x.content)}}
	c.like, err = SystemRead(ctx, e.s, "look for vectors of the same text", func(t *SystemTx) (int64, error) {
		return t.sameText(x.workspace, e.generation, c.text)
	})
	if err == nil && c.like == 0 {
		c.chunks = search.Passages(x.title, x.content, e.model)
	}
	return c, err
}

// add makes a task part of the batch. A text of more chunks than a turn has is embedded in slices, and one that its owner
// has no room for in this turn waits for the next.
func (b *embedBatch) add(ctx context.Context, c *chunkedTask) error {
	if len(c.chunks) > turnChunks {
		b.e.sliced = append(b.e.sliced, &slicedTask{chunkedTask: c, due: b.due, taken: b.taken})
		return nil
	}
	turn := len(c.chunks)
	for _, x := range b.tasks {
		if x.owner == c.owner {
			turn += len(x.chunks)
		}
	}
	if turn > turnChunks {
		return b.e.release(ctx, c.task, b.due, nil)
	}
	b.tasks = append(b.tasks, c)
	return nil
}

// work embeds the tasks of a batch, and one by one where that fails: one text
// that a model refuses keeps no other from its vectors.
func (b *embedBatch) work(ctx context.Context) error {
	if len(b.tasks) == 0 {
		return nil
	}
	err := b.embed(ctx, b.tasks)
	if err == nil {
		b.e.failures = 0
		return nil
	}
	worked := 0
	var errs []error
	for i, x := range b.tasks {
		if err := b.embed(ctx, b.tasks[i:i+1]); err == nil {
			worked++
		} else if err := b.e.release(ctx, x.task, b.due, err); err != nil {
			errs = append(errs, err)
		}
	}
	if worked > 0 {
		b.e.failures = 0
	} else {
		b.e.failed(ctx, len(b.tasks), err)
	}
	return errors.Join(errs...)
}

// failed counts a failure of the model, but for one that is the end of the process.
func (e *embedding) failed(ctx context.Context, memories int, err error) {
	if ctx.Err() == nil {
		e.failures++
		e.s.log.Warn("embed", "memories", memories, "err", err)
	}
}

// maxReason is how many bytes of a reason are kept.
const maxReason = 300

// release ends a task without a result: with a reason it failed, unless the process ends.
func (e *embedding) release(ctx context.Context, x task, due loci.Time, reason error) error {
	text := ""
	if reason != nil && ctx.Err() == nil {
		text = reason.Error()
		text = strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := System(ctx, e.s, "put memories back that were not embedded", func(t *SystemTx) (loci.Nothing, error) {
		return loci.Nothing{}, t.putBack(x, due, text)
	})
	return err
}

// embed gives some tasks their vectors.
func (b *embedBatch) embed(ctx context.Context, tasks []*chunkedTask) error {
	var chunks []string
	var of []*chunkedTask
	for _, x := range tasks {
		x.vectors = nil // of a call that failed
		for _, text := range x.chunks {
			chunks, of = append(chunks, text), append(of, x)
		}
	}
	for len(chunks) > 0 {
		n := min(turnChunks, len(chunks))
		vectors, err := b.e.embed(ctx, chunks[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			of[i].vectors = append(of[i].vectors, v)
		}
		chunks, of = chunks[n:], of[n:]
		if err := b.renew(ctx); err != nil {
			return err
		}
	}
	results := make([]result, len(tasks))
	for i, x := range tasks {
		results[i] = x.result
	}
	return b.e.store(ctx, b.due, results)
}

// embed returns the vectors of some chunks, encoded.
func (e *embedding) embed(ctx context.Context, chunks []string) ([][]byte, error) {
	vectors, err := e.model.Embed(ctx, chunks)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(vectors))
	for i, v := range vectors {
		if !e.fits(v) {
			return nil, fmt.Errorf("the embedding service answers with vectors of %d dimensions, and had others before under the same name: name another model", len(v))
		}
		list[i] = search.EncodeVector(v)
	}
	return list, nil
}

func (e *embedding) store(ctx context.Context, due loci.Time, results []result) error {
	_, err := System(ctx, e.s, "store vectors", func(t *SystemTx) (loci.Nothing, error) {
		return loci.Nothing{}, t.addVectors(e.generation, due, results)
	})
	return err
}

// renew keeps the tasks where embedding takes long.
func (b *embedBatch) renew(ctx context.Context) (err error) {
	if time.Since(b.taken) < lease/4 {
		return nil
	}
	tasks := make([]task, len(b.tasks))
	for i, x := range b.tasks {
		tasks[i] = x.task
	}
	b.due, _, err = b.e.renew(ctx, tasks, b.due)
	b.taken = time.Now()
	return err
}

// renew makes the leases of tasks longer, and returns how many are still held.
func (e *embedding) renew(ctx context.Context, tasks []task, due loci.Time) (until loci.Time, left int64, err error) {
	until, err = System(ctx, e.s, "keep memories that take long to embed", func(t *SystemTx) (until loci.Time, err error) {
		until, left, err = t.renew(tasks, due)
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
