package index

import "sync"

// minScopeDocs is how many live documents an atlas has at least for its own statistics
// to rank what is asked for in it alone. Measured: with those of 4 to 16 documents,
// questions on code and documentation lose up to .01 against the workspace's; with the
// workspace's, conversations of 19 to 32 sessions lose as much.
const minScopeDocs = 16

// maxCachedScopes is how many scopes a view and each of its segments keep.
const maxCachedScopes = 16

// ScopedTo returns the view whose statistics, vocabulary and language rank the hits of
// a filter. If the filter admits one atlas and that is large enough, this is a view
// in which all other documents are dead; else it is the view itself.
func (v *Snapshot) ScopedTo(f *Filter) *Snapshot {
	if len(f.Atlases) != 1 {
		return v
	}
	w := v.scopeCache.get(f.Atlases[0], v.scopeToAtlas)
	if w.docCount < minScopeDocs {
		return v
	}
	return w
}

// scopeToAtlas returns the view of one atlas.
func (v *Snapshot) scopeToAtlas(atlas int64) *Snapshot {
	w := &Snapshot{memtable: v.memtable, rows: v.rows, lengths: v.lengths, lengthCodes: v.lengthCodes,
		appliedSeqs: v.appliedSeqs, deleted: make([]uint64, (len(v.rows)+63)/64)}
	for _, s := range v.segments {
		w.segments = append(w.segments, s.scopeCache.get(atlas, s.scopeToAtlas))
	}
	copy(w.deleted, v.deleted)
	for i := range v.rows {
		if v.rows[i].Atlas != atlas {
			w.markDeleted(i)
		}
	}
	w.computeStats()
	return w
}

// scopeToAtlas returns the segment with the documents of all other atlases dead.
func (s *Segment) scopeToAtlas(atlas int64) *Segment {
	f := Filter{Atlases: []int64{atlas}}
	filter := s.Filter(&f)
	if filter.MatchesAll() {
		return s
	}
	t := *s
	t.deleted, t.liveDocs, t.totalLength = make([]uint64, (s.numDocs()+63)/64), 0, 0
	for i := range t.deleted {
		t.deleted[i] = ^uint64(0)
	}
	for doc, at := range s.atlas {
		if filter.atlases[at] && !isSet(s.deleted, doc) {
			t.deleted[doc/64] &^= 1 << (doc % 64)
			t.liveDocs++
			t.totalLength += int64(s.lengths[doc])
		}
	}
	if rest := s.numDocs() % 64; rest != 0 {
		t.deleted[len(t.deleted)-1] &= 1<<rest - 1
	}
	return &t
}

// scopeCache caches values for sets of atlases. Its segment never changes, so
// no value expires.
type scopeCache[T any] struct {
	mu      sync.Mutex
	entries map[int64]T
}

// get returns what is kept for an atlas, or makes it.
func (s *scopeCache[T]) get(atlas int64, of func(atlas int64) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, known := s.entries[atlas]
	if !known {
		if x = of(atlas); s.entries == nil || len(s.entries) == maxCachedScopes {
			s.entries = map[int64]T{}
		}
		s.entries[atlas] = x
	}
	return x
}
