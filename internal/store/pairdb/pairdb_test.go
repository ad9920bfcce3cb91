package pairdb_test

import (
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestPairsAreStoredForEachAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := storetest.User(t, s, "ann"), storetest.User(t, s, "bob")
		pairs := pairdb.New(s.DB(), ann.UserID, "account")
		begun := &pairdb.Pair{Workspace: "w", ID: [2]loci.ID{pairdb.Here: "a"}, State: [2]string{"s", ""},
			Writing: pairdb.There, Pending: []string{"p", "q"}, Sent: "text", SentAfter: 7}
		done := &pairdb.Pair{Workspace: "w", ID: [2]loci.ID{"b", "c"}, State: [2]string{"s", "t"}}
		testenv.NoError(t, pairs.Save(t.Context(), begun, done))
		check := func(want ...*pairdb.Pair) {
			t.Helper()
			got, err := pairs.All(t.Context())
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d pairs, want %d: %v", len(got), len(want), err)
			}
			for i := range want {
				if len(want[i].Pending) == 0 {
					want[i].Pending, got[i].Pending = nil, nil
				}
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%+v, want %+v", got[i], want[i])
				}
			}
		}
		check(begun, done)
		begun.ID[pairdb.There], begun.State[pairdb.There], begun.Pending, begun.Sent = "d", "u", nil, ""
		testenv.NoError(t, pairs.Save(t.Context(), begun))
		check(begun, done)
		if err := pairs.Save(t.Context(), &pairdb.Pair{ID: [2]loci.ID{"b", "e"}}); err == nil {
			t.Error("a memory has two copies")
		}
		for _, other := range []*pairdb.Pairs{pairdb.New(s.DB(), ann.UserID, "other"),
			pairdb.New(s.DB(), bob.UserID, "account")} {
			testenv.NoError(t, other.Delete(t.Context(), done))
			if list, err := other.All(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("%d pairs of another account: %v", len(list), err)
			}
		}
		check(begun, done)
		testenv.NoError(t, pairs.Delete(t.Context(), begun))
		check(done)
	})
}
