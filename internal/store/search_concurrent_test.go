package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestSearchIsConsistentDuringFlushesAndWrites(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{CacheBytes: 1 << 12})}
		ann := user(t, stores[0], "ann")
		crew := team(t, stores[0], ann, nil)
		var anchors []string
		for range 12 {
			anchors = append(anchors, string(add(t, stores[0], ann, crew, "the anchor holds").ID))
		}
		slices.Sort(anchors)
		stop := make(chan bool)
		var busy, searching sync.WaitGroup
		for _, s := range stores {
			busy.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := tryAdd(s, ann, crew, fmt.Sprint("another text ", i)); err != nil {
						t.Errorf("writing: %v", err)
					}
					if err := s.Flush(ctx, crew); err != nil {
						t.Errorf("folding: %v", err)
					}
				}
			})
			for range 2 {
				searching.Go(func() {
					for range 60 {
						r, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
							return storetest.Search(tx, retrieve.Query{Keywords: query.Parse("anchor")},
								loci.MemoryFilter{},
								"",
								50)
						})
						var got []string
						for _, f := range r.Hits {
							got = append(got, string(f.Memory.ID))
						}
						if slices.Sort(got); err != nil || !slices.Equal(got, anchors) ||
							r.KeywordCandidates != len(anchors) {
							t.Errorf("%d of %d: %v, %v", r.KeywordCandidates, len(anchors), got, err)
							return
						}
					}
				})
			}
		}
		searching.Wait()
		close(stop)
		busy.Wait()
		q := query.Parse("anchor text")
		want, total := store.KeywordHits(t, d.Open(t, store.Options{}), ann, q, loci.MemoryFilter{})
		for _, s := range stores {
			if got, n := store.KeywordHits(t, s, ann, q, loci.MemoryFilter{}); n != total || !slices.Equal(got, want) {
				t.Errorf("afterwards a store finds %d, a fresh one %d", n, total)
			}
		}
	})
}

func TestWritesOfOthersChangeNoScore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, eve := user(t, s, "ann"), user(t, s, "eve")
		crew := team(t, s, ann, nil)
		for i := range 30 {
			add(t, s, ann, []loci.ID{"", crew}[i%2], strings.Repeat("apple pie ", i%4+1)+
				strings.Repeat("with cream ", i%7))
		}
		if err := s.Flush(ctx, crew); err != nil {
			t.Fatal(err)
		}
		q := query.Parse("apple cream")
		want, total := store.KeywordHits(t, s, ann, q, loci.MemoryFilter{})
		d.Check(t, func(r *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 2))
			place := team(t, s, eve, nil)
			for range random.IntN(20) {
				words := rapid.SliceOfN(rapid.SampledFrom([]string{"apple", "pie", "cream", "other", "数据库"}), 1,
					80).Draw(r, "words")
				add(t, s, eve, []loci.ID{"", place}[random.IntN(2)], strings.Join(words, " "))
				if random.IntN(5) == 0 {
					if err := s.Flush(ctx, place); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, st := range []*store.Store{s, d.Open(t, store.Options{})} {
				if got, n := store.KeywordHits(t, st, ann, q, loci.MemoryFilter{}); n != total || !slices.Equal(got,
					want) {
					r.Fatalf("%d found instead of %d\n%v\nwant %v", n, total, got, want)
				}
			}
		})
	})
}

func TestEqualScoresOfSeveralWorkspacesSortByID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		places := []loci.ID{team(t, s, ann, nil), "", team(t, s, ann, nil)}
		var want []string
		for i := range 12 {
			want = append(want, string(add(t, s, ann, places[i%3], "equal").ID))
		}
		slices.Sort(want)
		var got []string
		for before := retrieve.SeenSet(""); ; {
			r, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, retrieve.Query{Keywords: query.Parse("equal")}, loci.MemoryFilter{},
					before, 5)
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Hits {
				if f.Score != r.Hits[0].Score {
					t.Fatal("the scores differ")
				}
				got = append(got, string(f.Memory.ID))
			}
			if before = r.Seen; !r.HasMore {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// statementCost counts the statements, and the rows that came back, of every read in a store that does nothing else.
func statementCost(t *testing.T, d storetest.Database, actor *identity.Actor, crew loci.ID) map[string][2]int {
	t.Helper()
	s := d.Open(t, store.Options{})
	out := map[string][2]int{}
	var n [2]int
	store.TraceStatements(s, func(st store.Statement) { n[0], n[1] = n[0]+1, n[1]+st.Rows })
	for name, f := range readQueries(crew, ids(t, s, actor, loci.MemoryFilter{}, 1)[0], page.Key{}) {
		if strings.Contains(name, "atlas") {
			continue
		}
		for range 2 { // the first brings a view up to date
			n = [2]int{}
			if _, err := store.Read(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
				return loci.Empty{}, f(tx)
			}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		out[name] = n
	}
	return out
}

func TestReadsCostTheSameInALargerStore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, crew := fillStore(t, s, 60)
		before := statementCost(t, d, ann, crew)
		for i := range 120 {
			add(t, s, ann, []loci.ID{"", crew}[i%2], fmt.Sprint("common words number ", i))
		}
		for name, after := range statementCost(t, d, ann, crew) {
			if after != before[name] || after[0] > 8 {
				t.Errorf("%s took %d statements and %d rows, and %d and %d with more memories", name, before[name][0],
					before[name][1], after[0], after[1])
			}
		}
	})
}
