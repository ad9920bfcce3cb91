package search

import "sync"

// scopeDocs is how many live documents an atlas has at least for its own statistics
// to rank what is asked for in it alone. Measured: with those of 4 to 16 documents,
// questions on code and documentation lose up to .01 against the workspace's; with the
// workspace's, conversations of 19 to 32 sessions lose as much.
const scopeDocs = 16

// maxScopes is how many scopes a view and each of its segments keep.
const maxScopes = 16

// scoped returns the view whose statistics, vocabulary and language rank the hits of
// a filter. If the filter admits one atlas and that is large enough, this is a view
// in which all other documents are dead; else it is the view itself.
func (v *View) scoped(f *Filter) *View {
	if len(f.Atlases) != 1 {
		return v
	}
	w := v.scopes.get(f.Atlases[0], v.within)
	if w.docs < scopeDocs {
		return v
	}
	return w
}

// within returns the view of one atlas.
func (v *View) within(atlas int64) *View {
	w := &View{tail: v.tail, rows: v.rows, lengths: v.lengths, codes: v.codes, seqs: v.seqs, dead: make([]uint64, (len(v.rows)+63)/64)}
	for _, s := range v.segments {
		w.segments = append(w.segments, s.scopes.get(atlas, s.within))
	}
	copy(w.dead, v.dead)
	for i := range v.rows {
		if v.rows[i].Atlas != atlas {
			w.kill(i)
		}
	}
	w.finish()
	return w
}

// within returns the segment with the documents of all other atlases dead.
func (s *Segment) within(atlas int64) *Segment {
	f := Filter{Atlases: []int64{atlas}}
	gate := f.gate(s.columns)
	if gate.open() {
		return s
	}
	t := *s
	t.dead, t.live, t.length = make([]uint64, (s.docs()+63)/64), 0, 0
	for i := range t.dead {
		t.dead[i] = ^uint64(0)
	}
	for doc, at := range s.atlas {
		if gate.atlases[at] && !isSet(s.dead, doc) {
			t.dead[doc/64] &^= 1 << (doc % 64)
			t.live++
			t.length += int64(s.lengths[doc])
		}
	}
	if rest := s.docs() % 64; rest != 0 {
		t.dead[len(t.dead)-1] &= 1<<rest - 1
	}
	return &t
}

// scopes keeps what was made for some atlases. What it belongs to never changes, so
// nothing in it expires.
type scopes[T any] struct {
	mu   sync.Mutex
	kept map[int64]T
}

// get returns what is kept for an atlas, or makes it.
func (s *scopes[T]) get(atlas int64, of func(atlas int64) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, known := s.kept[atlas]
	if !known {
		if x = of(atlas); s.kept == nil || len(s.kept) == maxScopes {
			s.kept = map[int64]T{}
		}
		s.kept[atlas] = x
	}
	return x
}
