package query

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// searchMemories returns the memories that a query finds, best first.
func searchMemories(t *testing.T, v *index.Snapshot, d *indextest.Store, query string) (list []int64) {
	t.Helper()
	r := testenv.Must(rank(v, d.Fetch, Parse(query), index.Filter{}, 0, 100))(t)
	for _, h := range r.Hits {
		list = append(list, h.Memory)
	}
	return list
}

func TestApplyKeepsHighestSeqInAnyOrder(t *testing.T) {
	t.Parallel()
	rows := []index.DocUpdate{indextest.Update(1, 7, "apple"), indextest.Update(2, 7, "banana"),
		{Seq: 3, DocAttributes: index.DocAttributes{Memory: 8}, Deleted: true}, indextest.Update(4, 9, "cherry")}
	d := indextest.NewStore()
	base := d.Flush(t, 1, []index.DocUpdate{indextest.Update(0, 7, "quince"), indextest.Update(0, 8, "banana")})
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {1, 1, 0, 2, 3}} {
		v := base
		for _, i := range order {
			v = v.Apply(rows[i : i+1])
		}
		if got := searchMemories(t, v, d, "apple banana cherry quince"); len(got) != 2 || v.LiveDocs() != 2 {
			t.Errorf("%v: %v of %d documents", order, got, v.LiveDocs())
		}
		if got := searchMemories(t, v, d, "banana"); !slices.Equal(got, []int64{7}) {
			t.Errorf("%v: banana gives %v, want 7", order, got)
		}
		if seqs := slices.Sorted(slices.Values(v.AppliedSeqs())); !slices.Equal(seqs, []int64{1, 2, 3, 4}) {
			t.Errorf("%v: seqs %v", order, seqs)
		}
		if v.Apply(rows) != v {
			t.Errorf("%v: known rows made another view", order)
		}
	}
}

func TestSnapshotsOfOneParentAreIsolated(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	parent := index.NewSnapshot(nil).Apply([]index.DocUpdate{indextest.Update(1, 1, "shared one")})
	left := parent.Apply([]index.DocUpdate{indextest.Update(2, 2, "shared left"), indextest.Update(3, 1, "changed")})
	right := parent.Apply([]index.DocUpdate{indextest.Update(4, 3, "shared right")})
	for _, c := range []struct {
		name string
		view *index.Snapshot
		want []int64
	}{{"parent", parent, []int64{1}}, {"left", left, []int64{2}}, {"right", right, []int64{1, 3}}} {
		if got := slices.Sorted(slices.Values(searchMemories(t, c.view, d, "shared"))); !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSnapshotIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := d.Flush(t, 1, []index.DocUpdate{indextest.Update(1, 1, "alpha beta"), indextest.Update(2, 2, "alpha")})
	fetch := index.NewCache(1 << 10).ReadThrough(d.Fetch)
	want, _ := rank(v, fetch, Parse("alpha beta"), index.Filter{}, 0, 10)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			next := v
			for i := range 50 {
				seq := int64(100 + worker*100 + i)
				next = next.Apply([]index.DocUpdate{indextest.Update(seq, seq, "alpha gamma")})
				got, err := rank(v, fetch, Parse("alpha beta"), index.Filter{}, 0, 10)
				if err != nil || !sameResult(got, want) {
					t.Errorf("the old view gives %+v, %v", got, err)
				}
				if r, err := rank(next, fetch, Parse("gamma"), index.Filter{}, 0, 1); err != nil || r.Total != i+1 {
					t.Errorf("the new view finds %d of %d, %v", r.Total, i+1, err)
				}
			}
		})
	}
	all.Wait()
}

func TestSnapshotServesSearchesDuringApply(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	snapshots := make(chan *index.Snapshot, 64)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for v := range snapshots {
				if r, err := rank(v, d.Fetch, Parse("gamma"), index.Filter{}, 0, 1); err != nil ||
					r.Total != len(v.AppliedSeqs()) {
					t.Errorf("%d of %d, %v", r.Total, len(v.AppliedSeqs()), err)
				}
			}
		})
	}
	v := index.NewSnapshot(nil)
	for i := range int64(300) {
		v = v.Apply([]index.DocUpdate{indextest.Update(i, i, "gamma delta")})
		snapshots <- v
	}
	close(snapshots)
	all.Wait()
}

func TestSearchRanksExpiredDocumentsLower(t *testing.T) {
	t.Parallel()
	old, young := indextest.Update(1, 1, "apple"), indextest.Update(2, 2, "apple")
	old.ValidUntil = 50
	v := index.NewSnapshot(nil).Apply([]index.DocUpdate{old, young})
	r, err := rank(v, indextest.NewStore().Fetch, Parse("apple"), index.Filter{}, 50, 5)
	if err != nil || r.Hits[0].Memory != 2 || r.Hits[1].Score != r.Hits[0].Score*.8 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFilterKeepsScores(t *testing.T) {
	t.Parallel()
	c := indextest.Update(1, 1, "apple pie")
	c.Status, c.Type, c.Atlas, c.Tags = 1, 2, 3, []string{"x", "y"}
	d := indextest.NewStore()
	v := d.Flush(t, 1, []index.DocUpdate{c, indextest.Update(2, 2, "apple apple")})
	all, _ := rank(v, d.Fetch, Parse("apple"), index.Filter{}, 0, 5)
	for _, f := range []index.Filter{{Statuses: 1 << 1}, {Types: 1 << 2}, {Atlases: []int64{3}},
		{Tags: []string{"y", "x"}}} {
		r, err := rank(v, d.Fetch, Parse("apple"), f, 0, 5)
		if err != nil || r.Total != 1 || !slices.Contains(all.Hits, r.Hits[0]) {
			t.Errorf("%+v: %+v, %v", f, r, err)
		}
	}
	if r, _ := rank(v, d.Fetch, Parse("apple"), index.Filter{Atlases: []int64{}}, 0, 5); r.Total != 0 {
		t.Error("no atlas is not every atlas")
	}
}

func TestSearchReportsUnreadablePage(t *testing.T) {
	t.Parallel()
	v := indextest.NewStore().Flush(t, 1, []index.DocUpdate{indextest.Update(1, 1, "apple")})
	if _, err := rank(v, indextest.NewStore().Fetch, Parse("apple"), index.Filter{}, 0, 5); !errors.Is(err,
		indextest.ErrNoPage) {
		t.Errorf("got %v", err)
	}
}
