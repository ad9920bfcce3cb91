package auth_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A clock stops until it is advanced.
type clock struct{ at atomic.Int64 }

func newClock(at time.Time) *clock {
	c := &clock{}
	c.at.Store(at.UnixMicro())
	return c
}

func (c *clock) now() time.Time       { return time.UnixMicro(c.at.Load()) }
func (c *clock) pass(d time.Duration) { c.at.Add(d.Microseconds()) }

// cached is longer than a gate caches a credential.
const cached = time.Second + time.Microsecond

// testTime is in the middle of a month.
var testTime = time.Date(2026, 5, 15, 12, 0, 0, 0, time.UTC)

// A gateFixture is a gate over a store with one user.
type gateFixture struct {
	*auth.Gate
	clock *clock
	store *store.Store
	work  *service.Service
	key   loci.CreatedKey
	user  loci.User
}

// planWithOperations returns a plan with that many operations.
func planWithOperations(operations int64) identity.Plan {
	return identity.Plan{Name: loci.PlanFree, Operations: operations}
}

// gateOptions are the options of a gate, and the plan of every user.
type gateOptions struct {
	Plan        identity.Plan // the zero plan means no limits
	Rate, Burst int
	Shared      bool
}

func (o gateOptions) store(c *clock) store.Options {
	if o.Plan.Name == "" {
		return store.Options{Clock: c.now}
	}
	return store.Options{Clock: c.now, Plans: storetest.OnePlan(o.Plan)}
}

func newFixture(t *testing.T, s *store.Store, c *clock, o gateOptions) *gateFixture {
	t.Helper()
	h := &gateFixture{clock: c, store: s, Gate: gate(s, c, o),
		work: service.New(service.Options{Store: s, Clock: c.now})}
	t.Cleanup(h.Close)
	var err error
	h.user = testenv.Must(h.work.AddUser(t.Context(), "ada@example.com", "Ada", ""))(t)
	if h.key, err = h.work.AddKey(t.Context(), "ada@example.com", ""); err != nil {
		t.Fatal(err)
	}
	return h
}

func gate(s *store.Store, c *clock, o gateOptions) *auth.Gate {
	return auth.NewGate(s, auth.Options{Rate: o.Rate, Burst: o.Burst, Shared: o.Shared,
		FreeOperation: service.AccountStatus.Name, Clock: c.now, Log: slog.New(slog.DiscardHandler)})
}

// each runs f with a store of every engine.
func each(t *testing.T, o gateOptions, f func(t *testing.T, d storetest.Database, h *gateFixture)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		c := newClock(testTime)
		f(t, d, newFixture(t, d.Open(t, o.store(c)), c, o))
	})
}

func sqlite(t *testing.T, o gateOptions) *gateFixture {
	t.Helper()
	c := newClock(testTime)
	s := testenv.Must(store.OpenSQLite(t.Context(), t.TempDir(), o.store(c)))(t)
	t.Cleanup(func() { s.Close() })
	return newFixture(t, s, c, o)
}

// admit passes a call with the key to the gate.
func admit(g *auth.Gate, o *op.Op, key string) (*op.Call, error) {
	c := &op.Call{Credential: key}
	_, err := g.Admit(context.Background(), o, c)
	return c, err
}

func expect(t *testing.T, err error, code loci.Code) {
	t.Helper()
	if code == "" && err != nil || code != "" && !loci.Is(err, code) {
		t.Fatalf("%v, want %q", err, code)
	}
}

// admitted passes a call with the key to the gate, and expects its error.
func admitted(t *testing.T, g *auth.Gate, o *op.Op, key string, code loci.Code) *op.Call {
	t.Helper()
	c, err := admit(g, o, key)
	expect(t, err, code)
	return c
}

var metered, unmetered = service.MemoryGet.Op, service.AccountStatus.Op

