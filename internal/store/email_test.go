package store_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// One address in composed and in decomposed characters, and in both letter cases.
var nfcVariants = []loci.Email{"zo\u00e9@example.com", "zoe\u0301@example.com", "ZO\u00c9@example.com",
	"ZOE\u0301@EXAMPLE.com"}

func TestFoldEmailComparesInNFC(t *testing.T) {
	t.Parallel()
	for _, e := range nfcVariants {
		if got := accountdb.FoldEmail(e); got != "zo\u00e9@example.com" {
			t.Errorf("%+q is folded to %+q", e, got)
		}
	}
	if accountdb.FoldEmail("zoe@example.com") == accountdb.FoldEmail(nfcVariants[0]) {
		t.Error("an accent is lost")
	}
}

// login looks up who signs in with an address.
func login(s *store.Store, e loci.Email) (loci.User, error) {
	l, err := store.SystemRead(ctx, s, "test", func(x *store.SystemTx) (accountdb.UserPassword, error) {
		return x.UserByEmail(e)
	})
	return l.User, err
}

func TestAccountIsFoundInEveryForm(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		add := func(e loci.Email) (loci.User, error) {
			return store.System(ctx, s, "test", func(x *store.SystemTx) (loci.User, error) {
				return x.AddUser(accountdb.NewUser{Email: e, Verified: true})
			})
		}
		made, err := add(nfcVariants[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range nfcVariants {
			if u, err := login(s, e); err != nil || u.ID != made.ID {
				t.Errorf("%+q: %v", e, err)
			}
			if _, err := add(e); !loci.Is(err, loci.CodeConflict) {
				t.Errorf("%+q makes another account: %v", e, err)
			}
		}
	})
}
