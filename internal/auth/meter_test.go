package auth_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestQuotaIsExactUnderParallelCalls(t *testing.T) {
	t.Parallel()
	const quota, workers, calls = 500, 32, 25
	each(t, gateOptions{Plan: planWithOperations(quota)}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		var all sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for range workers {
			all.Go(func() {
				for range calls {
					c, err := admit(h.Gate, metered, h.key.APIKey)
					mu.Lock()
					if err == nil {
						done++
					} else if !loci.Is(err, loci.CodeQuotaExceeded) || c.Quota.Remaining != 0 {
						t.Errorf("%v %+v", err, c.Quota)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		used, ends, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID})
		if done != quota || used != quota || err != nil || !ends.Equal(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%d calls were let in, %d are used until %s, %v", done, used, ends, err)
		}
	})
}

func TestCallsReportRemainingQuota(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{Plan: planWithOperations(3)})
	for _, want := range []int64{2, 1, 0} {
		c, err := admit(h.Gate, metered, h.key.APIKey)
		if err != nil || c.Quota.Limit != 3 || c.Quota.Remaining != want ||
			c.Quota.Reset != 16*24*time.Hour+12*time.Hour {
			t.Errorf("%+v %v, want %d", c.Quota, err, want)
		}
		if c, err = admit(h.Gate, unmetered, h.key.APIKey); err != nil || c.Quota.Remaining != want {
			t.Errorf("what is free: %+v %v", c.Quota, err)
		}
	}
	_, err := admit(h.Gate, metered, h.key.APIKey)
	for _, want := range []string{"The 3 operations a month", "until 2026-06-01 00:00 UTC"} {
		testenv.Contains(t, loci.AsError(err).Message, want, err)
	}
}

// The count belongs to the user, not to the key.
func TestQuotaIsSharedByKeysOfUser(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{Plan: planWithOperations(1)})
	other := testenv.Must(h.work.AddKey(t.Context(), "ada@example.com", ""))(t)
	admitted(t, h.Gate, metered, h.key.APIKey, "")
	admitted(t, h.Gate, metered, other.APIKey, loci.CodeQuotaExceeded)
}

// A plan changes in the middle of a month, and the count goes on.
func TestQuotaFollowsPlan(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{Plan: planWithOperations(20)}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		call := func(plan loci.PlanName, times int, code loci.Code, limit, remaining int64) {
			t.Helper()
			testenv.Must(h.work.SetPlan(t.Context(), "ada@example.com", plan))(t)
			var c *op.Call
			for range times {
				var err error
				c, err = admit(h.Gate, metered, h.key.APIKey)
				expect(t, err, code)
			}
			if c.Quota.Limit != limit || c.Quota.Remaining != remaining {
				t.Errorf("with the plan %q: %+v, want %d of %d", plan, c.Quota, remaining, limit)
			}
		}
		call("", 5, "", 20, 15)
		call(loci.PlanSelfHosted, 30, "", loci.Unlimited, loci.Unlimited-35)
		call("", 2, loci.CodeQuotaExceeded, 20, 0)
		used, _, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID, Plan: planWithOperations(20)})
		if used != 35 || err != nil {
			t.Errorf("%d are used, %v: a smaller limit must not cut the count", used, err)
		}
		call(loci.PlanPro, 1, "", 1_000_000, 1_000_000-36)
	})
}

func TestCountsSurviveRestart(t *testing.T) {
	t.Parallel()
	for _, plan := range []identity.Plan{planWithOperations(1000), identity.DefaultPlans[loci.PlanSelfHosted]} {
		each(t, gateOptions{Plan: plan}, func(t *testing.T, d storetest.Database, h *gateFixture) {
			for range 7 {
				admitted(t, h.Gate, metered, h.key.APIKey, "")
			}
			h.Close()
			next := gate(d.Open(t, gateOptions{Plan: plan}.store(h.clock)), h.clock, gateOptions{})
			t.Cleanup(next.Close)
			if used, _, err := next.Used(t.Context(), &identity.Actor{UserID: h.user.ID}); used != 7 || err != nil {
				t.Errorf("%d are used after the restart, %v", used, err)
			}
			c := admitted(t, next, metered, h.key.APIKey, "")
			testenv.Equal(t, c.Quota.Limit-c.Quota.Remaining, 8, c.Quota)
		})
	}
}

func TestQuotaRefusesNeitherRevocationNorLargerPlan(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{Plan: planWithOperations(2)})
	for i, o := range []*op.Op{service.AuthLogout.Op, metered, service.AuthLogout.Op, service.KeyRevoke.Op,
		service.KeyList.Op, service.GrantList.Op, service.GrantRevoke.Op, service.SignInList.Op,
		service.SignInRevoke.Op, service.BenefitList.Op, service.BenefitActivate.Op, service.AccountMe.Op} {
		c, err := admit(h.Gate, o, h.key.APIKey)
		if err != nil || c.Quota == nil || c.Quota.Remaining != int64(max(0, 1-i)) {
			t.Errorf("%s: %+v %v", o.Name, c.Quota, err)
		}
	}
	admitted(t, h.Gate, metered, h.key.APIKey, loci.CodeQuotaExceeded)
}

