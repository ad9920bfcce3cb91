package search

import (
	"slices"
	"sync"
	"sync/atomic"
)

// View is an immutable snapshot of one workspace: segments and the changes that
// no segment holds yet. It is safe for concurrent use.
type View struct {
	segments []*Segment
	tail     *tail
	rows     []Attributes // the tail's rows that are this view's own, and
	lengths  []uint32     // their columns
	codes    []uint8
	seqs     []int64
	dead     []uint64 // rows replaced by later ones, or gone
	docs     int
	grouped  bool                 // a memory belongs to a group
	english  atomic.Pointer[bool] // whether the texts are English, once that was asked: see settle
	norms    func() *norms
	scopes   *scopes[*View]
}

// NewView is a workspace without unfolded changes.
func NewView(segments []*Segment) *View {
	v := &View{segments: slices.Clone(segments), tail: newTail()}
	v.finish()
	return v
}

// With is the view after further changes. Rows that it already has are passed
// over; of several rows of a memory the highest seq wins, and it replaces the
// memory's document in every segment.
func (v *View) With(changes []Change) *View {
	t := v.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return t.has(c.Seq, len(v.rows)) })
	if len(fresh) == 0 {
		return v
	}
	if len(t.rows) > len(v.rows) {
		t = t.first(len(v.rows))
	}
	next := &View{tail: t, dead: make([]uint64, (len(t.rows)+len(fresh)+63)/64)}
	copy(next.dead, v.dead)
	killed := next.apply(fresh)
	for _, s := range v.segments {
		s, _ = s.Kill(killed)
		next.segments = append(next.segments, s)
	}
	next.rows, next.lengths, next.codes, next.seqs = t.rows, t.length, t.codes, t.seqs
	next.finish()
	return next
}

// apply adds rows to the tail and returns the memories they replace.
func (v *View) apply(changes []Change) (killed []int64) {
	t := v.tail
	for _, c := range changes {
		row, before := len(t.rows), t.last(c.Memory, len(t.rows))
		if t.has(c.Seq, row) {
			continue
		}
		late := before >= 0 && t.seqs[before] > c.Seq
		t.add(c, late)
		switch {
		case late:
			v.kill(row)
			continue
		case before >= 0:
			v.kill(before)
		}
		if c.Gone {
			v.kill(row)
		}
		killed = append(killed, c.Memory)
	}
	return killed
}

func (v *View) kill(row int) { v.dead[row/64] |= 1 << (row % 64) }

// finish counts the live documents and their length, and looks for groups.
func (v *View) finish() {
	length := int64(0)
	for _, s := range v.segments {
		v.docs += s.live
		length += s.length
		v.grouped = v.grouped || len(s.columns.grouped) > 0
	}
	for i, n := range v.lengths {
		if !isSet(v.dead, i) {
			v.docs++
			length += int64(n)
		}
		v.grouped = v.grouped || v.rows[i].Group != 0
	}
	docs := v.docs
	v.scopes = new(scopes[*View])
	v.norms = sync.OnceValue(func() *norms { return newNorms(docs, length) })
}

// Docs is the number of live documents.
func (v *View) Docs() int { return v.docs }

// Seqs are the changes the view was made with, in the order they came. The
// caller must not change them.
func (v *View) Seqs() []int64 { return v.seqs }

// Segments are the view's segments, dead documents as the view sees them.
func (v *View) Segments() []*Segment { return v.segments }

// Expires is the time after now at which the next memory expires, which changes
// scores, or zero.
func (v *View) Expires(now int64) (next int64) {
	sooner := func(t int64) {
		if t > now && (next == 0 || t < next) {
			next = t
		}
	}
	for _, g := range v.segments {
		for _, t := range g.expiry {
			sooner(t)
		}
	}
	for i := range v.rows {
		sooner(v.rows[i].ValidUntil)
	}
	return next
}
