package retrieve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/vector"
)

// queryEmbedder embeds queries and caches the vectors of recent ones, separately for each user: the time of an answer
// must not reveal another user's query.
type queryEmbedder struct {
	model   vector.Embedder
	timeout time.Duration
	mu      sync.Mutex
	cache   map[queryKey][]float32
}

// queryKey is a query of a user.
type queryKey struct{ user, query string }

// embedding returns the vector of a query, and whether it was cached. A query that the model cannot read has none,
// unless always is set.
func (m *queryEmbedder) embedding(ctx context.Context, q queryKey, always bool) (v []float32, known bool, err error) {
	if m.model == nil {
		return nil, false, errors.New("retrieve: no embedder is configured")
	}
	if !always && !vector.Readable(q.query, m.model) {
		return nil, false, nil // a cached vector may stem from a call with always
	}
	m.mu.Lock()
	v, known = m.cache[q]
	m.mu.Unlock()
	if known {
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
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		m.cache = map[queryKey][]float32{}
	}
	for old := range m.cache { // the random order of a map chooses the evicted entry
		if len(m.cache) < maxQueryEmbeddings {
			break
		}
		delete(m.cache, old)
	}
	m.cache[q] = v
	return v, nil
}
