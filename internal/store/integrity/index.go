package integrity

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// indexedDocs are the documents of a memory in the index.
type indexedDocs struct {
	digest uint64 // the sum of their digests
	count  uint8
}

// readIndex reads the digests of the documents of all memories. The documents in the log replace those in segments. An
// unreadable index is not compared.
func (w *workspaceCheck) readIndex() (err error) {
	w.documents, w.gone, w.misplaced = nil, nil, map[uint64]bool{}
	defer func() {
		if err != nil {
			w.documents = nil
		}
	}()
	var states int
	if err := w.t.QueryRow(`SELECT count(*), COALESCE(max(analyzer), 0) FROM keyword_indexes WHERE workspace = ?1`,
		[]any{w.workspace}, []any{&states, &w.analyzer}); err != nil {
		return err
	}
	if w.analyzer > analysis.Version {
		w.reportNewerAnalyzer()
		return nil
	}
	w.documents = make([]indexedDocs, len(w.rowIDs))
	if states == 0 {
		w.differ(InconsistentIndex, "the index has no state")
	}
	logged, err := w.readLog()
	if err != nil {
		return err
	}
	segments, err := listRows(w.t, "segments", w.workspace)
	for _, id := range segments {
		if err == nil {
			err = w.readPart("segment", id, func() error { return w.readSegment(id, logged) })
		}
	}
	return err
}

// newerAdvice is the reason why this program repairs no index of a newer one.
const newerAdvice = "use the newer program"

// reportNewerAnalyzer reports that this program cannot build the documents of an index. A repair would damage it. A
// newer server may have reindexed since the store was opened.
func (w *workspaceCheck) reportNewerAnalyzer() {
	w.report(InconsistentIndex, w.id, "the index is of analyzer %d and cannot be read: this program has %d", w.analyzer,
		analysis.Version)
	f := &w.found[len(w.found)-1]
	f.derived, f.advice = true, "could not be repaired: "+newerAdvice
}

// readPart reads a part of the index. One that cannot be read is a difference.
func (w *workspaceCheck) readPart(name string, id int64, f func() error) error {
	reason, err := w.withSavepoint(f)
	if reason != "" || errors.Is(err, indexdb.ErrStale) { // in a snapshot, pages can only be lost
		w.differ(InconsistentIndex, "%s %d cannot be read", name, id)
		return nil
	}
	return err
}

// readLog adds the last update of each memory in the log, and returns the memories in it.
func (w *workspaceCheck) readLog() (memories []int64, err error) {
	last := map[int64]int64{} // seq by memory
	seq := int64(math.MinInt64)
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := w.t.Query(`SELECT seq, memory FROM index_log WHERE workspace = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`,
			[]any{w.workspace, seq, listBatchSize}, func(r sqldb.Row) error {
				var memory int64
				err := r.Scan(&seq, &memory)
				last[memory] = seq
				n++
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	seqs := slices.Sorted(maps.Values(last))
	for some := range slices.Chunk(seqs, rowBatchSize) {
		if err := w.readPart("the log of changes after number", some[0]-1, func() error {
			list, err := indexdb.ReadLog(w.t, w.workspace, some)
			for _, u := range list {
				if !u.Deleted {
					w.addDocument(u.Memory, u.Digest())
				}
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Keys(last)), nil
}

// readSegment adds the live documents of a segment, but those of memories in the log. A sample skips a segment without
// any of its memories.
func (w *workspaceCheck) readSegment(id int64, logged []int64) error {
	s, err := indexdb.OpenSegment(w.t, id)
	if err != nil {
		return err
	}
	s, _ = s.MarkDeleted(logged)
	if _, needed := s.MarkDeleted(w.selected()); !needed && s.LiveDocs() > 0 && w.sampleSize > 0 {
		return nil
	}
	sums, err := s.Digests(w.t.Ctx, indexdb.FetchPages(w.t))
	if err != nil {
		return err
	}
	for doc, memory := range s.Memories() {
		if !s.IsDeleted(doc) {
			w.addDocument(memory, sums[doc])
		}
	}
	return nil
}

func (w *workspaceCheck) addDocument(memory int64, digest uint64) {
	i, ok := slices.BinarySearch(w.rowIDs, memory)
	if !ok {
		w.gone = append(w.gone, orphanDocument{memory, digest})
		w.differ(InconsistentIndex, "the index holds a document of row %d, which is gone", memory)
		return
	}
	d := &w.documents[i]
	d.digest, d.count = d.digest+digest, min(d.count, math.MaxUint8-1)+1
}

// checkDocument compares the document of a memory in the index with that of its row. A memory of a deleted atlas has
// none.
func (w *workspaceCheck) checkDocument(i int, m *indexdb.MemoryRow) {
	if w.documents == nil {
		return
	}
	want := indexedDocs{}
	if !w.deleted[m.RowID] {
		u := index.DocUpdate{DocAttributes: m.DocAttributes(), Document: index.Analyze(m.Title, m.Content)}
		want = indexedDocs{u.Digest(), 1}
	}
	have := w.documents[i]
	if have == want {
		return
	}
	w.misplaced[want.digest] = true
	switch {
	case have.count == 0:
		w.differ(InconsistentIndex, "the memory %s is not in the index", m.ID)
	case have.count > want.count:
		w.differ(InconsistentIndex, "the memory %s is in the index more often than once", m.ID)
	default:
		w.differ(InconsistentIndex, "the document of the memory %s in the index is not that of its row", m.ID)
	}
}
