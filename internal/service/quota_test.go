package service_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// smallPlan is a plan that leaves ann one team (she has two) and two atlases (she has her Inbox).
var smallPlan = identity.Plan{Name: loci.PlanFree, Operations: 10_000, Storage: 1 << 20, Teams: 3, Atlases: 3}

func TestPlansLimitTeamsAndAtlases(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: smallPlan}, func(t *testing.T, w *World) {
		now := w.Clock.Now().UTC()
		left := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
		full := func(e *loci.Error) {
			t.Helper()
			if !strings.Contains(e.Message, "the number of team workspaces to 3:") &&
				!strings.Contains(e.Message, "the number of atlases to 3:") {
				t.Error(e.Message)
			}
			if e.RetryAfter <= 0 || e.RetryAfter > left || left-e.RetryAfter > time.Minute {
				t.Errorf("wait %v, and the month ends in %v", e.RetryAfter, left)
			}
		}
		MustCall(t, w, CallerOwner, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Third"})
		full(MustFail(t, w, CallerOwner, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Fourth"},
			loci.CodeQuotaExceeded))
		MustCall(t, w, CallerAdmin, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Bob has none of his own"})

		MustCall(t, w, CallerAdmin, service.AtlasCreate, loci.CreateAtlas{Name: "Counts for ann", WorkspaceID: w.Team})
		MustCall(t, w, CallerOwner, service.AtlasCreate, loci.CreateAtlas{Name: "Mine"})
		full(MustFail(t, w, CallerOwner, service.AtlasCreate, loci.CreateAtlas{Name: "More"}, loci.CodeQuotaExceeded))
		full(MustFail(t, w, CallerAdmin, service.AtlasCreate, loci.CreateAtlas{Name: "More", WorkspaceID: w.Team},
			loci.CodeQuotaExceeded))
		full(MustFail(t, w, CallerAdmin, service.MemoryCreate,
			loci.CreateMemory{Content: "Its team has no Inbox yet.", WorkspaceID: w.Team}, loci.CodeQuotaExceeded))
		MustCall(t, w, CallerAdmin, service.AtlasCreate, loci.CreateAtlas{Name: "Bob's own"})
		MustFail(t, w, CallerMember, service.AtlasCreate, loci.CreateAtlas{Name: "More", WorkspaceID: w.Team},
			loci.CodeForbidden)
	})
}

// A workspace is handed only to a member whose plan has room for it and what it holds.
func TestTransferNeedsRoomInPlanOfHeir(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: smallPlan}, func(t *testing.T, w *World) {
		give := func(p *Person, plan loci.PlanName) {
			t.Helper()
			testenv.Must(w.Service.SetPlan(t.Context(), loci.Email(p.Email), plan))(t)
		}
		give(w.Ann, loci.PlanSelfHosted)
		transfer := func(team loci.ID, code loci.Code) {
			t.Helper()
			Expect(t, "a transfer", Try(t, w, CallerOwner, service.WorkspaceTransfer,
				loci.TransferWorkspace{WorkspaceID: team, UserID: w.Bob.ID, Confirm: true}), code)
		}
		team := func() loci.ID {
			id := w.NewTeam(t, w.Ann)
			w.Join(t, id, w.Ann, w.Bob, loci.RoleMember)
			return id
		}
		fill := func(team loci.ID, atlases, kilobytes int) {
			t.Helper()
			for n := range atlases {
				a := MustCall(t, w, CallerOwner, service.AtlasCreate,
					loci.CreateAtlas{Name: loci.Name(fmt.Sprint(n)), WorkspaceID: team})
				MustCall(t, w, CallerOwner, service.MemoryCreate,
					loci.CreateMemory{AtlasID: a.Atlas.ID, Content: loci.Content(strings.Repeat("x", kilobytes<<10))})
			}
		}
		broad, large, small := team(), team(), team()
		fill(broad, 3, 1) // and bob's Inbox
		transfer(broad, loci.CodeStateConflict)
		fill(large, 2, 200)
		MustCall(t, w, CallerAdmin, service.MemoryCreate,
			loci.CreateMemory{Content: loci.Content(strings.Repeat("x", 250<<10))})
		for range 2 {
			MustCall(t, w, CallerAdmin, service.MemoryCreate,
				loci.CreateMemory{Content: loci.Content(strings.Repeat("y", 200<<10))})
		}
		transfer(large, loci.CodeStateConflict)
		transfer(small, "")
		give(w.Bob, loci.PlanSelfHosted)
		transfer(broad, "")
		transfer(large, "")
		give(w.Bob, "")
		full := team()
		transfer(full, loci.CodeStateConflict) // the fourth team
	})
}

