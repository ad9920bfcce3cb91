package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

// small is a plan that leaves ann one team (she has two) and two atlases (she has her Inbox).
var small = loci.Plan{Name: loci.Free, Operations: 10_000, Storage: 1 << 20, Teams: 3, Atlases: 3}

func TestPlansLimitTeamsAndAtlases(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{Plan: small}, func(t *testing.T, w *proof.World) {
		now := w.Clock.Now().UTC()
		left := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
		full := func(e *loci.Error) {
			t.Helper()
			if e.Retry <= 0 || e.Retry > left || left-e.Retry > time.Minute {
				t.Errorf("wait %v, and the month ends in %v", e.Retry, left)
			}
		}
		do(t, w, proof.Owner, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Third"})
		full(refused(t, w, proof.Owner, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Fourth"}, loci.QuotaExceeded))
		do(t, w, proof.Admin, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Bob has none of his own"})

		do(t, w, proof.Admin, service.AtlasCreate, loci.CreateAtlas{Name: "Counts for ann", WorkspaceID: w.Crew})
		do(t, w, proof.Owner, service.AtlasCreate, loci.CreateAtlas{Name: "Mine"})
		full(refused(t, w, proof.Owner, service.AtlasCreate, loci.CreateAtlas{Name: "More"}, loci.QuotaExceeded))
		full(refused(t, w, proof.Admin, service.AtlasCreate, loci.CreateAtlas{Name: "More", WorkspaceID: w.Crew}, loci.QuotaExceeded))
		full(refused(t, w, proof.Admin, service.MemoryCreate, loci.CreateMemory{Content: "Its team has no Inbox yet.", WorkspaceID: w.Crew}, loci.QuotaExceeded))
		do(t, w, proof.Admin, service.AtlasCreate, loci.CreateAtlas{Name: "Bob's own"})
		refused(t, w, proof.Member, service.AtlasCreate, loci.CreateAtlas{Name: "More", WorkspaceID: w.Crew}, loci.Forbidden)
	})
}

// All at once get no more than one after another.
func TestPlansHoldUnderParallelCalls(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{Plan: small}, func(t *testing.T, w *proof.World) {
		errs := make([]error, 16)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				if i%2 == 0 {
					_, errs[i] = op.Do(t.Context(), w.Host, w.Call(proof.Owner), service.WorkspaceCreate, loci.CreateWorkspace{Name: "Team"})
				} else {
					_, errs[i] = op.Do(t.Context(), w.Host, w.Call(proof.Admin), service.AtlasCreate, loci.CreateAtlas{Name: "Atlas", WorkspaceID: w.Crew})
				}
			})
		}
		all.Wait()
		made := [2]int{}
		for i, err := range errs {
			if err == nil {
				made[i%2]++
			} else if !loci.Is(err, loci.QuotaExceeded) {
				t.Error(err)
			}
		}
		if made != [2]int{1, 2} {
			t.Errorf("made %d teams and %d atlases, want 1 and 2", made[0], made[1])
		}
	})
}

func TestStatusCountsWhatOneOwnsAndReaches(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{Plan: small}, func(t *testing.T, w *proof.World) {
		shelf := w.Atlas(t, "Shelf")
		w.Memory(t, shelf, "tide")
		w.Memory(t, shelf, "größe") // 7 bytes
		do(t, w, proof.Member, service.MemoryCreate, loci.CreateMemory{Content: "cid in the crew", AtlasID: shelf})
		do(t, w, proof.Member, service.MemoryCreate, loci.CreateMemory{Content: "cid's own"})

		ann := do(t, w, proof.Owner, service.AccountStatus, loci.Nothing{})
		want := loci.AccountStatus{Plan: loci.Free, BasePlan: loci.Free}
		want.Usage = loci.Usage{Memories: 3, Storage: loci.StorageQuota{UsedBytes: 4 + 7 + 15, LimitBytes: small.Storage},
			Operations: loci.OperationQuota{Limit: small.Operations, ResetsAt: ann.Usage.Operations.ResetsAt}}
		want.Workspaces = loci.WorkspaceQuotas{Personal: loci.Quota{Used: 1, Limit: 1}, Team: loci.Quota{Used: 2, Limit: 3}, Atlases: loci.Quota{Used: 2, Limit: 3}}
		want.Totals = loci.Totals{Workspaces: 3, Atlases: 2, Memories: 3}
		want.Indexing = loci.Indexing{Pending: 3} // nobody makes vectors here
		if ann != want {
			t.Errorf("ann\n%+v, want\n%+v", ann, want)
		}
		cid := do(t, w, proof.Member, service.AccountStatus, loci.Nothing{})
		if cid.Usage.Memories != 1 || cid.Usage.Storage.UsedBytes != 9 || cid.Usage.Operations.Used != 2 || cid.Workspaces.Team.Used != 0 ||
			cid.Workspaces.Atlases.Used != 1 || cid.Totals != (loci.Totals{Workspaces: 2, Atlases: 2, Memories: 4}) {
			t.Errorf("cid\n%+v", cid)
		}
		now := w.Clock.Now().UTC()
		if ends := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC); ann.Usage.Operations.ResetsAt.Std() != ends {
			t.Errorf("resets at %s, want %s", ann.Usage.Operations.ResetsAt, ends)
		}
	})
}

func TestAPlanWithoutLimitsSaysSo(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	s := do(t, w, proof.Stranger, service.AccountStatus, loci.Nothing{})
	if s.Plan != loci.SelfHosted || s.Usage.Operations.Limit != loci.Unlimited || s.Usage.Storage.LimitBytes != loci.Unlimited ||
		s.Workspaces.Team.Limit != loci.Unlimited || s.Workspaces.Atlases.Limit != loci.Unlimited || s.Workspaces.Personal != (loci.Quota{Used: 1, Limit: 1}) {
		t.Errorf("%+v", s)
	}
}
