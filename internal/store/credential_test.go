package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// An updateRecorder records the first arguments of updates.
type updateRecorder struct {
	sqldb.DB
	updated []loci.ID
}

func (d *updateRecorder) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Write(ctx, user, func(c sqldb.Conn) error { return f(recordingConn{c, d}) })
}

type recordingConn struct {
	sqldb.Conn
	to *updateRecorder
}

func (c recordingConn) Exec(q string, args []any) (int64, error) {
	if strings.HasPrefix(q, "UPDATE") {
		c.to.updated = append(c.to.updated, args[0].(loci.ID))
	}
	return c.Conn.Exec(q, args)
}

// Servers that lock the rows in different orders deadlock.
func TestTouchCredentialsLocksRowsInOneOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		recorder := &updateRecorder{}
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(recorder, &recorder.DB)})
		used := map[loci.ID]loci.Time{}
		for i := range 20 {
			used[loci.ID(fmt.Sprint("key ", i))] = 1
		}
		if _, err := store.System(ctx, s, "test", func(tx *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, tx.Touch(accountdb.KeyUses, used)
		}); err != nil {
			t.Fatal(err)
		}
		if len(recorder.updated) != len(used) || !slices.IsSorted(recorder.updated) {
			t.Errorf("the order of updates is %q", recorder.updated)
		}
	})
}

// Streams ask which of their credentials have ended.
func TestEndedCredentialsAreNamed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		key := testenv.Must(store.System(ctx, s, "test", func(tx *store.SystemTx) (loci.APIKey, error) {
			return tx.AddKey(ann.UserID, accountdb.NewKey{Name: "k", Hash: []byte{1}})
		}))(t)
		ids := []loci.ID{storetest.SignIn(t, s, ann.UserID), key.ID}
		for _, access := range []string{storetest.Token(t, s, ann.UserID, team(t, s, ann, nil)).Access,
			storetest.AccountToken(t, s, ann.UserID).Access} {
			ids = append(ids, grantAgent(t, s, access).CredentialID)
		}
		expect := func(want []loci.ID, after string) {
			t.Helper()
			ended := testenv.Must(s.Changes().Ended(ctx, ids))(t)
			testenv.EqualSlices(t, slices.Sorted(slices.Values(ended)), slices.Sorted(slices.Values(want)), after)
		}
		expect(nil, "nothing")
		d.Write(t, `UPDATE users SET disabled = TRUE`)
		expect(ids, "disabled")
		d.Write(t, `UPDATE users SET disabled = FALSE`)
		expect(nil, "enabled")
		for i, q := range []string{`UPDATE sign_ins SET used_at = 1`, `UPDATE api_keys SET revoked_at = 1`,
			`DELETE FROM grant_workspaces`, `UPDATE grants SET expires_at = 1`} {
			d.Write(t, q)
			expect(ids[:i+1], q)
		}
	})
}