func TestQuotaResetsEachMonth(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{Plan: planWithOperations(2)}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		h.clock.at.Store(time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC).UnixMicro())
		for _, code := range []loci.Code{"", "", loci.CodeQuotaExceeded} {
			c, err := admit(h.Gate, metered, h.key.APIKey)
			expect(t, err, code)
			testenv.Equal(t, c.Quota.Reset, time.Second, "the year ends in")
		}
		h.clock.pass(time.Second)
		c := admitted(t, h.Gate, metered, h.key.APIKey, "")
		if c.Quota.Remaining != 1 || c.Quota.Reset != 31*24*time.Hour {
			t.Errorf("%+v", c.Quota)
		}
		if used, ends, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID}); used != 1 || err != nil ||
			!ends.Equal(time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%d until %s, %v", used, ends, err)
		}
	})
}

// Several servers reach the limit together and never exceed it.
func TestQuotaIsSharedByServers(t *testing.T) {
	t.Parallel()
	const quota = 300
	each(t, gateOptions{Plan: planWithOperations(quota)}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		second := gate(d.Open(t, gateOptions{Plan: planWithOperations(quota)}.store(h.clock)), h.clock, gateOptions{})
		t.Cleanup(second.Close)
		done := [2]int{}
		var all sync.WaitGroup
		for i, g := range []*auth.Gate{h.Gate, second} {
			all.Go(func() {
				for range quota {
					if _, err := admit(g, metered, h.key.APIKey); err == nil {
						done[i]++
					}
				}
			})
		}
		all.Wait()
		if sum := done[0] + done[1]; sum > quota || sum < quota*9/10 {
			t.Errorf("%d and %d calls were let in, of %d", done[0], done[1], quota)
		}
	})
}

// Each server reports the count of all servers: at once when asked for it, and with the calls after a save.
func TestServersReportSharedCount(t *testing.T) {
	t.Parallel()
	for _, plan := range []identity.Plan{planWithOperations(5000), identity.DefaultPlans[loci.PlanSelfHosted]} {
		t.Run(string(plan.Name), func(t *testing.T) {
			o := gateOptions{Plan: plan, Shared: true}
			each(t, o, func(t *testing.T, d storetest.Database, h *gateFixture) {
				call := func(g *auth.Gate, n int) (used int64) {
					for range n {
						c := admitted(t, g, metered, h.key.APIKey, "")
						used = c.Quota.Limit - c.Quota.Remaining
					}
					return used
				}
				second := gate(d.Open(t, o.store(h.clock)), h.clock, o)
				call(h.Gate, 100)
				call(second, 20)
				second.Close() // returns its block
				second = gate(d.Open(t, o.store(h.clock)), h.clock, o)
				t.Cleanup(second.Close)
				if used, _, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID}); err != nil || used != 120 {
					t.Errorf("%d are used, %v", used, err)
				}
				call(second, 30)
				second.Close()
				testenv.NoError(t, h.Gate.Save(t.Context()))
				testenv.Equal(t, call(h.Gate, 1), 151, "are used after a save")
			})
		})
	}
}

// TestMeterEvictsIdleUsers checks that counts outlive the accounts that hold them in memory.
func TestMeterEvictsIdleUsers(t *testing.T) {
	t.Parallel()
	for _, plan := range []identity.Plan{planWithOperations(100), identity.DefaultPlans[loci.PlanSelfHosted]} {
		each(t, gateOptions{Plan: plan}, func(t *testing.T, d storetest.Database, h *gateFixture) {
			for range 7 {
				admitted(t, h.Gate, metered, h.key.APIKey, "")
			}
			if err := h.Gate.Save(t.Context()); err != nil { // the user is not idle yet
				t.Fatal(err)
			}
			testenv.RequireEqual(t, testenv.Must(h.Forget(t.Context()))(t), 0, "users are known")
			if used, _, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID}); used != 7 || err != nil {
				t.Errorf("%d are used, %v, want 7", used, err)
			}
		})
	}
}

// TestMeterLosesNoCallDuringEviction counts calls that race with an eviction.
func TestMeterLosesNoCallDuringEviction(t *testing.T) {
	t.Parallel()
	const quota, workers, calls = 150, 8, 25
	h := sqlite(t, gateOptions{Plan: planWithOperations(quota)})
	var all sync.WaitGroup
	var done atomic.Int64
	for range workers {
		all.Go(func() {
			for range calls {
				if _, err := admit(h.Gate, metered, h.key.APIKey); err == nil {
					done.Add(1)
				} else if !loci.Is(err, loci.CodeQuotaExceeded) {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		testenv.Equal(t, testenv.ErrorOf(h.Forget(t.Context())), nil)
	}
	all.Wait()
	if used, _, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID}); done.Load() != quota || used != quota ||
		err != nil {
		t.Errorf("%d calls were let in, %d are used, %v, want %d", done.Load(), used, err, quota)
	}
}
