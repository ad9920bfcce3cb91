package search

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

func textUpdate(seq, memory int64, text string) DocUpdate {
	return DocUpdate{Seq: seq, DocAttributes: DocAttributes{Memory: memory}, Document: Analyze("", text)}
}

// searchMemories are the memories a search gives, best first.
func searchMemories(t *testing.T, v *Snapshot, d *fakeStore, query string) (list []int64) {
	t.Helper()
	r, err := v.Search(d.fetch, Parse(query), Filter{}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		list = append(list, h.Memory)
	}
	return list
}

func TestApplyKeepsHighestSeqInAnyOrder(t *testing.T) {
	t.Parallel()
	rows := []DocUpdate{textUpdate(1, 7, "apple"), textUpdate(2, 7, "banana"),
		{Seq: 3, DocAttributes: DocAttributes{Memory: 8}, Deleted: true}, textUpdate(4, 9, "cherry")}
	d := newFakeStore()
	base := flushedSnapshot(t, d, 1, []DocUpdate{textUpdate(0, 7, "quince"), textUpdate(0, 8, "banana")})
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {1, 1, 0, 2, 3}} {
		v := base
		for _, i := range order {
			v = v.Apply(rows[i : i+1])
		}
		if got := searchMemories(t, v, d, "apple banana cherry quince"); len(got) != 2 || v.Docs() != 2 {
			t.Errorf("%v: %v of %d documents", order, got, v.Docs())
		}
		if got := searchMemories(t, v, d, "banana"); !slices.Equal(got, []int64{7}) {
			t.Errorf("%v: banana gives %v, want 7", order, got)
		}
		seqs := slices.Sorted(slices.Values(v.AppliedSeqs()))
		if !slices.Equal(seqs, []int64{1, 2, 3, 4}) {
			t.Errorf("%v: seqs %v", order, seqs)
		}
		if v.Apply(rows) != v {
			t.Errorf("%v: known rows made another view", order)
		}
	}
}

func TestSnapshotsOfOneParentAreIsolated(t *testing.T) {
	t.Parallel()
	d := newFakeStore()
	parent := NewSnapshot(nil).Apply([]DocUpdate{textUpdate(1, 1, "shared one")})
	left := parent.Apply([]DocUpdate{textUpdate(2, 2, "shared left"), textUpdate(3, 1, "changed")})
	right := parent.Apply([]DocUpdate{textUpdate(4, 3, "shared right")})
	for _, c := range []struct {
		name string
		view *Snapshot
		want []int64
	}{{"parent", parent, []int64{1}}, {"left", left, []int64{2}}, {"right", right, []int64{1, 3}}} {
		if got := slices.Sorted(slices.Values(searchMemories(t, c.view, d, "shared"))); !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSnapshotIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	d := newFakeStore()
	v := flushedSnapshot(t, d, 1, []DocUpdate{textUpdate(1, 1, "alpha beta"), textUpdate(2, 2, "alpha")})
	fetch := NewCache(1 << 10).ReadThrough(d.fetch)
	want, _ := v.Search(fetch, Parse("alpha beta"), Filter{}, 0, 10)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			next := v
			for i := range 50 {
				seq := int64(100 + worker*100 + i)
				next = next.Apply([]DocUpdate{textUpdate(seq, seq, "alpha gamma")})
				got, err := v.Search(fetch, Parse("alpha beta"), Filter{}, 0, 10)
				if err != nil || !sameResult(got, want) {
					t.Errorf("the old view gives %+v, %v", got, err)
				}
				if r, err := next.Search(fetch, Parse("gamma"), Filter{}, 0, 1); err != nil || r.Total != i+1 {
					t.Errorf("the new view finds %d of %d, %v", r.Total, i+1, err)
				}
			}
		})
	}
	all.Wait()
}

func TestSnapshotServesSearchesDuringApply(t *testing.T) {
	t.Parallel()
	d := newFakeStore()
	snapshots := make(chan *Snapshot, 64)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for v := range snapshots {
				if r, err := v.Search(d.fetch, Parse("gamma"), Filter{}, 0, 1); err != nil ||
					r.Total != len(v.AppliedSeqs()) {
					t.Errorf("%d of %d, %v", r.Total, len(v.AppliedSeqs()), err)
				}
			}
		})
	}
	v := NewSnapshot(nil)
	for i := range int64(300) {
		v = v.Apply([]DocUpdate{textUpdate(i, i, "gamma delta")})
		snapshots <- v
	}
	close(snapshots)
	all.Wait()
}

