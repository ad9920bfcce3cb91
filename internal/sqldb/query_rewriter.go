package sqldb

import "sync"

// queryRewriter keeps the texts that queries have in another dialect, up to a number:
// a list over many places is a text of its own.
type queryRewriter struct {
	mu      sync.RWMutex
	cache   map[string]string
	rewrite func(string) string
}

const maxRewrittenQueries = 1000

func (r *queryRewriter) get(q string) string {
	r.mu.RLock()
	t, ok := r.cache[q]
	r.mu.RUnlock()
	if ok {
		return t
	}
	t = r.rewrite(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil || len(r.cache) >= maxRewrittenQueries {
		r.cache = map[string]string{}
	}
	r.cache[q] = t
	return t
}
