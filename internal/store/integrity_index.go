package store

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

// An integrityChecker goes through one workspace, of which it sees one state.
type integrityChecker struct {
	workspace  int64
	id         string
	sampleSize int   // memories to look at, where it is a sample
	sampleFrom int64 // the first of them; nearly
	progress   func(rows int)
	bandWindow int // of how many memories the bands are held at once

	t             *Tx
	rowIDs        []int64                // of the memories, rising
	lastLogged    map[int64]loggedUpdate // the last change of each memory that has one
	logEntries    []loggedUpdate         // all changes
	segmentCounts map[int64]int          // in how many segments the memories live that are looked at
	unreadable    map[int64]string       // memories that the database cannot read, and why
	found         []Inconsistency
	omitted       int64 // flaws that are counted and no more
}

type loggedUpdate struct {
	seq, memory int64
	deleted     bool
}

// Bounds of what is held at once.
const (
	rowBatchSize  = 128     // rows with their texts
	docBatchSize  = 4096    // documents
	docBatchBytes = 8 << 20 // of the texts of those
	listBatchSize = 20_000  // rows without texts, from one query
)

func (i *integrityChecker) check(t *Tx) error {
	i.t = t
	t.conn.ReadOnly = true
	return t.conn.RepeatableRead(func() error {
		if t.conn.Dialect.RowLocks {
			if _, err := t.exec(`SET LOCAL statement_timeout = 0`); err != nil {
				return err
			}
		}
		i.unreadable = map[int64]string{}
		for _, s := range i.steps() {
			if err := i.runStep(s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (i *integrityChecker) report(kind, id string, mend func(*SystemTx) (string, error), what string, args ...any) {
	if len(i.found) == maxReported {
		i.omitted++
		return
	}
	i.found = append(i.found, Inconsistency{Kind: kind, ID: id, Detail: fmt.Sprintf(what, args...), repair: mend})
}

// selected are the memories that are looked at one by one.
func (i *integrityChecker) selected() []int64 {
	if i.sampleSize == 0 || len(i.rowIDs) <= i.sampleSize {
		return i.rowIDs
	}
	at, _ := slices.BinarySearch(i.rowIDs, i.sampleFrom)
	at = min(at, len(i.rowIDs)-i.sampleSize)
	return i.rowIDs[at : at+i.sampleSize]
}

func (i *integrityChecker) exists(rowID int64) bool {
	_, ok := slices.BinarySearch(i.rowIDs, rowID)
	return ok
}

// checkSegments compares what segments hold with the rows.
func (i *integrityChecker) checkSegments() error {
	i.segmentCounts = map[int64]int{}
	var states int
	if err := i.t.conn.QueryRow(`SELECT count(*) FROM keyword_indexes WHERE workspace = ?1`, []any{i.workspace},
		[]any{&states}); err != nil {
		return err
	}
	if states == 0 {
		i.report(InconsistentIndex, i.id, func(t *SystemTx) (string, error) {
			_, err := t.t.exec(
				`INSERT INTO keyword_indexes (workspace, version, analyzer) VALUES (?1, 0, ?2)
					ON CONFLICT (workspace) DO NOTHING`, i.workspace, analysis.Version)
			return "given a state", err
		}, "the index has no state")
	}
	var ids []int64
	err := i.t.conn.Query(`SELECT row_id FROM segments WHERE workspace = ?1 ORDER BY row_id`, []any{i.workspace},
		sqldb.ScanInts(&ids))
	for _, id := range ids {
		if err == nil {
			err = i.checkSegment(id)
		}
	}
	return err
}

func (i *integrityChecker) checkSegment(id int64) error {
	var head, dead []byte
	if err := i.t.conn.QueryRow(`SELECT header, tombstones FROM segments WHERE row_id = ?1`, []any{id},
		[]any{&head, &dead}); err != nil {
		return err
	}
	s, err := index.Open(id, head, dead)
	if err != nil {
		i.reportBrokenSegment(id, nil)
		return nil
	}
	s, _ = s.MarkDeleted(slices.Collect(maps.Keys(i.lastLogged))) // the log knows better, as it does for a view
	held := liveMemories(s, i.rowIDs, nil)
	if left, _ := s.MarkDeleted(held); left.LiveDocs() > 0 {
		i.report(InconsistentIndex, i.id, i.repairSegment(id, held),
			"segment %d holds %d documents of memories that are gone", id, left.LiveDocs())
	}
	if rest, _ := s.MarkDeleted(held); rest.LiveDocs() == 0 {
		var why string
		if why, err = i.withSavepoint(func() error { return i.compareDocuments(s, held) }); why != "" {
			err = index.ErrCorrupt
		}
	}
	if errors.Is(err, index.ErrCorrupt) || errors.Is(err, indexdb.ErrStale) {
		i.reportBrokenSegment(id, held)
		err = nil
	}
	for _, rowID := range held {
		i.segmentCounts[rowID]++
	}
	return err
}

// reportBrokenSegment reports a segment that cannot be read. Documents of that
// segment only are missing from the index, and are reported too.
func (i *integrityChecker) reportBrokenSegment(id int64, held []int64) {
	i.report(InconsistentIndex, i.id, i.repairSegment(id, held), "segment %d cannot be read", id)
}

// repairSegment indexes memories anew, and removes the segment that held them.
func (i *integrityChecker) repairSegment(segment int64, held []int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		if err := indexdb.Lock(t.t.conn, i.workspace); err != nil {
			return "", err
		}
		if err := t.t.store.index.Reindex(t.t.conn, i.workspace, held...); err != nil {
			return "", err
		}
		return fmt.Sprintf("removed, and %d memories indexed anew", len(held)), indexdb.DropSegment(t.t.conn, segment)
	}
}

// liveMemories returns those of the memories that live in a segment.
func liveMemories(s *index.Segment, rowIDs, held []int64) []int64 {
	rest, some := s.MarkDeleted(rowIDs)
	switch {
	case !some:
		return held
	case s.LiveDocs()-rest.LiveDocs() == len(rowIDs):
		return append(held, rowIDs...)
	}
	half := len(rowIDs) / 2
	return liveMemories(s, rowIDs[half:], liveMemories(s, rowIDs[:half], held))
}

// compareDocuments compares the documents of a segment with those that the rows make.
func (i *integrityChecker) compareDocuments(s *index.Segment, held []int64) error {
	chosen := i.selected()
	if len(chosen) == 0 {
		return nil
	}
	first, _ := slices.BinarySearch(held, chosen[0])
	last, _ := slices.BinarySearch(held, chosen[len(chosen)-1]+1)
	var want []index.DocUpdate
	size, start := 0, first
	for at := first; at < last; {
		next := min(at+rowBatchSize, last)
		err := i.readRows(held[at:next], func(m indexdb.MemoryRow) error {
			want = append(want, m.DocUpdate())
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
		if len(i.unreadable) > 0 { // nobody knows what their documents should be
			part, _ = part.MarkDeleted(slices.Sorted(maps.Keys(i.unreadable)))
		}
		if err := i.compareSegment(part, indexdb.FetchPages(i.t.conn), want); err != nil {
			return err
		}
		want, size, start = nil, 0, at
	}
	return nil
}

// compareSegment tells which documents of a segment are not the wanted ones. It merges
// what there is, and builds what there should be, to the same bytes; where they
// are not, one half of the documents has the flaw, or the other, or both.
func (i *integrityChecker) compareSegment(s *index.Segment, fetch index.PageFetcher, want []index.DocUpdate) error {
	got, err := index.Merge(i.t.conn.Ctx, fetch, []*index.Segment{s})
	if err != nil {
		return err
	}
	built, err := index.Build(want)
	if err != nil || bytes.Equal(got.Header, built.Header) && slices.EqualFunc(got.Pages, built.Pages, bytes.Equal) {
		return err
	}
	if len(want) == 1 {
		return i.reportDifference(want[0].Memory)
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
	if err := i.compareSegment(left, pages, want[:half]); err != nil {
		return err
	}
	right, _ := small.MarkDeleted(memories[:half])
	return i.compareSegment(right, pages, want[half:])
}

// reportDifference tells of a memory whose document in the index is another one, unless the row
// itself is damaged.
func (i *integrityChecker) reportDifference(rowID int64) error {
	return i.readRows([]int64{rowID}, func(m indexdb.MemoryRow) error {
		if corruption(&m) == "" {
			i.report(InconsistentIndex, m.ID, i.repairByReindex(rowID),
				"its document in the index is not that of its row")
		}
		return nil
	})
}

// reportStaleDocument tells of a memory that is to be indexed anew.
func (i *integrityChecker) reportStaleDocument(rowID int64, what string) error {
	return i.readRows([]int64{rowID}, func(m indexdb.MemoryRow) error {
		i.report(InconsistentIndex, m.ID, i.repairByReindex(rowID), "%s", what)
		return nil
	})
}
