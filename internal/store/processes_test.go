package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestTenWhoOpenAnEmptyDatabaseAtOnceAllCan(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var all sync.WaitGroup
		var secrets sync.Map
		start := make(chan bool)
		for i := range 10 {
			all.Go(func() {
				<-start
				s, err := d.TryOpen(store.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				user(t, s, fmt.Sprint("user", i))
				secrets.Store(string(s.Secret()), true)
			})
		}
		close(start)
		all.Wait()
		n := 0
		secrets.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d secrets of one instance", n)
		}
	})
}

func TestProcessesThatWriteAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const processes, writers, each = 3, 4, 12
		var stores []*store.Store
		for range processes {
			stores = append(stores, d.Open(t, store.Options{}))
		}
		ann := user(t, stores[0], "ann")
		var all sync.WaitGroup
		var made sync.Map
		for p, s := range stores {
			for w := range writers {
				all.Go(func() {
					for i := range each {
						text := fmt.Sprintf("note%dx%dx%d shared", p, w, i)
						m, err := tryAdd(s, ann, "", text)
						if err != nil {
							t.Error(err)
							return
						}
						made.Store(m.ID, text)
						if i%5 == 0 {
							if n := searchKeywords(t, s, ann, text, loci.MemoryFilter{}); len(n.Hits) == 0 ||
								n.Hits[0].Memory.ID != m.ID {
								t.Errorf("%s is not found by who wrote it", text)
							}
						}
					}
				})
			}
		}
		all.Wait()
		for _, s := range stores {
			list, err := store.Read(ctx, s, ann, func(tx *store.Tx) ([]loci.Memory, error) {
				list, err := memorydb.List(tx, loci.MemoryFilter{}, page.Request{Limit: 1000})
				return list.Items, err
			})
			if err != nil || len(list) != processes*writers*each {
				t.Fatalf("%d memories, %v", len(list), err)
			}
			for _, m := range list {
				if text, ok := made.Load(m.ID); !ok || text != m.Content {
					t.Errorf("%s holds %q", m.ID, m.Content)
				}
			}
			if f := searchKeywords(t, s, ann, "shared", loci.MemoryFilter{}); f.KeywordCandidates != len(list) {
				t.Errorf("%d found of %d", f.KeywordCandidates, len(list))
			}
		}
	})
}
