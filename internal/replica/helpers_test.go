package replica_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A world has one database, in which a user has the local memories and another one those on the server.
type world struct {
	store *store.Store
	svc   *service.Service
	ticks atomic.Int64
	users atomic.Int64
}

// newWorld returns a world whose clock advances with each reading: the wire has milliseconds.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time { return start.Add(time.Duration(w.ticks.Add(2)) * time.Millisecond) }
	w.store = storetest.Database{Dir: storetest.NewDir(t)}.Open(t, store.Options{Clock: clock})
	bucket := must(blob.OpenFolder(t.TempDir()))
	w.svc = service.New(service.Options{Store: w.store, Clock: clock, PublicURL: "http://localhost", Bucket: bucket,
		UsedOperations: func(context.Context, *identity.Actor) (int64, time.Time, error) { return 0, clock(), nil }})
	return w
}

// must returns v, or panics: the helpers run in rapid's goroutines too.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// user adds a user and returns a caller of its operations.
func (w *world) user() (loci.User, *op.Host) {
	u := must(w.svc.EnsureUser(context.Background(), loci.Email(fmt.Sprintf("u%d@example.com", w.users.Add(1)))))
	return u, &op.Host{Service: w.svc, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) {
			return &identity.Actor{UserID: u.ID, Email: u.Email, CredentialKind: identity.CredentialKey,
				CredentialID: u.ID, Plan: identity.DefaultPlans[loci.PlanSelfHosted],
				BasePlan: loci.PlanSelfHosted}, nil
		}}
}

// A couple is a local database and an account on a server.
type couple struct {
	w             *world
	callers       [2]op.Caller
	local, remote loci.User
}

func (w *world) couple() *couple {
	c := &couple{w: w}
	var here, there *op.Host
	c.local, here = w.user()
	c.remote, there = w.user()
	c.callers = [2]op.Caller{here, there}
	return c
}

func (c *couple) ledger(account loci.ID) replica.Ledger {
	return pairdb.New(c.w.store.DB(), c.local.ID, account)
}

// options returns the options of a push or pull.
func (c *couple) options(to pairdb.Place, change ...func(*replica.Options)) replica.Options {
	o := replica.Options{To: to, Local: c.callers[0], Remote: c.callers[1], Ledger: c.ledger}
	for _, f := range change {
		f(&o)
	}
	return o
}

func (c *couple) run(to pairdb.Place, change ...func(*replica.Options)) replica.Report {
	return must(replica.Run(context.Background(), c.options(to, change...)))
}

// do runs an operation on a side.
func do[In, Out any](caller op.Caller, o op.TypedOp[In, Out], in In) (Out, error) {
	return op.Do(context.Background(), caller, &op.Call{Transport: "command"}, o, in)
}

// all returns the memories of a side, newest first.
func all(caller op.Caller) (list []loci.Memory) {
	in := loci.ListMemories{MemoryFilter: loci.MemoryFilter{Include: []loci.Include{loci.IncludeArchived,
		loci.IncludeSuperseded}}, Paging: loci.Paging{Limit: 100}}
	for {
		page := must(do(caller, service.MemoryList, in))
		list = append(list, page.Memories...)
		if in.Cursor = loci.Cursor(page.NextCursor); in.Cursor == "" {
			return list
		}
	}
}

func add(caller op.Caller, in loci.CreateMemory) loci.Memory {
	return must(do(caller, service.MemoryCreate, in)).Memory.Memory
}