func TestMarkDeletedIgnoresUnknownMemories(t *testing.T) {
	t.Parallel()
	blob, _ := Build([]DocUpdate{textUpdate(1, 5, "a"), textUpdate(2, 6, "b")})
	s, err := Open(1, blob.Header, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, changed := s.MarkDeleted([]int64{1, 99}); changed {
		t.Error("a stranger's death changed the segment")
	}
	k, changed := s.MarkDeleted([]int64{6, 7})
	if !changed || k.LiveDocs() != 1 || s.LiveDocs() != 2 {
		t.Errorf("changed %v, %d live of %d", changed, k.LiveDocs(), s.LiveDocs())
	}
	again, err := Open(1, blob.Header, k.Tombstones())
	if err != nil || again.LiveDocs() != 1 {
		t.Errorf("opened again: %v, %d live", err, again.LiveDocs())
	}
}

func TestSearchRanksExpiredDocumentsLower(t *testing.T) {
	t.Parallel()
	old, young := textUpdate(1, 1, "apple"), textUpdate(2, 2, "apple")
	old.ValidUntil = 50
	v := NewSnapshot(nil).Apply([]DocUpdate{old, young})
	r, err := v.Search(newFakeStore().fetch, Parse("apple"), Filter{}, 50, 5)
	if err != nil || r.Hits[0].Memory != 2 || r.Hits[1].Score != r.Hits[0].Score*.8 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFilterKeepsScores(t *testing.T) {
	t.Parallel()
	c := textUpdate(1, 1, "apple pie")
	c.Status, c.Kind, c.Atlas, c.Tags = 1, 2, 3, []string{"x", "y"}
	d := newFakeStore()
	v := flushedSnapshot(t, d, 1, []DocUpdate{c, textUpdate(2, 2, "apple apple")})
	all, _ := v.Search(d.fetch, Parse("apple"), Filter{}, 0, 5)
	for _, f := range []Filter{{Statuses: 1 << 1}, {Kinds: 1 << 2}, {Atlases: []int64{3}}, {Tags: []string{"y", "x"}}} {
		r, err := v.Search(d.fetch, Parse("apple"), f, 0, 5)
		if err != nil || r.Total != 1 || !slices.Contains(all.Hits, r.Hits[0]) {
			t.Errorf("%+v: %+v, %v", f, r, err)
		}
	}
	if r, _ := v.Search(d.fetch, Parse("apple"), Filter{Atlases: []int64{}}, 0, 5); r.Total != 0 {
		t.Error("no atlas is not every atlas")
	}
}

func TestSearchReportsUnreadablePage(t *testing.T) {
	t.Parallel()
	v := flushedSnapshot(t, newFakeStore(), 1, []DocUpdate{textUpdate(1, 1, "apple")})
	if _, err := v.Search(newFakeStore().fetch, Parse("apple"), Filter{}, 0, 5); !errors.Is(err, errNoPage) {
		t.Errorf("got %v", err)
	}
}

func TestMergeStopsWhenCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Merge(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCacheKeepsLimitAndFetchesOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	limit := 100 + 2*entryOverhead
	c := NewCache(limit)
	fetch := c.ReadThrough(func(int64, int) ([]byte, error) { asked++; return make([]byte, 40), nil })
	for _, page := range []int{1, 2, 1, 3, 1, 2} {
		if _, err := fetch(1, page); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 4 || c.size > limit || len(c.entries) != 2 {
		t.Errorf("asked %d times, holds %d bytes in %d pages", asked, c.size, len(c.entries))
	}
}

func TestSelectMergePicksSegmentsOfOneTier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		docs        []int
		busy, quiet []int
	}{
		{[]int{500, 500, 500}, nil, []int{0, 1, 2}},
		{[]int{500, 9000, 500, 9000}, nil, nil},
		{[]int{9000, 500, 500, 400, 300, 500, 400, 300, 200}, []int{1, 2, 3, 4, 5, 6, 7, 8},
			[]int{1, 2, 3, 4, 5, 6, 7, 8}},
		{[]int{300, 300, 300, 300, 300, 300, 300, 300, 1}, []int{0, 1, 2, 3, 4, 5, 6, 8},
			[]int{0, 1, 2, 3, 4, 5, 6, 8}},
		{slices.Repeat([]int{1 << 22}, 20), nil, nil},
	} {
		if got := SelectMerge(c.docs, FanIn); !slices.Equal(got, c.busy) {
			t.Errorf("%v: got %v, want %v", c.docs, got, c.busy)
		}
		if got := SelectMerge(c.docs, IdleFanIn); !slices.Equal(got, c.quiet) {
			t.Errorf("%v, quiet: got %v, want %v", c.docs, got, c.quiet)
		}
	}
}
