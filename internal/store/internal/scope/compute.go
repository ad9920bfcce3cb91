package scope

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
)

// Bounds of the work that stays in a transaction. The analysis of maxBytesInWrite takes some 100 µs, that of the
// longest text 100 ms. A transaction that is rolled back and run again delays others by half of the 100 µs. One that
// only reads delays nobody: analysis.LongText bounds it.
const (
	maxBytesInWrite = 4 << 10
	maxComputations = 8 // of a call on one record: more run in the transaction, so that a call among many writers ends
)

// NewAnalyses returns the slots of analyses: half of the processors, so that those of many long texts leave the other
// half to other calls.
func NewAnalyses() *limit.Semaphore[loci.ID] {
	return limit.NewSlots[loci.ID](max(1, runtime.GOMAXPROCS(0)/2))
}

// Analyze calls f, which analyzes texts. Long texts wait until their user has its turn, and f runs once if the context
// does not end before. It must not be called within a transaction, for which f may wait, nor within f.
func (b *Base) Analyze(ctx context.Context, actor *identity.Actor, f func(), texts ...string) error {
	return b.analyze(ctx, actor, analysis.NormalSize(texts...), f)
}

func (b *Base) analyze(ctx context.Context, actor *identity.Actor, bytes int, f func()) error {
	if bytes > analysis.LongText {
		release, err := b.Analyses.Acquire(ctx, 0, actor.UserID, 1)
		if err != nil {
			return err
		}
		defer release()
	}
	f()
	return nil
}

// Compute returns f(), which analyzes so many bytes of normal form and depends on nothing but key and the input of the
// call. For a long text f runs outside of the transaction, because other writers wait for its end. Then Compute returns
// an error, so that Write or Read rolls back, runs f as Analyze does, and runs the transaction again, which compares
// the key.
func Compute[T any](h Holder, bytes int, f func() T, key ...string) (T, error) {
	t := Of(h)
	for _, c := range t.computations {
		if v, ok := c.value.(T); ok && slices.Equal(c.key, key) {
			return v, nil
		}
	}
	if t.maxInTx > 0 && bytes > t.maxInTx && len(t.computations) < maxComputations+t.moreComputations {
		var none T
		return none, &Computation{key: key, bytes: bytes, Run: func() any { return f() }}
	}
	return f(), nil
}

// ExpectComputations allows n computations more outside of the transaction, of a call that changes many records.
func ExpectComputations(h Holder, n int) { Of(h).moreComputations = n }

// A Computation is an error that ends a transaction, and then holds the value for its next run. The type of the value
// is part of the key.
type Computation struct {
	key   []string
	bytes int
	Run   func() any
	value any
}

func (c *Computation) Error() string {
	return "store: a transaction waits for the result of a computation"
}

// withComputations runs a transaction of an actor, and again after each computation that it asks for.
func withComputations(ctx context.Context, b *Base, actor *identity.Actor, run func([]*Computation) error) error {
	for computations := []*Computation(nil); ; {
		err := run(computations)
		c, ok := errors.AsType[*Computation](err)
		if !ok {
			return err
		}
		if err := b.analyze(ctx, actor, c.bytes, func() { c.value = c.Run() }); err != nil {
			return err
		}
		computations = append(computations, c)
	}
}
