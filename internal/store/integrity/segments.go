package integrity

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// checkSegments compares what segments hold with the rows.
func (w *workspaceCheck) checkSegments() error {
	w.segmentCounts = map[int64]int{}
	var states int
	if err := w.t.QueryRow(`SELECT count(*) FROM keyword_indexes WHERE workspace = ?1`, []any{w.workspace},
		[]any{&states}); err != nil {
		return err
	}
	if states == 0 {
		w.report(InconsistentIndex, w.id, func(t *sqldb.Tx) (string, error) {
			_, err := t.Exec(
				`INSERT INTO keyword_indexes (workspace, version, analyzer) VALUES (?1, 0, ?2)
					ON CONFLICT (workspace) DO NOTHING`, w.workspace, analysis.Version)
			return "given a state", err
		}, "the index has no state")
	}
	var ids []int64
	err := w.t.Query(`SELECT row_id FROM segments WHERE workspace = ?1 ORDER BY row_id`, []any{w.workspace},
		sqldb.ScanInts(&ids))
	for _, id := range ids {
		if err == nil {
			err = w.checkSegment(id)
		}
	}
	return err
}

func (w *workspaceCheck) checkSegment(id int64) error {
	var head, dead []byte
	if err := w.t.QueryRow(`SELECT header, tombstones FROM segments WHERE row_id = ?1`, []any{id},
		[]any{&head, &dead}); err != nil {
		return err
	}
	s, err := index.Open(id, head, dead)
	if err != nil {
		w.reportBrokenSegment(id, nil)
		return nil
	}
	s, _ = s.MarkDeleted(slices.Collect(maps.Keys(w.lastLogged))) // documents in the log replace those in segments
	held := appendLive(s, w.rowIDs, nil)
	var reason string
	if left, _ := s.MarkDeleted(held); left.LiveDocs() > 0 {
		w.report(InconsistentIndex, w.id, w.repairSegment(id, held),
			"segment %d holds %d documents of memories that are gone", id, left.LiveDocs())
	} else {
		reason, err = w.withSavepoint(func() error { return w.compareDocuments(s, held) })
	}
	if reason != "" || errors.Is(err, indexdb.ErrStale) {
		w.reportBrokenSegment(id, held)
		err = nil
	}
	for _, rowID := range held {
		w.segmentCounts[rowID]++
	}
	return err
}

// reportBrokenSegment reports an unreadable segment. Documents of this segment alone are missing from the index, and
// are reported too.
func (w *workspaceCheck) reportBrokenSegment(id int64, held []int64) {
	w.report(InconsistentIndex, w.id, w.repairSegment(id, held), "segment %d cannot be read", id)
}

// repairSegment indexes memories again, and deletes the segment that held them.
func (w *workspaceCheck) repairSegment(segment int64, held []int64) func(*sqldb.Tx) (string, error) {
	return func(t *sqldb.Tx) (string, error) {
		if err := indexdb.RaiseVersion(t, w.workspace); err != nil {
			return "", err
		}
		if err := w.checker.index.Reindex(t, w.workspace, held...); err != nil {
			return "", err
		}
		return fmt.Sprintf("removed, and %d memories indexed again", len(held)), indexdb.DropSegment(t, segment)
	}
}

// appendLive appends the memories with a live document in a segment to held. It halves a list of which only some have
// one. rowIDs ascend, and so does the result.
func appendLive(s *index.Segment, rowIDs, held []int64) []int64 {
	rest, some := s.MarkDeleted(rowIDs)
	switch {
	case !some:
		return held
	case s.LiveDocs()-rest.LiveDocs() == len(rowIDs):
		return append(held, rowIDs...)
	}
	half := len(rowIDs) / 2
	return appendLive(s, rowIDs[half:], appendLive(s, rowIDs[:half], held))
}

// compareDocuments compares the documents of a segment with documents built from the rows. held are the memories with a
// live document in it, ascending. Each part of the segment holds the documents of want, and no others.
func (w *workspaceCheck) compareDocuments(s *index.Segment, held []int64) error {
	chosen := w.selected()
	if len(chosen) == 0 {
		return nil
	}
	first, _ := slices.BinarySearch(held, chosen[0])
	last, _ := slices.BinarySearch(held, chosen[len(chosen)-1]+1)
	var want []index.DocUpdate
	size, start := 0, first
	for at := first; at < last; {
		next := min(at+rowBatchSize, last)
		err := w.readRows(held[at:next], func(m indexdb.MemoryRow) error {
			want = append(want, index.DocUpdate{DocAttributes: m.DocAttributes(),
				Document: index.Analyze(m.Title, m.Content)})
			size += len(m.Content)
			return nil
		})
		if err != nil {
			return err
		}
		if at = next; len(want) < docBatchSize && size < docBatchBytes && at < last {
			continue
		}
		part, _ := s.MarkDeleted(held[:start])
		part, _ = part.MarkDeleted(held[at:])
		if len(w.unreadable) > 0 { // their documents cannot be built
			part, _ = part.MarkDeleted(slices.Sorted(maps.Keys(w.unreadable)))
		}
		if err := w.compareSegment(part, indexdb.FetchPages(w.t), want); err != nil {
			return err
		}
		want, size, start = nil, 0, at
	}
	return nil
}

// compareSegment reports the documents of a segment that differ from the wanted ones. It merges the segment and builds
// the wanted documents, which must give the same bytes. If not, it compares both halves. The segment holds the
// documents of want, which ascend, and no others. If all differ, each is merged once at each of log2(len(want)) levels.
func (w *workspaceCheck) compareSegment(s *index.Segment, fetch index.PageFetcher, want []index.DocUpdate) error {
	got, err := index.Merge(w.t.Ctx, fetch, []*index.Segment{s})
	if err != nil {
		return err
	}
	built := index.Build(want)
	if bytes.Equal(got.Header, built.Header) && slices.EqualFunc(got.Pages, built.Pages, bytes.Equal) {
		return nil
	}
	if len(want) == 1 {
		return w.reportDifference(want[0].Memory)
	}
	small, err := index.Open(0, got.Header, nil)
	if err != nil {
		return err
	}
	memories := make([]int64, len(want))
	for n, c := range want {
		memories[n] = c.Memory
	}
	half := len(want) / 2
	pages := func(_ int64, page int) ([]byte, error) { return got.Pages[page], nil }
	left, _ := small.MarkDeleted(memories[half:])
	if err := w.compareSegment(left, pages, want[:half]); err != nil {
		return err
	}
	right, _ := small.MarkDeleted(memories[:half])
	return w.compareSegment(right, pages, want[half:])
}

// reportDifference reports a memory with a wrong document in the index, unless the row itself is damaged.
func (w *workspaceCheck) reportDifference(rowID int64) error {
	return w.readRows([]int64{rowID}, func(m indexdb.MemoryRow) error {
		if corruption(&m) == "" {
			w.report(InconsistentIndex, m.ID, w.repairByReindex(rowID),
				"its document in the index is not that of its row")
		}
		return nil
	})
}

// reportStaleDocument reports a memory that must be indexed again.
func (w *workspaceCheck) reportStaleDocument(rowID int64, what string) error {
	return w.readRows([]int64{rowID}, func(m indexdb.MemoryRow) error {
		w.report(InconsistentIndex, m.ID, w.repairByReindex(rowID), "%s", what)
		return nil
	})
}