func TestGateRefusesInFixedOrder(t *testing.T) {
	t.Parallel()
	// A rate of one call a minute and a quota of one call: the third call breaks both.
	h := sqlite(t, gateOptions{Plan: planWithOperations(1), Rate: 1, Burst: 2})
	lost := testenv.Must(h.work.AddKey(t.Context(), "ada@example.com", "lost"))(t)
	actor := &identity.Actor{UserID: h.user.ID, CredentialID: h.key.Key.ID}
	testenv.Must(h.work.RevokeKey(t.Context(), actor, loci.RevokeKey{KeyID: lost.Key.ID}))(t)
	for range 2 {
		for proof, code := range map[string]loci.Code{"": loci.CodeMissingAPIKey,
			"loci_live_nonsense": loci.CodeInvalidKey, identity.NewKey(): loci.CodeInvalidKey,
			lost.APIKey: loci.CodeRevoked} {
			c, err := admit(h.Gate, metered, proof)
			expect(t, err, code)
			if c.Quota != nil {
				t.Errorf("%s: an unknown caller sees a quota", code)
			}
		}
	}
	admitted(t, h.Gate, metered, h.key.APIKey, "")
	c, err := admit(h.Gate, metered, h.key.APIKey)
	expect(t, err, loci.CodeQuotaExceeded)
	if e := loci.AsError(err); c.Quota == nil || c.Quota.Remaining != 0 || e.RetryAfter != c.Quota.Reset {
		t.Errorf("%+v %+v", c.Quota, e)
	}
	admitted(t, h.Gate, metered, h.key.APIKey, loci.CodeRateLimited)
	admitted(t, h.Gate, unmetered, h.key.APIKey, loci.CodeRateLimited)
	testenv.Equal(t, testenv.ErrorOf(h.Admit(t.Context(), service.AuthLogin.Op, &op.Call{})), nil, "a public operation")
	admitted(t, h.Gate, nil, h.key.APIKey, loci.CodeRateLimited)
}

func TestGateRejectsKeyAsCookie(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	_, err := h.Admit(t.Context(), metered, &op.Call{Credential: h.key.APIKey,
		CredentialKind: identity.CredentialCookie})
	expect(t, err, loci.CodeInvalidKey)
	in := testenv.Must(h.work.AddUser(t.Context(), "bea@example.com", "", "correct horse battery"))(t)
	out := testenv.Must(h.work.SignIn(t.Context(), &identity.Actor{},
		loci.Login{Email: "bea@example.com", Password: "correct horse battery"}))(t)
	actor, err := h.Admit(t.Context(), metered, &op.Call{Credential: out.Cookie().Secret,
		CredentialKind: identity.CredentialCookie})
	if err != nil || actor.UserID != in.ID || actor.CredentialKind != identity.CredentialCookie {
		t.Errorf("%+v %v", actor, err)
	}
	admitted(t, h.Gate, metered, out.Cookie().Secret, loci.CodeInvalidKey)
}

func TestGateForgetsRevokedKey(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		other := d.Open(t, store.Options{Clock: h.clock.now})
		g := gate(other, h.clock, gateOptions{})
		t.Cleanup(g.Close)
		for _, g := range []*auth.Gate{h.Gate, g} {
			admitted(t, g, metered, h.key.APIKey, "")
		}
		actor := &identity.Actor{UserID: h.user.ID, CredentialID: h.key.Key.ID}
		testenv.Must(h.work.RevokeKey(t.Context(), actor, loci.RevokeKey{KeyID: h.key.Key.ID}))(t)
		admitted(t, h.Gate, metered, h.key.APIKey, loci.CodeRevoked)
		h.clock.pass(cached)
		admitted(t, g, metered, h.key.APIKey, loci.CodeRevoked)
	})
}

// Calls and a revocation run at once: no call that begins after the revocation is admitted.
func TestGateRejectsLookUpOlderThanRevocation(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	for range 30 {
		k, err := h.work.AddKey(t.Context(), "ada@example.com", "")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 5 {
					admit(h.Gate, metered, k.APIKey)
				}
			})
		}
		_, err = h.work.RevokeKey(t.Context(), &identity.Actor{UserID: h.user.ID}, loci.RevokeKey{KeyID: k.Key.ID})
		if err == nil {
			_, err = admit(h.Gate, metered, k.APIKey)
		}
		expect(t, err, loci.CodeRevoked)
		all.Wait()
		admitted(t, h.Gate, metered, k.APIKey, loci.CodeRevoked)
	}
}

func TestGateEnforcesRate(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{Rate: 60, Burst: 5})
	other, err := h.work.AddKey(t.Context(), "ada@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	burst := func(n int) {
		t.Helper()
		for range n {
			admitted(t, h.Gate, metered, h.key.APIKey, "")
		}
		admitted(t, h.Gate, metered, h.key.APIKey, loci.CodeRateLimited)
	}
	burst(5)
	_, err = admit(h.Gate, metered, h.key.APIKey)
	testenv.Equal(t, loci.AsError(err).RetryAfter, time.Second, "wait")
	admitted(t, h.Gate, metered, other.APIKey, "")
	h.clock.pass(time.Second - time.Microsecond)
	admitted(t, h.Gate, metered, h.key.APIKey, loci.CodeRateLimited)
	h.clock.pass(time.Microsecond)
	burst(1)
	h.clock.pass(3 * time.Second)
	burst(3)
	h.clock.pass(time.Hour)
	burst(5)
	used, _, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID})
	if err != nil || used != 5+1+1+3+5 {
		t.Errorf("%d are used, %v: a call over the rate must use no quota", used, err)
	}
}

