package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

func note(seq, memory int64, text string) Change {
	return Change{Seq: seq, Attributes: Attributes{Memory: memory}, Document: Analyze("", text)}
}

// found are the memories a search gives, best first.
func found(t *testing.T, v *View, d *disk, query string) (list []int64) {
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

func TestLaterRowsWinInAnyOrder(t *testing.T) {
	t.Parallel()
	rows := []Change{note(1, 7, "apple"), note(2, 7, "banana"), {Seq: 3, Attributes: Attributes{Memory: 8}, Gone: true}, note(4, 9, "cherry")}
	d := newDisk()
	base := folded(t, d, 1, []Change{note(0, 7, "quince"), note(0, 8, "banana")})
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {1, 1, 0, 2, 3}} {
		v := base
		for _, i := range order {
			v = v.With(rows[i : i+1])
		}
		if got := found(t, v, d, "apple banana cherry quince"); len(got) != 2 || v.Docs() != 2 {
			t.Errorf("%v: %v of %d documents", order, got, v.Docs())
		}
		if got := found(t, v, d, "banana"); !slices.Equal(got, []int64{7}) {
			t.Errorf("%v: banana gives %v, want 7", order, got)
		}
		seqs := slices.Sorted(slices.Values(v.Seqs()))
		if !slices.Equal(seqs, []int64{1, 2, 3, 4}) {
			t.Errorf("%v: seqs %v", order, seqs)
		}
		if v.With(rows) != v {
			t.Errorf("%v: known rows made another view", order)
		}
	}
}

func TestViewsOfOneParentDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	d := newDisk()
	parent := NewView(nil).With([]Change{note(1, 1, "shared one")})
	left := parent.With([]Change{note(2, 2, "shared left"), note(3, 1, "changed")})
	right := parent.With([]Change{note(4, 3, "shared right")})
	for _, c := range []struct {
		name string
		view *View
		want []int64
	}{{"parent", parent, []int64{1}}, {"left", left, []int64{2}}, {"right", right, []int64{1, 3}}} {
		if got := slices.Sorted(slices.Values(found(t, c.view, d, "shared"))); !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v", c.name, got, c.want)
		}
	}
}

func TestConcurrentSearchesAndDerivationsAgree(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := folded(t, d, 1, []Change{note(1, 1, "alpha beta"), note(2, 2, "alpha")})
	fetch := NewCache(1 << 10).Through(d.fetch)
	want, _ := v.Search(fetch, Parse("alpha beta"), Filter{}, 0, 10)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			next := v
			for i := range 50 {
				seq := int64(100 + worker*100 + i)
				next = next.With([]Change{note(seq, seq, "alpha gamma")})
				got, err := v.Search(fetch, Parse("alpha beta"), Filter{}, 0, 10)
				if err != nil || !same(got, want) {
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

func TestOneViewFeedsManySearchersWhileItGrows(t *testing.T) {
	t.Parallel()
	d := newDisk()
	views := make(chan *View, 64)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for v := range views {
				if r, err := v.Search(d.fetch, Parse("gamma"), Filter{}, 0, 1); err != nil || r.Total != len(v.Seqs()) {
					t.Errorf("%d of %d, %v", r.Total, len(v.Seqs()), err)
				}
			}
		})
	}
	v := NewView(nil)
	for i := range int64(300) {
		v = v.With([]Change{note(i, i, "gamma delta")})
		views <- v
	}
	close(views)
	all.Wait()
}

