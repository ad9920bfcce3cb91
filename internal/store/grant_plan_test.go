package store_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// Every call with a token looks its grant up, and every client refreshes its tokens each hour.
func TestStatementsOfGrantsUseIndexes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, eve := user(t, s, "ann"), user(t, s, "eve")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{eve: loci.RoleMember})
		for range 20 {
			storetest.Token(t, s, eve.UserID, crew)
		}
		k := storetest.Token(t, s, ann.UserID, crew)
		signIn := storetest.SignIn(t, s, ann.UserID)
		if d.Address != "" {
			d.Exec(t, `ANALYZE `+strings.Join(tables, ", "))
		}
		var sent []store.Statement
		store.TraceStatements(s, func(st store.Statement) { sent = append(sent, st) })
		if _, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.Grant], error) {
			return tx.Grants(page.Request{Limit: 5})
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.SystemRead(ctx, s, "test", func(x *store.SystemTx) (loci.Empty, error) {
			_, err := x.Credential(identity.CredentialToken, identity.SecretHash(k.Access))
			return loci.Empty{}, err
		}); err != nil {
			t.Fatal(err)
		}
		reads := len(sent)
		c, r := storetest.Consent(ann.UserID, signIn, "editor", crew)
		var err error
		if r.Code, err = storetest.Authorize(s, c); err == nil {
			if _, err = storetest.Redeem(s, r); err == nil {
				_, err = storetest.Refresh(s, k.Refresh, "editor")
			}
		}
		swept := len(sent)
		if err == nil {
			_, err = store.System(ctx, s, "test", func(x *store.SystemTx) (loci.Empty, error) {
				return loci.Empty{}, x.Grants().DeleteExpired()
			})
		}
		if err != nil || reads < 4 || swept < reads+15 || len(sent) < swept+4 {
			t.Fatalf("%d statements read, and %d write: %v", reads, len(sent)-reads, err)
		}
		for i, st := range append([]store.Statement(nil), sent...) {
			isInsert, locks := strings.HasPrefix(st.Text, "INSERT"), strings.Contains(st.Text, "pg_advisory")
			if i >= swept && strings.HasPrefix(st.Text, "SELECT g.id FROM grants g WHERE NOT ") {
				continue // the sweep reads all grants, to find those that reach nothing
			}
			if which, deletes := strings.CutPrefix(st.Text, "DELETE FROM grants "); deletes {
				which, _, _ = strings.Cut(which, " RETURNING ")
				st.Text = "SELECT 1 FROM grants " + which
			}
			if i < reads || d.Address == "" && !isInsert && !locks { // PostgreSQL would run them
				checkPlan(t, s, "grants", st)
			}
		}
	})
}
