package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A slicedTask is a long text that is embedded turn by turn. Its vectors are written when all of them are there: a process
// that ends before gives the memory back, and the next one begins anew.
type slicedTask struct {
	*chunkedTask
	due   loci.Time // until when the task is this process's
	taken time.Time
}

// maxSliced is the number of long texts under way at once: each holds its vectors in memory, at most some 2 MB.
const maxSliced = 8

// embedSlice embeds the next chunks of the long text whose turn it is.
func (e *embedding) embedSlice(ctx context.Context) error {
	if len(e.sliced) == 0 {
		return nil
	}
	if err := e.renewSliced(ctx); err != nil || len(e.sliced) == 0 {
		return err
	}
	x := e.sliced[0]
	e.sliced = e.sliced[1:]
	done := len(x.vectors)
	vectors, err := e.embed(ctx, x.chunks[done:min(done+turnChunks, len(x.chunks))])
	if err != nil {
		e.failed(ctx, 1, err)
		return e.release(ctx, x.task, x.due, err)
	}
	e.failures = 0
	if x.vectors = append(x.vectors, vectors...); len(x.vectors) < len(x.chunks) {
		e.sliced = append(e.sliced, x)
		return nil
	}
	if err := e.store(ctx, x.due, []result{x.result}); err != nil {
		return errors.Join(err, e.release(ctx, x.task, x.due, nil))
	}
	return nil
}

// renewSliced keeps the long texts under way, and drops those that have changed meanwhile.
func (e *embedding) renewSliced(ctx context.Context) error {
	for i, x := range e.sliced {
		if time.Since(x.taken) < lease/4 {
			continue
		}
		due, held, err := e.renew(ctx, []task{x.task}, x.due)
		if err != nil {
			return err
		}
		if x.due, x.taken = due, time.Now(); held == 0 {
			e.sliced[i] = nil
		}
	}
	e.sliced = slices.DeleteFunc(e.sliced, func(x *slicedTask) bool { return x == nil })
	return nil
}

// releaseSliced gives back the long texts under way when the process ends.
func (e *embedding) releaseSliced(ctx context.Context) {
	for _, x := range e.sliced {
		if err := e.release(ctx, x.task, x.due, nil); err != nil {
			e.s.log.Warn("embed", "err", err)
		}
	}
	e.sliced = nil
}
