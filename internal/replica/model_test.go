package replica_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

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

// A fault kills a run: at its call number at, before the call or after it, and everything from then on. Or it changes a
// memory at that call, as another program would.
type fault struct {
	at, calls int
	after     bool
	edit      func()
	dead      bool
}

func (f *fault) around(call func() error) error {
	if f.dead {
		return context.Canceled
	}
	f.calls++
	if f.calls != f.at {
		return call()
	}
	if f.edit != nil {
		f.edit()
		return call()
	}
	f.dead = true
	if f.after {
		_ = call()
	}
	return context.Canceled
}

// A faultyCaller is a Caller with faults.
type faultyCaller struct {
	op.Caller
	*fault
}

func (c faultyCaller) Call(ctx context.Context, o *op.Op, call *op.Call, a op.Args) (raw []byte, err error) {
	e := c.around(func() error {
		raw, err = c.Caller.Call(ctx, o, call, a)
		return err
	})
	return raw, e
}

// A faultyLedger is a Ledger with faults.
type faultyLedger struct {
	replica.Ledger
	*fault
}

func (l faultyLedger) Save(ctx context.Context, pairs ...*pairdb.Pair) error {
	return l.around(func() error { return l.Ledger.Save(ctx, pairs...) })
}

func (l faultyLedger) Delete(ctx context.Context, p *pairdb.Pair) error {
	return l.around(func() error { return l.Ledger.Delete(ctx, p) })
}

// A model draws changes on both sides.
type model struct {
	*couple
	t       *rapid.T
	labeled int // memories with a source of their own
	twins   int // memories with equal texts and without a source, which nobody deletes
}

// pick draws a memory of a side, or nil.
func (m *model) pick(caller op.Caller) *loci.Memory {
	list := all(caller)
	if len(list) == 0 {
		return nil
	}
	return &list[rapid.IntRange(0, len(list)-1).Draw(m.t, "memory")]
}

func (m *model) side() op.Caller { return m.callers[rapid.IntRange(0, 1).Draw(m.t, "side")] }

func (m *model) create(caller op.Caller) {
	in := loci.CreateMemory{Content: "twin"}
	if rapid.Bool().Draw(m.t, "labeled") {
		m.labeled++
		in = loci.CreateMemory{Content: loci.Content(m.text()), Source: &loci.Source{Name: "test",
			URI: loci.SourceText(fmt.Sprint("test:", m.labeled))}}
	} else {
		m.twins++
	}
	if rapid.Bool().Draw(m.t, "filed") {
		atlases := must(do(caller, service.AtlasList, loci.ListAtlases{})).Atlases
		in.AtlasID = atlases[rapid.IntRange(0, len(atlases)-1).Draw(m.t, "atlas")].ID
	}
	add(caller, in)
}

func (m *model) text() string {
	return rapid.SampledFrom([]string{"one", "two", "three"}).Draw(m.t, "text")
}

// change changes a memory in a random way. The state of the memory may refuse it.
func (m *model) change(caller op.Caller) {
	at := m.pick(caller)
	if at == nil {
		return
	}
	switch rapid.IntRange(0, 9).Draw(m.t, "change") {
	case 0, 1:
		content := loci.Content(m.text())
		_, _ = do(caller, service.MemoryUpdate, loci.UpdateMemory{MemoryID: at.ID, Content: &content})
	case 2:
		tags := loci.Tags{loci.Tag(m.text())}
		_, _ = do(caller, service.MemoryUpdate, loci.UpdateMemory{MemoryID: at.ID, Tags: &tags})
	case 3, 4:
		evidence := loci.Evidence(m.text())
		_, _ = do(caller, service.MemoryVerify, loci.VerifyMemory{MemoryID: at.ID, Evidence: &evidence})
	case 5:
		_, _ = do(caller, service.MemoryArchive, loci.ArchiveMemory{MemoryID: at.ID})
	case 6:
		_, _ = do(caller, service.MemoryRestore, loci.RestoreMemory{MemoryID: at.ID})
	case 7:
		_, _ = do(caller, service.MemorySupersede, loci.SupersedeMemory{MemoryID: at.ID,
			ReplacementMemoryID: m.pick(caller).ID})
	case 8:
		atlases := must(do(caller, service.AtlasList, loci.ListAtlases{})).Atlases
		_, _ = do(caller, service.MemoryUpdate, loci.UpdateMemory{MemoryID: at.ID,
			AtlasID: atlases[rapid.IntRange(0, len(atlases)-1).Draw(m.t, "atlas")].ID})
	case 9:
		if at.Source != nil {
			_, _ = do(caller, service.MemoryDelete, loci.DeleteMemory{MemoryID: at.ID})
		}
	}
}

// edit changes a side.
func (m *model) edit() {
	caller := m.side()
	switch n := rapid.IntRange(0, 9).Draw(m.t, "edit"); {
	case n < 3:
		m.create(caller)
	case n == 3:
		_, _ = do(caller, service.AtlasCreate, loci.CreateAtlas{Name: loci.Name(m.text())})
	default:
		m.change(caller)
	}
}