// TestMessagesUseRateButNoQuota sends messages of MCP without and with an operation in them.
func TestMessagesUseRateButNoQuota(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{Plan: planWithOperations(100), Rate: 60, Burst: 6})
	for i := range 6 {
		c := &op.Call{Credential: h.key.APIKey}
		actor, err := h.Admit(t.Context(), nil, c)
		expect(t, err, "")
		if actor.UserID != h.user.ID || actor.CredentialID != h.key.Key.ID ||
			actor.CredentialKind != identity.CredentialKey || c.Quota.Limit != 100 {
			t.Errorf("%+v %+v", actor, c.Quota)
		}
		if i%2 == 0 {
			continue
		}
		_, err = h.Admit(t.Context(), metered, c)
		expect(t, err, "")
		c.Continuation = true
		_, err = h.Admit(t.Context(), metered, c)
		expect(t, err, "")
	}
	for _, o := range []*op.Op{nil, metered} {
		c, err := admit(h.Gate, o, h.key.APIKey)
		expect(t, err, loci.CodeRateLimited)
		if wait := loci.AsError(err).RetryAfter; wait != time.Second || c.RateCharged {
			t.Errorf("wait %v, charged %v", wait, c.RateCharged)
		}
	}
	if used, _, err := h.Used(t.Context(), &identity.Actor{UserID: h.user.ID}); err != nil || used != 3 {
		t.Errorf("%d operations are used, %v, want 3", used, err)
	}
}

// TestWeightedCallsDelayLaterCalls charges calls with a weight, one of them more than a burst.
func TestWeightedCallsDelayLaterCalls(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		h := sqlite(t, gateOptions{Rate: 60, Burst: 20, Shared: shared})
		actor := &identity.Actor{CredentialID: h.key.Key.ID}
		through := func() (n int, wait time.Duration) {
			for {
				if _, err := admit(h.Gate, metered, h.key.APIKey); err != nil {
					expect(t, err, loci.CodeRateLimited)
					return n, loci.AsError(err).RetryAfter
				}
				n++
			}
		}
		admitted(t, h.Gate, metered, h.key.APIKey, "")
		h.Charge(t.Context(), actor, 10)
		if n, wait := through(); n != 9 || wait != time.Second {
			t.Errorf("shared %v: %d calls beside one of weight 11, then a wait of %v", shared, n, wait)
		}
		h.clock.pass(time.Second)
		admitted(t, h.Gate, metered, h.key.APIKey, "")
		// a burst, at most; one call less where servers share the rate
		h.Charge(t.Context(), actor, 1000)
		n, wait := through()
		if n != 0 || wait > 20*time.Second || wait < 19*time.Second {
			t.Errorf("shared %v: %d calls after a large one, then a wait of %v", shared, n, wait)
		}
		h.clock.pass(wait - time.Microsecond)
		admitted(t, h.Gate, metered, h.key.APIKey, loci.CodeRateLimited)
		h.clock.pass(time.Microsecond)
		admitted(t, h.Gate, metered, h.key.APIKey, "")
	}
}