func TestKillPassesOverStrangers(t *testing.T) {
	t.Parallel()
	blob, _ := Build([]Change{note(1, 5, "a"), note(2, 6, "b")})
	s, err := Open(1, blob.Head, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, changed := s.Kill([]int64{1, 99}); changed {
		t.Error("a stranger's death changed the segment")
	}
	k, changed := s.Kill([]int64{6, 7})
	if !changed || k.Live() != 1 || s.Live() != 2 {
		t.Errorf("changed %v, %d live of %d", changed, k.Live(), s.Live())
	}
	again, err := Open(1, blob.Head, k.Dead())
	if err != nil || again.Live() != 1 {
		t.Errorf("opened again: %v, %d live", err, again.Live())
	}
}

func TestExpiredDocumentsFallBehind(t *testing.T) {
	t.Parallel()
	old, young := note(1, 1, "apple"), note(2, 2, "apple")
	old.ValidUntil = 50
	v := NewView(nil).With([]Change{old, young})
	r, err := v.Search(newDisk().fetch, Parse("apple"), Filter{}, 50, 5)
	if err != nil || r.Hits[0].Memory != 2 || r.Hits[1].Score != r.Hits[0].Score*.8 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFiltersMoveNoScore(t *testing.T) {
	t.Parallel()
	c := note(1, 1, "apple pie")
	c.Status, c.Kind, c.Atlas, c.Tags = 1, 2, 3, []string{"x", "y"}
	d := newDisk()
	v := folded(t, d, 1, []Change{c, note(2, 2, "apple apple")})
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

func TestSearchReportsAPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	v := folded(t, newDisk(), 1, []Change{note(1, 1, "apple")})
	if _, err := v.Search(newDisk().fetch, Parse("apple"), Filter{}, 0, 5); !errors.Is(err, errNoPage) {
		t.Errorf("got %v", err)
	}
}

func TestMergeStopsWhenAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Merge(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCacheKeepsItsBoundAndAsksOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	limit := 100 + 2*entryBytes
	c := NewCache(limit)
	fetch := c.Through(func(int64, int) ([]byte, error) { asked++; return make([]byte, 40), nil })
	for _, page := range []int{1, 2, 1, 3, 1, 2} {
		if _, err := fetch(1, page); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 4 || c.size > limit || len(c.kept) != 2 {
		t.Errorf("asked %d times, holds %d bytes in %d pages", asked, c.size, len(c.kept))
	}
}

func TestTiersMergeThoseOfASize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		docs        []int
		busy, quiet []int
	}{
		{[]int{500, 500, 500}, nil, []int{0, 1, 2}},
		{[]int{500, 9000, 500, 9000}, nil, nil},
		{[]int{9000, 500, 500, 400, 300, 500, 400, 300, 200}, []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{[]int{300, 300, 300, 300, 300, 300, 300, 300, 1}, []int{0, 1, 2, 3, 4, 5, 6, 8}, []int{0, 1, 2, 3, 4, 5, 6, 8}},
		{slices.Repeat([]int{1 << 22}, 20), nil, nil},
	} {
		if got := Tiers(c.docs, FanIn); !slices.Equal(got, c.busy) {
			t.Errorf("%v: got %v, want %v", c.docs, got, c.busy)
		}
		if got := Tiers(c.docs, QuietFanIn); !slices.Equal(got, c.quiet) {
			t.Errorf("%v, quiet: got %v, want %v", c.docs, got, c.quiet)
		}
	}
}

func TestHighlightsShowTheWordsAsTheyAreSpelled(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum dolor sit amet ", 40)
	for _, c := range []struct{ text, query, want string }{
		{filler + "The Deployments were FROZEN. " + filler, "deployment frozen", "Deployments were FROZEN."},
		{strings.Repeat("甲乙丙丁。", 200) + "我们迁移了数据库。" + strings.Repeat("甲乙丙丁。", 200), "数据库", "数据库"},
		{filler + "CVE-2024-3094 " + filler, "cve-2024-3094", "CVE-2024-3094"},
		{"nothing to see here", "unrelated", "nothing to see here"},
		{filler + "am Café Central", "cafe", "Café Central"},
	} {
		got := Parse(c.query).Read(c.text).Highlights()
		if len(got) == 0 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: got %q", c.query, got)
		}
	}
}

func TestHighlightsPreferTheSnippetWithMostWords(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum dolor sit amet ", 40)
	got := Parse("apple cherry").Read("apple alone. " + filler + "apple with cherry. " + filler + "cherry. " + filler + " apple").Highlights()
	if len(got) != maxSnippets || !strings.Contains(got[0], "apple with cherry") {
		t.Errorf("got %q", got)
	}
}
