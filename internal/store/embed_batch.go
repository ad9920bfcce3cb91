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

// An embedBatch is what is embedded together.
type embedBatch struct {
	e     *embedding
	tasks []task
	due   loci.Time // until when they are this batch's
	taken time.Time
}

// work embeds the tasks of a batch, and one by one where that fails: one text
// that a model refuses keeps no other from its vectors.
func (b *embedBatch) work(ctx context.Context) error {
	b.taken = time.Now()
	err := b.embed(ctx, b.tasks)
	if err == nil {
		b.e.failures = 0
		return nil
	}
	worked := 0
	var errs []error
	for i := range b.tasks {
		if err := b.embed(ctx, b.tasks[i:i+1]); err == nil {
			worked++
		} else if err := b.giveUp(ctx, b.tasks[i], err); err != nil {
			errs = append(errs, err)
		}
	}
	if worked > 0 {
		b.e.failures = 0
	} else if ctx.Err() == nil {
		b.e.failures++
		b.e.s.log.Warn("embed", "memories", len(b.tasks), "err", err)
	}
	return errors.Join(errs...)
}

// maxReason is how many bytes of a reason are kept.
const maxReason = 300

func (b *embedBatch) giveUp(ctx context.Context, x task, reason error) error {
	text := reason.Error()
	text = strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
	if ctx.Err() != nil {
		text = "" // not its fault
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := System(ctx, b.e.s, "put memories back that were not embedded", func(t *SystemTx) (loci.Nothing, error) {
		return loci.Nothing{}, t.putBack(x, b.due, text)
	})
	return err
}

// atOnce is how many passages a model is given together.
const atOnce = 32

// embed gives some tasks their vectors.
func (b *embedBatch) embed(ctx context.Context, tasks []task) error {
	results := make([]result, len(tasks))
	var passages []string
	var of []*result
	for i, x := range tasks {
		results[i] = result{task: x, text: textHash(x.title, x.content)}
		known, err := SystemRead(ctx, b.e.s, "look for vectors of the same text", func(t *SystemTx) (int64, error) {
			return t.sameText(x.workspace, b.e.generation, results[i].text)
		})
		if err != nil {
			return err
		}
		if results[i].like = known; known != 0 {
			continue
		}
		for _, p := range search.Passages(x.title, x.content, b.e.model) {
			passages, of = append(passages, p), append(of, &results[i])
		}
	}
	for len(passages) > 0 {
		n := min(atOnce, len(passages))
		vectors, err := b.e.model.Embed(ctx, passages[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			if !b.e.fits(v) {
				return fmt.Errorf("the embedding service answers with vectors of %d dimensions, and had others before under the same name: name another model", len(v))
			}
			of[i].vectors = append(of[i].vectors, search.EncodeVector(v))
		}
		passages, of = passages[n:], of[n:]
		if err := b.renew(ctx); err != nil {
			return err
		}
	}
	_, err := System(ctx, b.e.s, "store vectors", func(t *SystemTx) (loci.Nothing, error) {
		return loci.Nothing{}, t.addVectors(b.e.generation, b.due, results)
	})
	return err
}

// renew keeps the tasks where embedding takes long.
func (b *embedBatch) renew(ctx context.Context) error {
	if time.Since(b.taken) < lease/4 {
		return nil
	}
	due, err := System(ctx, b.e.s, "keep memories that take long to embed", func(t *SystemTx) (loci.Time, error) { return t.renew(b.tasks, b.due) })
	if err == nil {
		b.taken, b.due = time.Now(), due
	}
	return err
}

// textHash names the text that is embedded; equal ones have equal vectors.
func textHash(title, content string) int64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(title))))
	h.Write([]byte(title))
	h.Write([]byte(content))
	return int64(binary.BigEndian.Uint64(h.Sum(nil)))
}
