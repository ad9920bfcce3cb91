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
