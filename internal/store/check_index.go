package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/search"
)

// An inspector goes through one workspace, of which it sees one state.
type inspector struct {
	workspace int64
	id        string
	some      int   // memories to look at, where it is a sample
	from      int64 // the first of them; nearly
	saw       func(rows int)
	window    int // of how many memories the bands are held at once

	t      *Tx
	rids   []int64          // of the memories, rising
	log    map[int64]logged // the last change of each memory that has one
	seqs   []logged         // all changes
	places map[int64]int    // in how many segments the memories live that are looked at
	unread map[int64]string // memories that the database cannot read, and why
	flaws  []Flaw
	more   int64 // flaws that are counted and no more
}

type logged struct {
	seq, memory int64
	gone        bool
}

// Bounds of what is held at once.
const (
	inspectRows  = 128     // rows with their texts
	inspectDocs  = 4096    // documents
	inspectBytes = 8 << 20 // of the texts of those
	inspectList  = 20_000  // rows without texts, from one query
)

func (i *inspector) inspect(t *Tx) error {
	i.t = t
	t.reading = true
	return t.snapshot(func() error {
		if t.s.db.dialect().locks {
			if _, err := t.exec(`SET LOCAL statement_timeout = 0`); err != nil {
				return err
			}
		}
		i.unread = map[int64]string{}
		for _, s := range i.steps() {
			if err := i.take(s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (i *inspector) flaw(kind, id string, mend func(*SystemTx) (string, error), what string, args ...any) {
	if len(i.flaws) == maxFlaws {
		i.more++
		return
	}
	i.flaws = append(i.flaws, Flaw{Kind: kind, ID: id, What: fmt.Sprintf(what, args...), mend: mend})
}

// chosen are the memories that are looked at one by one.
func (i *inspector) chosen() []int64 {
	if i.some == 0 || len(i.rids) <= i.some {
		return i.rids
	}
	at, _ := slices.BinarySearch(i.rids, i.from)
	at = min(at, len(i.rids)-i.some)
	return i.rids[at : at+i.some]
}

func (i *inspector) exists(rid int64) bool {
	_, ok := slices.BinarySearch(i.rids, rid)
	return ok
}

// segments compares what segments hold with the rows.
func (i *inspector) segments() error {
	i.places = map[int64]int{}
	var states int
	if err := i.t.c.one(`SELECT count(*) FROM indexes WHERE workspace = ?1`, []any{i.workspace}, []any{&states}); err != nil {
		return err
	}
	if states == 0 {
		i.flaw(FlawIndex, i.id, func(t *SystemTx) (string, error) {
			_, err := t.t.exec(`INSERT INTO indexes (workspace, version, analyzer) VALUES (?1, 0, ?2) ON CONFLICT (workspace) DO NOTHING`, i.workspace, search.AnalyzerVersion)
			return "given a state", err
		}, "the index has no state")
	}
	var ids []int64
	err := i.t.c.each(`SELECT rid FROM segments WHERE workspace = ?1 ORDER BY rid`, []any{i.workspace}, into(&ids))
	for _, id := range ids {
		if err == nil {
			err = i.segment(id)
		}
	}
	return err
}

func (i *inspector) segment(id int64) error {
	var head, dead []byte
	if err := i.t.c.one(`SELECT head, dead FROM segments WHERE rid = ?1`, []any{id}, []any{&head, &dead}); err != nil {
		return err
	}
	s, err := search.Open(id, head, dead)
	if err != nil {
		i.broken(id, nil)
		return nil
	}
	s, _ = s.Kill(slices.Collect(maps.Keys(i.log))) // the log knows better, as it does for a view
	held := heldBy(s, i.rids, nil)
	if left, _ := s.Kill(held); left.Live() > 0 {
		i.flaw(FlawIndex, i.id, i.replace(id, held), "segment %d holds %d documents of memories that are gone", id, left.Live())
	}
	if rest, _ := s.Kill(held); rest.Live() == 0 {
		var why string
		if why, err = i.attempt(func() error { return i.documents(s, held) }); why != "" {
			err = search.ErrCorrupt
		}
	}
	if errors.Is(err, search.ErrCorrupt) || errors.Is(err, errStale) {
		i.broken(id, held)
		err = nil
	}
	for _, rid := range held {
		i.places[rid]++
	}
	return err
}

// broken tells of a segment that cannot be read. What only it held is lost to
// the index, and is found to be.
func (i *inspector) broken(id int64, held []int64) {
	i.flaw(FlawIndex, i.id, i.replace(id, held), "segment %d cannot be read", id)
}

// replace indexes memories anew, and removes the segment that held them.
func (i *inspector) replace(segment int64, held []int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		if err := t.hold(i.workspace); err != nil {
			return "", err
		}
		if _, err := t.reindex(i.workspace, held...); err != nil {
			return "", err
		}
		return fmt.Sprintf("removed, and %d memories indexed anew", len(held)), t.dropSegment(segment)
	}
}

// heldBy returns those of the memories that live in a segment.
func heldBy(s *search.Segment, rids, held []int64) []int64 {
	rest, some := s.Kill(rids)
	switch {
	case !some:
		return held
	case s.Live()-rest.Live() == len(rids):
		return append(held, rids...)
	}
	half := len(rids) / 2
	return heldBy(s, rids[half:], heldBy(s, rids[:half], held))
}

// documents compares the documents of a segment with those that the rows make.
func (i *inspector) documents(s *search.Segment, held []int64) error {
	chosen := i.chosen()
	if len(chosen) == 0 {
		return nil
	}
	first, _ := slices.BinarySearch(held, chosen[0])
	last, _ := slices.BinarySearch(held, chosen[len(chosen)-1]+1)
	var want []search.Change
	size, start := 0, first
	for at := first; at < last; {
		next := min(at+inspectRows, last)
		err := i.read(held[at:next], func(m inspectedRow) error {
			want = append(want, m.change())
			size += len(m.content)
			return nil
		})
		if err != nil {
			return err
		}
		if at = next; len(want) < inspectDocs && size < inspectBytes && at < last {
			continue
		}
		part, _ := s.Kill(held[:start])
		part, _ = part.Kill(held[at:])
		if len(i.unread) > 0 { // nobody knows what their documents should be
			part, _ = part.Kill(slices.Sorted(maps.Keys(i.unread)))
		}
		if err := i.compare(part, i.t.page, want); err != nil {
			return err
		}
		want, size, start = nil, 0, at
	}
	return nil
}

// compare tells which documents of a segment are not the wanted ones. It merges
// what there is, and builds what there should be, to the same bytes; where they
// are not, one half of the documents has the flaw, or the other, or both.
func (i *inspector) compare(s *search.Segment, fetch search.Fetch, want []search.Change) error {
	got, err := search.Merge(i.t.ctx, fetch, []*search.Segment{s})
	if err != nil {
		return err
	}
	built, err := search.Build(want)
	if err != nil || bytes.Equal(got.Head, built.Head) && slices.EqualFunc(got.Pages, built.Pages, bytes.Equal) {
		return err
	}
	if len(want) == 1 {
		return i.differs(want[0].Memory)
	}
	small, err := search.Open(0, got.Head, nil)
	if err != nil {
		return err
	}
	memories := make([]int64, len(want))
	for n, c := range want {
		memories[n] = c.Memory
	}
	half := len(want) / 2
	pages := func(_ int64, page int) ([]byte, error) { return got.Pages[page], nil }
	left, _ := small.Kill(memories[half:])
	if err := i.compare(left, pages, want[:half]); err != nil {
		return err
	}
	right, _ := small.Kill(memories[:half])
	return i.compare(right, pages, want[half:])
}

// differs tells of a memory whose document in the index is another one, unless the row
// itself is damaged.
func (i *inspector) differs(rid int64) error {
	return i.read([]int64{rid}, func(m inspectedRow) error {
		if m.damage() == "" {
			i.flaw(FlawIndex, m.id, i.reindex(rid), "its document in the index is not that of its row")
		}
		return nil
	})
}

// stale tells of a memory that is to be indexed anew.
func (i *inspector) stale(rid int64, what string) error {
	return i.read([]int64{rid}, func(m inspectedRow) error {
		i.flaw(FlawIndex, m.id, i.reindex(rid), "%s", what)
		return nil
	})
}