// Writes that wait for a transfer count against the plan of the new owner.
func TestWritesBesideTransferKeepWithinPlanOfHeir(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Address == "" {
			return // one writer: nothing waits with what it has read
		}
		w := New(t, d.Open, Options{Plan: smallPlan})
		atlas := w.Atlas(t, "Shelf")
		MustCall(t, w, CallerAdmin, service.AtlasCreate, loci.CreateAtlas{Name: "Bob's own"})
		text := loci.Content(strings.Repeat("much ", 50<<10))
		for range 4 {
			MustCall(t, w, CallerAdmin, service.MemoryCreate, loci.CreateMemory{Content: text})
		}
		calls := []func() error{
			func() error {
				return Try(t, w, CallerAdmin, service.AtlasCreate,
					loci.CreateAtlas{Name: "Too many", WorkspaceID: w.Team})
			},
			func() error {
				return Try(t, w, CallerMember, service.MemoryCreate, loci.CreateMemory{AtlasID: atlas, Content: text})
			},
			func() error {
				return Try(t, w, CallerMember, service.MemoryCreate,
					loci.CreateMemory{WorkspaceID: w.Team, Content: "It needs an Inbox."})
			},
		}
		errs := make([]error, len(calls))
		var all sync.WaitGroup
		_, err := store.Write(t.Context(), w.Store, w.Ann.Actor(), func(tx *store.Tx) (loci.Empty, error) {
			team, err := tx.Workspace(w.Team, loci.RoleOwner, store.ToChange)
			if err == nil {
				err = team.Transfer(w.Bob.ID)
			}
			for i, call := range calls {
				all.Go(func() { errs[i] = call() })
			}
			waittest.Until(t, func() bool { // they wait for the transfer
				return d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock'`)[0] == "3"
			})
			return loci.Empty{}, err
		})
		Expect(t, "the transfer", err, "")
		all.Wait()
		for i, err := range errs {
			Expect(t, fmt.Sprint("call ", i), err, loci.CodeQuotaExceeded)
		}
	})
}

// Memories and atlases count against the plan of the owner of their workspace, calls against that of the caller.
func TestPlanIsThatOfTheOwner(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: smallPlan}, func(t *testing.T, w *World) {
		setPlan := func(p *Person, plan loci.PlanName) {
			t.Helper()
			testenv.Must(w.Service.SetPlan(t.Context(), loci.Email(p.Email), plan))(t)
		}
		add := func(n int) loci.CreateAtlas {
			return loci.CreateAtlas{Name: loci.Name(fmt.Sprint(n)), WorkspaceID: w.Team}
		}
		atlas := MustCall(t, w, CallerAdmin, service.AtlasCreate, add(2))
		MustCall(t, w, CallerAdmin, service.AtlasCreate, add(3))
		setPlan(w.Bob, loci.PlanSelfHosted)
		MustFail(t, w, CallerAdmin, service.AtlasCreate, add(4), loci.CodeQuotaExceeded)
		text := loci.CreateMemory{AtlasID: atlas.Atlas.ID, Content: loci.Content(strings.Repeat("much ", 50<<10))}
		for range 4 {
			MustCall(t, w, CallerMember, service.MemoryCreate, text)
		}
		if e := MustFail(t, w, CallerMember, service.MemoryCreate, text,
			loci.CodeQuotaExceeded); strings.ContainsAny(e.Message, "0123456789") {
			t.Errorf("a member reads figures of the owner: %s", e.Message)
		}
		setPlan(w.Ann, loci.PlanSelfHosted)
		MustCall(t, w, CallerAdmin, service.AtlasCreate, add(4))
		MustCall(t, w, CallerMember, service.MemoryCreate, text)
		for n := range 3 {
			MustCall(t, w, CallerOwner, service.WorkspaceCreate,
				loci.CreateWorkspace{Name: loci.Name(fmt.Sprint("Team ", n))})
		}
		setPlan(w.Ann, "")
		MustFail(t, w, CallerAdmin, service.AtlasCreate, add(5), loci.CodeQuotaExceeded)
		MustFail(t, w, CallerOwner, service.WorkspaceCreate, loci.CreateWorkspace{Name: "One more"},
			loci.CodeQuotaExceeded)
		list := MustCall(t, w, CallerOwner, service.AtlasList, loci.ListAtlases{}).Atlases
		testenv.Len(t, list, 4, "a smaller plan left", "atlases")
	})
}