// Two servers on one database admit as many calls as one, plus the twentieth of a burst that each admits ahead.
func TestServersShareTheRate(t *testing.T) {
	t.Parallel()
	for burst, maximum := range map[int]int{5: 5, 100: 110} {
		t.Run(fmt.Sprint(burst), func(t *testing.T) {
			o := gateOptions{Rate: 60, Burst: burst, Shared: true}
			each(t, o, func(t *testing.T, d storetest.Database, h *gateFixture) {
				gates := []*auth.Gate{h.Gate, gate(d.Open(t, store.Options{Clock: h.clock.now}), h.clock, o)}
				t.Cleanup(gates[1].Close)
				// through returns how many of the simultaneous calls are admitted.
				through := func() int {
					var let atomic.Int64
					var all sync.WaitGroup
					for i := range 2 * burst {
						for _, g := range gates {
							if i%8 == 0 {
								all.Wait()
							}
							all.Go(func() {
								switch _, err := admit(g, metered, h.key.APIKey); {
								case err == nil:
									let.Add(1)
								case !loci.Is(err, loci.CodeRateLimited) || loci.AsError(err).RetryAfter <= 0:
									t.Error(err, loci.AsError(err).RetryAfter)
								}
							})
						}
					}
					all.Wait()
					return int(let.Load())
				}
				if n := through(); n < burst || n > maximum {
					t.Errorf("%d of a burst of %d are let through", n, burst)
				}
				if n := through(); n > 0 {
					t.Errorf("%d are let through after a burst", n)
				}
				// Calls admitted ahead are charged later, so that the long-run rate is exact.
				total := burst
				for range 20 {
					h.clock.pass(5 * time.Second)
					total += through()
				}
				if total < 20*5 || total > 20*5+maximum {
					t.Errorf("%d are let through in 100 s at one a second and a burst of %d", total, burst)
				}
				h.clock.pass(time.Hour)
				if n := through(); n < burst || n > maximum {
					t.Errorf("%d of a burst of %d are let through after an hour", n, burst)
				}
				for _, g := range gates {
					g.Close()
				}
				h.clock.pass(time.Hour)
				gate(d.Open(t, store.Options{Clock: h.clock.now}), h.clock, o).Close()
				testenv.Equal(t, d.Query(t, `SELECT count(*) FROM rate_limits`)[0], "0", "rates of nobody are kept")
			})
		})
	}
}

// A server that cannot reach the database counts alone and tries again later.
func TestGateEnforcesRateWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := testenv.Must(store.OpenSQLite(t.Context(), t.TempDir(), store.Options{}))(t)
	testenv.NoError(t, s.Close())
	take := auth.AllowFunc(s, auth.Options{Rate: 60, Burst: 40, Shared: true})
	now, through, failed := testTime, 0, 0
	for range 100 {
		wait, err := take(t.Context(), "key", now)
		if wait == 0 {
			through++
		}
		if err != nil {
			failed++
		}
	}
	if through != 40 || failed != 1 {
		t.Errorf("%d of 100 are let through, of a burst of 40; the database was asked %d times in vain", through,
			failed)
	}
	if _, err := take(t.Context(), "key", now.Add(10*time.Second)); err == nil {
		t.Error("the database is not asked again")
	}
}

func TestGateRecordsCredentialUse(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		h.clock.pass(2 * time.Minute)
		used := h.clock.now()
		testenv.Must(admit(h.Gate, metered, h.key.APIKey))(t)
		h.clock.pass(30 * time.Second) // within a minute: no second write
		testenv.Must(admit(h.Gate, metered, h.key.APIKey))(t)
		h.Close()
		list, err := h.work.ListKeys(t.Context(), &identity.Actor{UserID: h.user.ID}, loci.ListKeys{})
		if err != nil || list.Keys[0].LastUsedAt < loci.TimeOf(used) ||
			list.Keys[0].LastUsedAt > loci.TimeOf(h.clock.now()) {
			t.Errorf("%+v %v, used %s", list.Keys, err, loci.TimeOf(used))
		}
	})
}

// A server follows at once, and another one on the same database within the time of its cache.
func TestGateRefusesDisabledAndDeletedUsers(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		other := gate(d.Open(t, store.Options{Clock: h.clock.now}), h.clock, gateOptions{})
		t.Cleanup(other.Close)
		testenv.Must(h.work.AddUser(t.Context(), "bea@example.com", "", "correct horse"))(t)
		key := testenv.Must(h.work.AddKey(t.Context(), "bea@example.com", ""))(t)
		browser := testenv.Must(h.work.SignIn(t.Context(), &identity.Actor{}, loci.Login{Email: "bea@example.com",
			Password: "correct horse"}))(t)
		check := func(g *auth.Gate, want loci.Code) {
			t.Helper()
			admitted(t, g, metered, key.APIKey, want)
			_, err := g.Admit(t.Context(), metered, &op.Call{Credential: browser.Cookie().Secret,
				CredentialKind: identity.CredentialCookie})
			expect(t, err, want)
			admitted(t, g, metered, h.key.APIKey, "") // of another user
		}
		check(h.Gate, "")
		check(other, "")
		for _, disabled := range []bool{true, false} {
			testenv.Must(h.work.SetDisabled(t.Context(), "Bea@example.com", disabled))(t)
			want := loci.Code("")
			if disabled {
				want = loci.CodeRevoked
			}
			check(h.Gate, want)
			h.clock.pass(cached)
			check(other, want)
		}
		testenv.Must(h.work.DeleteUser(t.Context(), "bea@example.com", false))(t)
		check(h.Gate, loci.CodeInvalidKey)
		h.clock.pass(cached)
		check(other, loci.CodeInvalidKey)
	})
}
