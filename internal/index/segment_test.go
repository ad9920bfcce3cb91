package index_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestOpenRejectsStatusBeyondFilters(t *testing.T) {
	t.Parallel()
	for status, want := range map[uint8]error{63: nil, 64: index.ErrCorrupt} {
		blob := index.Build([]index.DocUpdate{{DocAttributes: index.DocAttributes{Status: status}}})
		if _, err := index.Open(1, blob.Header, nil); !errors.Is(err, want) {
			t.Errorf("status %d: %v, want %v", status, err, want)
		}
	}
}

func TestAttributesSurviveFlushAndMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) index.DocAttributes {
			n := rapid.Int64()
			return index.DocAttributes{
				n.Draw(t, "memory"), n.Draw(t, "atlas"), n.Draw(t, "created"), n.Draw(t, "until"),
				max(1, n.Draw(t, "group")), n.Draw(t, "position"),
				rapid.Uint8Max(63).Draw(t, "type"), rapid.Uint8Max(63).Draw(t, "status"),
				rapid.Bool().Draw(t, "verified"),
				rapid.SliceOfNDistinct(rapid.String(), 0, 3, rapid.ID).Draw(t, "tags"),
			}
		})
		want := map[int64]index.DocAttributes{}
		d := indextest.NewStore()
		var parts []*index.Segment
		for i, a := range rapid.SliceOfDistinct(gen, func(a index.DocAttributes) int64 { return a.Memory }).Draw(t,
			"all") {
			want[a.Memory] = a
			blob := index.Build([]index.DocUpdate{{Seq: 1, DocAttributes: a}})
			d.Put(int64(i), blob)
			g := testenv.Must(d.Open(int64(i)))(t)
			parts = append(parts, g)
		}
		blob := testenv.Must(index.Merge(t.Context(), d.Fetch, parts))(t)
		testenv.RequireEqual(t, blob.Docs, len(want))
		g := testenv.Must(index.Open(1, blob.Header, nil))(t)
		for i := range g.Docs() {
			got := g.Attributes(i)
			if w := want[got.Memory]; len(w.Tags) == 0 {
				w.Tags = nil
				want[got.Memory] = w
			}
			if !reflect.DeepEqual(got, want[got.Memory]) {
				t.Fatalf("got %+v, want %+v", got, want[got.Memory])
			}
		}
	})
}

func TestDigestsOfSegmentsAreThoseOfUpdates(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	base := index.DocUpdate{DocAttributes: index.DocAttributes{Memory: 7, Atlas: 2, Created: 3, ValidUntil: 4, Group: 5,
		Position: 6, Type: 1, Status: 1, Verified: true, Tags: []string{"red", "blue"}},
		Document: index.Analyze("A title", "the harbour lies beyond the harbour wall")}
	var segments []*index.Segment
	other := index.DocUpdate{DocAttributes: index.DocAttributes{Memory: 9}, Document: base.Document}
	for i, u := range []index.DocUpdate{base, other} {
		d.Put(int64(i), index.Build([]index.DocUpdate{u}))
		g := testenv.Must(d.Open(int64(i)))(t)
		segments = append(segments, g)
	}
	merged := testenv.Must(index.Merge(t.Context(), d.Fetch, segments))(t)
	d.Put(2, merged)
	g := testenv.Must(d.Open(2))(t)
	sums, err := g.Digests(t.Context(), d.Fetch)
	if err != nil || len(sums) != 2 || sums[0] != base.Digest() || sums[1] == sums[0] {
		t.Errorf("%v, %v, want %d", sums, err, base.Digest())
	}
	seen := map[uint64]bool{base.Digest(): true}
	for i, change := range []func(u *index.DocUpdate){
		func(u *index.DocUpdate) { u.Atlas++ },
		func(u *index.DocUpdate) { u.Created++ }, func(u *index.DocUpdate) { u.ValidUntil++ },
		func(u *index.DocUpdate) { u.Group++ }, func(u *index.DocUpdate) { u.Position++ },
		func(u *index.DocUpdate) { u.Type++ }, func(u *index.DocUpdate) { u.Status++ },
		func(u *index.DocUpdate) { u.Verified = false }, func(u *index.DocUpdate) { u.Tags = u.Tags[:1] },
		func(u *index.DocUpdate) { u.Document.Length++ },
		func(u *index.DocUpdate) { u.Document.Terms = u.Document.Terms[1:] },
		func(u *index.DocUpdate) {
			u.Document.Terms = slices.Clone(u.Document.Terms)
			u.Document.Terms[0].Freq++
		},
	} {
		u := base
		if change(&u); seen[u.Digest()] {
			t.Errorf("change %d has the digest of another document", i)
		}
		seen[u.Digest()] = true
	}
}

func TestMarkDeletedIgnoresUnknownMemories(t *testing.T) {
	t.Parallel()
	blob := index.Build([]index.DocUpdate{indextest.Update(1, 5, "a"), indextest.Update(2, 6, "b")})
	g := testenv.Must(index.Open(1, blob.Header, nil))(t)
	if _, changed := g.MarkDeleted([]int64{1, 99}); changed {
		t.Error("a stranger's death changed the segment")
	}
	k, changed := g.MarkDeleted([]int64{6, 7})
	if !changed || k.LiveDocs() != 1 || g.LiveDocs() != 2 {
		t.Errorf("changed %v, %d live of %d", changed, k.LiveDocs(), g.LiveDocs())
	}
	testenv.Equal(t, testenv.Must(index.Open(1, blob.Header, k.Tombstones()))(t).LiveDocs(), 1, "opened again")
}

func TestMergeStopsWhenCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := index.Merge(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A merge that takes a corrupt page for the end of a segment loses all later pages.
func TestMergeRejectsPageWithoutBlocks(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	g := d.Flush(t, 1, []index.DocUpdate{indextest.Update(1, 5, "tide harbour")}).Segments()
	page := d.Pages[1][0]
	late := slices.Clone(page)
	late[len(late)-4] += 11 // behind the block of harbour
	for name, corrupt := range map[string][]byte{
		"no restart": {page[0], 0, 0}, "no block": {page[0], 1, 0, 1, 0}, "late restart": late,
	} {
		d.Pages[1] = [][]byte{corrupt}
		if _, err := index.Merge(t.Context(), d.Fetch, g); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
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
		testenv.EqualSlices(t, index.SelectMerge(c.docs, index.FanIn), c.busy, c.docs)
		testenv.EqualSlices(t, index.SelectMerge(c.docs, index.IdleFanIn), c.quiet, "quiet", c.docs)
	}
}