// Parallel calls get no more than sequential ones.
func TestPlansHoldUnderParallelCalls(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: smallPlan}, func(t *testing.T, w *World) {
		made := [2]int{}
		for i, err := range storetest.RunConcurrently(16, func(i int) error {
			if i%2 == 0 {
				return Try(t, w, CallerOwner, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Team"})
			}
			return Try(t, w, CallerAdmin, service.AtlasCreate, loci.CreateAtlas{Name: "Atlas", WorkspaceID: w.Team})
		}) {
			if err == nil {
				made[i%2]++
			} else if !loci.Is(err, loci.CodeQuotaExceeded) {
				t.Error(err)
			}
		}
		if made != [2]int{1, 2} {
			t.Errorf("made %d teams and %d atlases, want 1 and 2", made[0], made[1])
		}
	})
}

func TestStatusCountsOwnedAndReachable(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: smallPlan}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		verify := func(id loci.ID, days time.Duration) {
			testenv.Must(w.Service.VerifyMemory(t.Context(), w.Ann.Actor(), loci.VerifyMemory{MemoryID: id,
				ValidUntil: ptr(loci.TimeOf(w.Clock.Now().Add(days * 24 * time.Hour)))}))(t)
		}
		verify(w.Memory(t, targets, "tide"), 6)
		verify(w.Memory(t, targets, "größe"), 8) // 7 bytes
		w.Invite(t, w.Team, w.Ann, w.Eve, loci.RoleMember)
		MustCall(t, w, CallerMember, service.MemoryCreate,
			loci.CreateMemory{Content: "cid in the crew", AtlasID: targets})
		MustCall(t, w, CallerMember, service.MemoryCreate, loci.CreateMemory{Content: "cid's own"})

		ann := MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{})
		want := loci.AccountStatus{Plan: loci.PlanFree, BasePlan: loci.PlanFree}
		want.Usage = loci.Usage{Memories: 3, Storage: loci.StorageQuota{UsedBytes: 4 + 7 + 15,
			LimitBytes: smallPlan.Storage},
			Operations: loci.OperationQuota{Limit: smallPlan.Operations, ResetsAt: ann.Usage.Operations.ResetsAt}}
		want.Workspaces = loci.WorkspaceQuotas{Personal: loci.Quota{Used: 1, Limit: 1},
			Team: loci.Quota{Used: 2, Limit: 3}, Atlases: loci.Quota{Used: 2, Limit: 3}}
		want.Totals = loci.Totals{Workspaces: 3, Atlases: 2, Memories: 3}
		want.Waiting = loci.Waiting{Expiring: 1}
		want.Indexing = loci.Indexing{Pending: 3} // no embedder runs here
		want.Service = loci.ServiceState{Ready: true, Problems: []string{}}
		if !reflect.DeepEqual(ann, want) {
			t.Errorf("ann\n%+v, want\n%+v", ann, want)
		}
		cid := MustCall(t, w, CallerMember, service.AccountStatus, loci.Empty{})
		if cid.Usage.Memories != 1 || cid.Usage.Storage.UsedBytes != 9 || cid.Usage.Operations.Used != 2 ||
			cid.Workspaces.Team.Used != 0 ||
			cid.Workspaces.Atlases.Used != 1 || cid.Totals != (loci.Totals{Workspaces: 2, Atlases: 2, Memories: 4}) {
			t.Errorf("cid\n%+v", cid)
		}
		testenv.Equal(t, MustCall(t, w, CallerStranger, service.AccountStatus, loci.Empty{}).Waiting,
			loci.Waiting{Invitations: 1}, "an invited stranger waits")
		now := w.Clock.Now().UTC()
		testenv.Equal(t, ann.Usage.Operations.ResetsAt.Std(),
			time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC), "resets at")
	})
}

func TestStatusOfUnlimitedPlanHasNoLimits(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	s := MustCall(t, w, CallerStranger, service.AccountStatus, loci.Empty{})
	if s.Plan != loci.PlanSelfHosted || s.Usage.Operations.Limit != loci.Unlimited ||
		s.Usage.Storage.LimitBytes != loci.Unlimited ||
		s.Workspaces.Team.Limit != loci.Unlimited || s.Workspaces.Atlases.Limit != loci.Unlimited ||
		s.Workspaces.Personal != (loci.Quota{Used: 1, Limit: 1}) {
		t.Errorf("%+v", s)
	}
}