// sync runs a push or pull, which a fault may end.
func (m *model) sync() {
	f := &fault{at: rapid.IntRange(0, 60).Draw(m.t, "fault"), after: rapid.Bool().Draw(m.t, "after")}
	if rapid.Bool().Draw(m.t, "edited meanwhile") {
		f.edit = m.edit
	}
	o := m.options(pairdb.Place(rapid.IntRange(0, 1).Draw(m.t, "to")))
	o.Local, o.Remote = faultyCaller{o.Local, f}, faultyCaller{o.Remote, f}
	o.Ledger = func(account loci.ID) replica.Ledger { return faultyLedger{m.ledger(account), f} }
	o.Winner = rapid.SampledFrom([]replica.Winner{"", "", replica.Mine, replica.Theirs}).Draw(m.t, "winner")
	o.Delete = rapid.Bool().Draw(m.t, "delete")
	if _, err := replica.Run(context.Background(), o); err != nil && !f.dead {
		m.t.Fatal(err)
	}
	m.checkUnique()
}

// checkUnique fails if a side has a memory twice.
func (m *model) checkUnique() {
	for place, caller := range m.callers {
		sources, twins := map[loci.SourceText]bool{}, 0
		for _, x := range all(caller) {
			switch {
			case x.Source == nil:
				twins++
			case sources[x.Source.URI]:
				m.t.Fatalf("side %d has %s twice", place, x.Source.URI)
			default:
				sources[x.Source.URI] = true
			}
		}
		if twins > m.twins {
			m.t.Fatalf("side %d has %d memories without a source, of which %d were created", place, twins, m.twins)
		}
	}
}

// copyAll copies everything in both directions until nothing is left to copy. It returns the refused memories.
func (m *model) copyAll() map[loci.ID]bool {
	refused := map[loci.ID]bool{}
	everything := func(o *replica.Options) { o.Winner, o.Delete = replica.Mine, true }
	for range 6 {
		push := m.run(pairdb.There, everything)
		pull := m.run(pairdb.Here, everything)
		clear(refused)
		for _, x := range append(push.Refusals, pull.Refusals...) {
			refused[x.LocalID] = true
		}
		if !slices.ContainsFunc(append(push.Changes, pull.Changes...), func(c replica.Change) bool {
			return !refused[c.LocalID]
		}) {
			if len(push.Conflicts)+len(pull.Conflicts)+len(push.Deletions)+len(pull.Deletions) > 0 {
				m.t.Fatalf("conflicts are left: %+v\n%+v", push, pull)
			}
			return refused
		}
	}
	m.t.Fatalf("six pushes and pulls do not settle: %+v", m.run(pairdb.There, everything))
	return nil
}

// checkEqual fails unless both sides have the same memories in the same state.
func (m *model) checkEqual(refused map[loci.ID]bool) {
	there := map[loci.ID]loci.Memory{}
	for _, x := range all(m.callers[1]) {
		there[x.ID] = x
	}
	pairs := must(m.ledger(m.remote.ID).All(context.Background()))
	copies := map[loci.ID]loci.ID{}
	for _, p := range pairs {
		copies[p.ID[pairdb.Here]] = p.ID[pairdb.There]
	}
	var names [2]map[loci.ID]string
	for place, caller := range m.callers {
		names[place] = map[loci.ID]string{}
		in := loci.ListAtlases{Paging: loci.Paging{Limit: 100}}
		for _, a := range must(do(caller, service.AtlasList, in)).Atlases {
			names[place][a.ID] = a.Name
		}
	}
	here := all(m.callers[0])
	if len(here) != len(there) || len(pairs) != len(here) {
		m.t.Fatalf("%d memories here, %d there, %d pairs", len(here), len(there), len(pairs))
	}
	for _, a := range here {
		b := there[copies[a.ID]]
		if refused[a.ID] {
			continue
		}
		isPlaced := a.Source == nil || names[0][a.AtlasID] == names[1][b.AtlasID] // a twin may be paired with another
		if !reflect.DeepEqual(facts(a), facts(b)) || !sameStatus(a, b, copies) || !isPlaced {
			m.t.Fatalf("here  %+v\nthere %+v", a, b)
		}
	}
}

// facts are what both sides have in common.
func facts(x loci.Memory) []any {
	slices.Sort(x.Tags)
	return []any{x.Title, x.Content, x.Type, x.Tags, x.Source}
}

// sameStatus compares the states of two memories. One whose replacement was deleted or is not active is archived on the
// other side, or keeps another replacement.
func sameStatus(here, there loci.Memory, copies map[loci.ID]loci.ID) bool {
	if here.Status != loci.MemoryActive && there.Status != loci.MemoryActive {
		return here.SupersededBy == "" || there.SupersededBy == "" || copies[here.SupersededBy] == there.SupersededBy
	}
	return here.Status == there.Status
}

func TestPushAndPullConvergeAfterEditsAndKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{couple: w.couple(), t: t}
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 5).Draw(t, "edits") {
				m.edit()
			}
			m.sync()
		}
		refused := m.copyAll()
		m.checkUnique()
		m.checkEqual(refused)
	})
}

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

// counts describes what a run did, e.g. "created 1, unchanged 2", or why it is not OK.
func counts(r replica.Report) string {
	list := []string{}
	for name, n := range map[string]int{"created": r.Created, "updated": r.Updated, "deleted": r.Deleted,
		"unchanged": r.Unchanged, "atlases": r.Atlases, "waiting": r.Waiting, "conflicts": len(r.Conflicts),
		"deletions": len(r.Deletions), "refusals": len(r.Refusals)} {
		if n > 0 {
			list = append(list, fmt.Sprint(name, " ", n))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
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
