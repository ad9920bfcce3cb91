package index

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Snapshot is an immutable view of one workspace: segments, and the updates that no segment holds. It is safe for
// concurrent use.
type Snapshot struct {
	segments    []*Segment
	memtable    *memtable
	rows        []DocAttributes // of the memtable, as far as this snapshot sees them
	lengths     []uint32        // columns of the rows
	lengthCodes []uint8
	appliedSeqs []int64
	deleted     []uint64 // tombstones of the rows
	docCount    int
	grouped     bool                 // some memory belongs to a group
	english     atomic.Pointer[bool] // cached result of IsEnglish
	bm25        func() *BM25Table
	scopeCache  *scopeCache[*Snapshot]
}

// NewSnapshot returns a snapshot of segments with an empty memtable.
func NewSnapshot(segments []*Segment) *Snapshot {
	v := &Snapshot{segments: slices.Clone(segments), memtable: newMemtable()}
	v.computeStats()
	return v
}

// Apply returns a snapshot with further updates. It ignores those that the snapshot already has. Of several updates
// of a memory the one with the highest Seq wins. That update replaces the document of the memory in every segment.
func (v *Snapshot) Apply(updates []DocUpdate) *Snapshot {
	t := v.memtable
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := slices.DeleteFunc(slices.Clone(updates), func(c DocUpdate) bool {
		return t.containsSeq(c.Seq, len(v.rows))
	})
	if len(fresh) == 0 {
		return v
	}
	if len(t.rows) > len(v.rows) {
		t = t.cloneRows(len(v.rows))
	}
	next := &Snapshot{memtable: t, deleted: make([]uint64, (len(t.rows)+len(fresh)+63)/64)}
	copy(next.deleted, v.deleted)
	deleted := next.appendRows(fresh)
	for _, g := range v.segments {
		g, _ = g.MarkDeleted(deleted)
		next.segments = append(next.segments, g)
	}
	next.rows, next.lengths, next.lengthCodes, next.appliedSeqs = t.rows, t.lengths, t.lengthCodes, t.seqs
	next.computeStats()
	return next
}

// appendRows appends rows to the memtable and returns the memories whose documents they replace.
func (v *Snapshot) appendRows(updates []DocUpdate) (deleted []int64) {
	t := v.memtable
	for _, c := range updates {
		row, before := len(t.rows), t.latestRowIn(c.Memory, len(t.rows))
		if t.containsSeq(c.Seq, row) {
			continue
		}
		outOfOrder := before >= 0 && t.seqs[before] > c.Seq
		t.add(c, outOfOrder)
		switch {
		case outOfOrder:
			v.markDeleted(row)
			continue
		case before >= 0:
			v.markDeleted(before)
		}
		if c.Deleted {
			v.markDeleted(row)
		}
		deleted = append(deleted, c.Memory)
	}
	return deleted
}

func (v *Snapshot) markDeleted(row int) { v.deleted[row/64] |= 1 << (row % 64) }

// computeStats computes the number of live documents and their total length, and looks for groups.
func (v *Snapshot) computeStats() {
	length := int64(0)
	for _, g := range v.segments {
		v.docCount += g.liveDocs
		length += g.totalLength
		v.grouped = v.grouped || g.HasGroups()
	}
	for i, n := range v.lengths {
		if !isSet(v.deleted, i) {
			v.docCount++
			length += int64(n)
		}
		v.grouped = v.grouped || v.rows[i].Group != 0
	}
	docs := v.docCount
	v.scopeCache = new(scopeCache[*Snapshot])
	v.bm25 = sync.OnceValue(func() *BM25Table { return newBM25Table(docs, length) })
}

// LiveDocs returns the number of live documents.
func (v *Snapshot) LiveDocs() int { return v.docCount }

// AppliedSeqs returns the sequence numbers of the updates in the order of their application. Callers must not change
// the slice.
func (v *Snapshot) AppliedSeqs() []int64 { return v.appliedSeqs }

// Rows returns the rows of the memtable.
func (v *Snapshot) Rows() []DocAttributes { return v.rows }

// RowLengthCodes returns the encoded lengths of the rows.
func (v *Snapshot) RowLengthCodes() []uint8 { return v.lengthCodes }

// IsRowDeleted reports whether a row was replaced or deleted.
func (v *Snapshot) IsRowDeleted(row int) bool { return isSet(v.deleted, row) }

// BM25 returns the table of saturated term frequencies for the average length of the live documents.
func (v *Snapshot) BM25() *BM25Table { return v.bm25() }

// Segments returns the segments, with the tombstones of this snapshot.
func (v *Snapshot) Segments() []*Segment { return v.segments }

// NextExpiry returns the time of the first expiry after now, or zero. Scores change at that time.
func (v *Snapshot) NextExpiry(now int64) (next int64) {
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

// Locate returns the live document of a memory. Segment -1 is the memtable. Document -1 means that there is none.
func (v *Snapshot) Locate(memory int64) (segment, doc int) {
	v.memtable.mu.RLock()
	row := v.memtable.latestRowIn(memory, len(v.rows))
	v.memtable.mu.RUnlock()
	if row >= 0 {
		if isSet(v.deleted, row) {
			return -1, -1
		}
		return -1, row
	}
	for i, g := range v.segments {
		if doc, ok := g.ordinalOf(memory); ok && !isSet(g.deleted, doc) {
			return i, doc
		}
	}
	return -1, -1
}

// HasGroups reports whether any memory belongs to a group.
func (v *Snapshot) HasGroups() bool { return v.grouped }

// IsEnglish reports whether the texts are English. It calls detect once and caches the result, because a snapshot never
// changes.
func (v *Snapshot) IsEnglish(detect func() (bool, error)) (bool, error) {
	if known := v.english.Load(); known != nil {
		return *known, nil
	}
	english, err := detect()
	if err == nil {
		v.english.Store(&english)
	}
	return english, err
}
