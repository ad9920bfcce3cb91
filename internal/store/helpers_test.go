package store_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

var ctx = context.Background()

// fakeClock is a clock that goes on when it is told to.
type fakeClock struct{ since atomic.Int64 }

func (c *fakeClock) time() time.Time     { return time.Unix(1_800_000_000, c.since.Load()) }
func (c *fakeClock) add(d time.Duration) { c.since.Add(int64(d)) }

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

// newService returns a service on the store: the rules of what may be done stand there.
func newService(s *store.Store) *service.Service {
	return service.New(service.Options{Store: s, Clock: time.Now})
}
