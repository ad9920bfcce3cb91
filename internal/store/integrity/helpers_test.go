package integrity_test

import (
	"context"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

var ctx = context.Background()

// Fixtures.
var (
	user, add, tryAdd = storetest.User, storetest.Add, storetest.TryAdd
	team, ids         = storetest.Team, storetest.IDs
	waitForEmbeddings = storetest.WaitForEmbeddings
	runConcurrently   = storetest.RunConcurrently
	searchKeywords    = storetest.SearchKeywords
	checkIntegrity    = storetest.CheckIntegrity
	checkHealthy      = storetest.CheckHealthy
	set, review       = storetest.Update, storetest.Review
	flush             = storetest.Flush
)

// newService returns a service on the store.
func newService(s *store.Store) *service.Service {
	return service.New(service.Options{Store: s, Clock: time.Now})
}

func changeContent(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, content string) {
	t.Helper()
	text := loci.Content(content)
	testenv.Must(newService(s).UpdateMemory(ctx, actor, loci.UpdateMemory{MemoryID: id, Content: &text}))(t)
}

// writeRaw runs statements in one transaction without a scope.
func writeRaw(s *store.Store, f func(exec func(q string, args ...any) error) error) error {
	return s.DB().WriteTx(ctx, "", func(t *sqldb.Tx) error {
		return f(func(q string, args ...any) error { _, err := t.Exec(q, args...); return err })
	})
}

// queryRow scans the only row of a query.
func queryRow(t testing.TB, s *store.Store, q string, arg any, dest ...any) {
	t.Helper()
	testenv.NoError(t, s.DB().ReadTx(ctx, "", func(x *sqldb.Tx) error { return x.QueryRow(q, []any{arg}, dest) }))
}
