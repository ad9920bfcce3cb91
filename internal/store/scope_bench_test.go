package store_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// BenchmarkScope compares what a user of 1,000 workspaces reads of all of them with the same of one of them.
func BenchmarkScope(b *testing.B) {
	s, err := store.OpenSQLite(b.Context(), b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ann := user(b, s, "ann")
	var one string
	const spaces, each = 1000, 20
	runConcurrently(spaces, func(i int) error {
		w, err := newService(s).CreateWorkspace(ctx, ann, loci.CreateWorkspace{Name: loci.Name(fmt.Sprint("team ", i))})
		if one = string(w.Workspace.ID); err != nil {
			return err
		}
		for j := range each {
			if _, err := tryAdd(s, ann, w.Workspace.ID, fmt.Sprintf(
				"memory %d of team%d: the blue boat ship%d of pier%d lies in berth%d", j, i, (i*each+j)%1009, j%7,
				(i+j)%97)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, scope := range []string{"one", "all"} {
		f := loci.MemoryFilter{}
		in := loci.ReadContext{}
		if scope == "one" {
			f.WorkspaceID, in.WorkspaceID = loci.ID(one), loci.ID(one)
		}
		b.Run("list/"+scope, func(b *testing.B) {
			for range b.N {
				l, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.Memory], error) {
					return memorydb.List(tx, f, page.Request{Limit: 20})
				})
				if err != nil || len(l.Items) != 20 {
					b.Fatalf("%d memories: %v", len(l.Items), err)
				}
			}
		})
		b.Run("context/"+scope, func(b *testing.B) {
			for range b.N {
				if _, err := newService(s).ReadContext(ctx, ann, in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("search/"+scope, func(b *testing.B) {
			for i := range b.N {
				q := retrieve.NewQuery(fmt.Sprintf("who saw ship%d in berth%d %d", i%100, i%37, i))
				if _, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
					return storetest.Search(tx, q, f, "", 20)
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
