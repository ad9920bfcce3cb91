package service

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/search"
)

// meaningLimit is how long a search waits for the vector of its query. Then words
// alone answer.
const meaningLimit = 300 * time.Millisecond

// maxMeanings is how many vectors of queries are kept: some 2 MB.
const maxMeanings = 1000

// meanings embed queries, and keep the vectors of the last ones. Nobody is served
// by what another has asked: how long an answer takes would tell of it.
type meanings struct {
	model search.Embedder
	limit time.Duration
	mu    sync.Mutex
	kept  map[asked][]float32
}

// asked is a query of a user.
type asked struct{ user, query string }

var errNoModel = errors.New("service: there is no embedder")

// of returns the vector of a query, and whether it was known. A query that the
// model cannot read has none, unless always is wanted.
func (m *meanings) of(ctx context.Context, q asked, always bool) (v []float32, known bool, err error) {
	if m.model == nil {
		return nil, false, errNoModel
	}
	if !always && !search.Readable(q.query, m.model) {
		return nil, false, nil // though it may be kept, from when it was always wanted
	}
	m.mu.Lock()
	v, known = m.kept[q]
	m.mu.Unlock()
	if known {
		return v, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.limit, meaningLimit))
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
func (m *meanings) embed(ctx context.Context, q asked) ([]float32, error) {
	vectors, err := m.model.Embed(ctx, search.Passages("", q.query, m.model))
	if err != nil {
		return nil, err
	}
	v := search.Mean(vectors)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[asked][]float32{}
	}
	for old := range m.kept { // a map's order is a fair choice of what goes
		if len(m.kept) < maxMeanings {
			break
		}
		delete(m.kept, old)
	}
	m.kept[q] = v
	return v, nil
}
