package retrieve

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/vector"
)

// queryEmbedder embeds queries and caches the vectors of recent ones, separately for each owner. The time of an answer
// must not reveal another owner's query.
type queryEmbedder struct {
	model   vector.Embedder
	timeout time.Duration
	cache   *cache.Cache[queryKey, []float32]
}

func newQueryEmbedder(model vector.Embedder, timeout time.Duration, caches *cache.Budget) queryEmbedder {
	return queryEmbedder{model, timeout, cache.New(caches, "queries", func(k queryKey, v []float32) int {
		return len(k.owner) + len(k.query) + 4*cap(v) + int(unsafe.Sizeof(k)+unsafe.Sizeof(v))
	})}
}

// queryKey is a query for an owner.
type queryKey struct {
	owner loci.ID
	query string
}

// embedding returns the vector of a query, and whether it was cached. A query that the model cannot read has none,
// unless always is set.
func (m *queryEmbedder) embedding(ctx context.Context, q queryKey, always bool) (v []float32, known bool, err error) {
	if m.model == nil {
		return nil, false, errors.New("retrieve: no embedder is configured")
	}
	if !always && !vector.Readable(q.query, m.model) {
		return nil, false, nil // a cached vector may stem from a call with always
	}
	if v = m.cache.Get(q); v != nil {
		return v, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	type answer struct {
		v   []float32
		err error
	}
	done := make(chan answer, 1)
	go func() { // a model may ignore its deadline
		v, err := m.embed(ctx, q)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.v, false, a.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// embed embeds a query; the vector of a long one is the mean of its chunks.
func (m *queryEmbedder) embed(ctx context.Context, q queryKey) ([]float32, error) {
	vectors, err := m.model.Embed(ctx, vector.Chunks("", q.query, m.model))
	if err != nil {
		return nil, err
	}
	v := vector.Mean(vectors)
	m.cache.Put(q, v)
	return v, nil
}
