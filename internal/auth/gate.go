// Package auth tells who makes a call: it turns a credential into an Actor,
// and refuses one that is unknown, revoked, too quick or out of quota.
package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
)

// Options say what the gate lets through.
type Options struct {
	Plan  loci.Plan
	Rate  int    // calls a minute and credential; 0 is off
	Burst int    // calls that may come at once
	Free  string // the operation that costs none of the quota
	Clock loci.Clock
	Log   *slog.Logger
	// Shared tells that other servers may let calls through before the same store:
	// the rate is that of all of them.
	Shared bool
}

// A Gate admits calls. It must be closed, so that what it counted is kept.
type Gate struct {
	o      Options
	store  *store.Store
	known  known
	rates  *rates
	meter  meter
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// NewGate returns a gate before a store. It hears from the store of
// credentials that end.
func NewGate(s *store.Store, o Options) *Gate {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gate{o: o, store: s, cancel: cancel}
	g.known = known{clock: o.Clock, credentials: map[proof]entry{}, used: map[loci.Credential]map[string]loci.Time{}}
	g.rates = newRates(s, o)
	g.meter = meter{store: s, plan: o.Plan, clock: o.Clock, shared: o.Shared, users: map[string]*account{}}
	s.Hear(g.known.hear)
	g.done.Go(func() { g.keep(ctx) })
	return g
}

// saveEvery is how long counts stay in memory alone.
const saveEvery = 20 * time.Second

// keep writes down what was counted, now and then and at the end.
func (g *Gate) keep(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.save(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (g *Gate) save(ctx context.Context) {
	if err := g.meter.save(ctx, time.Now().Add(-keepIdle)); err != nil && ctx.Err() == nil {
		g.o.Log.Error("save operation counts", "err", err)
	}
	if err := g.saveUses(ctx); err != nil && ctx.Err() == nil {
		g.o.Log.Error("save when credentials were used", "err", err)
	}
	if err := g.rates.forget(ctx, g.o.Clock()); err != nil && ctx.Err() == nil {
		g.o.Log.Error("forget the rates of credentials", "err", err)
	}
}

func (g *Gate) saveUses(ctx context.Context) error {
	for kind, at := range g.known.takeUses() {
		_, err := store.System(ctx, g.store, "note when credentials were used", func(t *store.SystemTx) (loci.Nothing, error) {
			return loci.Nothing{}, t.UsedCredentials(kind, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close keeps what was counted. The store must still be open.
func (g *Gate) Close() {
	g.cancel()
	g.done.Wait()
	g.meter.giveBack()
	g.save(context.Background())
}

// Admit tells who makes a call, in the order of refusal: the credential (401,
// 403), then rate and quota (429). Without an operation it admits a message,
// which costs a call of the rate and none of the quota; the operation in it
// then costs none of the rate.
func (g *Gate) Admit(ctx context.Context, o *op.Op, c *op.Call) (*loci.Actor, error) {
	if o != nil && o.Access == op.Public {
		return &loci.Actor{Address: c.Address}, nil
	}
	e, err := g.identify(ctx, c)
	if err != nil {
		return nil, err
	}
	who := &loci.Actor{UserID: e.UserID, Email: e.Email, Credential: e.Kind, CredentialID: e.ID}
	now := g.o.Clock()
	var wait time.Duration
	if !c.Charged && !c.Again {
		if wait, err = g.rates.take(ctx, e.ID, now); err != nil {
			g.o.Log.Error("charge calls to a credential", "err", err)
		}
	}
	c.Charged = o == nil && wait == 0
	quota, err := g.meter.take(ctx, e.UserID, now, wait == 0 && o != nil && o.Name != g.o.Free && !c.Again)
	c.Quota = quota
	if wait > 0 {
		return nil, &loci.Error{Code: loci.RateLimited, Message: loci.RateLimited.Hint(), Retry: wait}
	}
	return who, err
}

// Charge adds calls to what the rate of a caller has counted.
func (g *Gate) Charge(ctx context.Context, who *loci.Actor, more int) {
	if err := g.rates.add(ctx, who.CredentialID, more, g.o.Clock()); err != nil {
		g.o.Log.Error("charge calls to a credential", "err", err)
	}
}

// identify finds the credential of a call.
func (g *Gate) identify(ctx context.Context, c *op.Call) (store.Credential, error) {
	if c.Proof == "" {
		return store.Credential{}, loci.Fail(loci.MissingAPIKey)
	}
	kind := c.Kind
	if kind != loci.CookieCredential {
		if kind = loci.KeyCredential; !loci.ValidKey(c.Proof) {
			return store.Credential{}, loci.Fail(loci.InvalidKey)
		}
	}
	e, err := g.known.get(proof{kind, [32]byte(loci.SecretHash(c.Proof))}, func(p proof) (store.Credential, error) {
		return store.SystemRead(ctx, g.store, "look up a credential", func(t *store.SystemTx) (store.Credential, error) {
			return t.Credential(p.kind, p.hash[:])
		})
	})
	if loci.Is(err, loci.NotFound) {
		return e, loci.Fail(loci.InvalidKey)
	}
	if err == nil && e.Revoked {
		return e, loci.Fail(loci.Revoked)
	}
	return e, err
}
