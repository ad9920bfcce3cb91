package service

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/search"
)

// defaultEmbedTimeout is how long a search waits for the vector of its query. Then words
// alone answer.
const defaultEmbedTimeout = 300 * time.Millisecond

// maxQueryEmbeddings is how many vectors of queries are kept: some 2 MB.
const maxQueryEmbeddings = 1000

// queryEmbedder embed queries, and keep the vectors of the last ones. Nobody is served
// by what another has asked: how long an answer takes would tell of it.
type queryEmbedder struct {
	model   search.Embedder
	timeout time.Duration
	mu      sync.Mutex
	cache   map[queryKey][]float32
}

// queryKey is a query of a user.
type queryKey struct{ user, query string }

// embedding returns the vector of a query, and whether it was known. A query that the
// model cannot read has none, unless always is wanted.
func (m *queryEmbedder) embedding(ctx context.Context, q queryKey, always bool) (v []float32, known bool, err error) {
	if m.model == nil {
		return nil, false, errors.New("service: no embedder is configured")
	}
	if !always && !search.Readable(q.query, m.model) {
		return nil, false, nil // though it may be kept, from when it was always wanted
	}
	m.mu.Lock()
	v, known = m.cache[q]
	m.mu.Unlock()
	if known {
		return v, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.timeout, defaultEmbedTimeout))
	defer cancel()
	type answer struct {
		v   []float32
		err error
	}
	done := make(chan answer, 1)
	go func() { // a model may not look at the clock
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

// embed embeds a query; a long one in passages, of which it is the mean.
func (m *queryEmbedder) embed(ctx context.Context, q queryKey) ([]float32, error) {
	vectors, err := m.model.Embed(ctx, search.Chunks("", q.query, m.model))
	if err != nil {
		return nil, err
	}
	v := search.Mean(vectors)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		m.cache = map[queryKey][]float32{}
	}
	for old := range m.cache { // a map's order is a fair choice of what goes
		if len(m.cache) < maxQueryEmbeddings {
			break
		}
		delete(m.cache, old)
	}
	m.cache[q] = v
	return v, nil
}
