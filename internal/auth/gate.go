// Package auth authenticates calls: it turns a credential into an Actor. It refuses an unknown or revoked credential,
// and calls over the rate limit or quota.
package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// Options configure a gate.
type Options struct {
	Rate          int    // calls a minute for each credential; 0 turns the limit off
	Burst         int    // calls that may arrive at once
	FreeOperation string // the operation that uses no quota
	Clock         loci.Clock
	Log           *slog.Logger
	// Shared means that other servers admit calls to the same store: the rate limit covers all of them.
	Shared bool
	// VerifyFileToken returns the holder of a file token, or filetoken.ErrInvalid. Without it none is valid.
	VerifyFileToken func(ctx context.Context, token string) (filetoken.Holder, error)
}

// A Gate admits calls. Call Save at each SaveInterval and Close at the end, so that its counts are saved.
type Gate struct {
	o           Options
	store       *store.Store
	credentials credentialCache
	rateLimiter *limit.Rate[loci.ID] // by credential
	meter       meter
}

// NewGate returns a gate over a store. It subscribes to the store's revocations.
func NewGate(s *store.Store, o Options) *Gate {
	g := &Gate{o: o, store: s}
	g.credentials = newCredentialCache(o.Clock, s.Caches())
	g.rateLimiter = newRateLimiter(s, o)
	g.meter = meter{store: s, multiServer: o.Shared, users: map[loci.ID]*monthUsage{}}
	s.Subscribe(g.credentials.onChange)
	return g
}

// SaveInterval is how long counts stay in memory only.
const SaveInterval = 20 * time.Second

// Save writes the counts, and evicts the usage and rates of idle users and credentials.
func (g *Gate) Save(ctx context.Context) error {
	return errors.Join(g.meter.save(ctx, time.Now().Add(-idleTTL)), g.saveUses(ctx),
		g.evictIdleRates(ctx, g.o.Clock()))
}

func (g *Gate) saveUses(ctx context.Context) error {
	for column, at := range g.credentials.takeUses() {
		_, err := store.System(ctx, g.store, "record when credentials were used",
			func(t *store.SystemTx) (loci.Empty, error) {
				return loci.Empty{}, t.Touch(column, at)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close saves the counts. The store must still be open, and Save must not run.
func (g *Gate) Close() {
	g.meter.releaseReservations()
	if err := g.Save(context.Background()); err != nil {
		g.o.Log.Error("save counts", "err", err)
	}
}

// Admit authenticates a call and checks its limits. Refusals are ordered: credential (401, 403), then rate and quota
// (429). Without an operation it admits a message, which uses the rate limit and no quota. The operation in that
// message then uses no more of the rate limit.
func (g *Gate) Admit(ctx context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
	if o != nil && o.Access == op.Public {
		return &identity.Actor{ClientAddress: c.Address, UserAgent: c.UserAgent}, nil
	}
	access := op.Account // of a message
	if o != nil {
		access = o.Access
	}
	kind, err := kindOf(c)
	if err == nil && !access.Takes(kind, c.Transport) {
		err = loci.Errorf(loci.CodeInvalidKey, "Files take a token of POST /functions/v1/loci/auth/exchange.")
		if kind == identity.CredentialFile {
			err = loci.Errorf(loci.CodeInvalidKey, "A token for files is good for files alone: send an API key.")
		}
	}
	if err != nil {
		return nil, err
	}
	e, err := g.identify(ctx, c)
	if err != nil {
		return nil, err
	}
	limit.Prove(ctx, limit.User(e.UserID))
	if kind == identity.CredentialToken {
		kind = e.Kind // of a narrowed token, or of one for the whole account
	}
	actor := &identity.Actor{UserID: e.UserID, Email: e.Email, CredentialKind: kind, CredentialID: e.ID,
		Plan: e.Plan, BasePlan: e.BasePlan, OpenReferral: e.OpenReferral, GrantedWorkspaces: e.Workspaces}
	if c.IdempotencyKey != "" {
		if actor.GrantSecret, err = g.lastingSecret(kind, c.Credential, e); err != nil {
			return nil, err
		}
	}
	now := g.o.Clock()
	var wait time.Duration
	if !c.RateCharged && !c.Continuation {
		if wait, err = g.rateLimiter.Allow(ctx, e.ID, now); err != nil {
			g.o.Log.Error("charge calls to a credential", "err", err)
		}
	}
	c.RateCharged = o == nil && wait == 0 // so the operation in the message is not charged again
	quota, err := g.meter.take(ctx, actor, now,
		wait == 0 && o != nil && o.Name != g.o.FreeOperation && !c.Continuation)
	c.Quota = quota
	if wait > 0 {
		return nil, callRefusal.Error(wait)
	}
	if loci.Is(err, loci.CodeQuotaExceeded) && o.Has(op.OverQuota) {
		err = nil
	}
	if err == nil && c.ActsAsAgent(o, e.Kind) && !c.AgentIDSent {
		actor.AgentID, err = g.agent(ctx, e)
	}
	return actor, err
}

// agent returns the agent that a key or grant proves. The first call of an agent with it creates the agent.
func (g *Gate) agent(ctx context.Context, e accountdb.Credential) (id loci.ID, err error) {
	if e.AgentID == "" {
		e.AgentID, err = store.System(ctx, g.store, "create the agent of a credential",
			func(t *store.SystemTx) (loci.ID, error) { return t.AgentOf(e.Kind, e.ID) })
		return e.AgentID, err
	}
	g.credentials.recordAgentUse(e)
	return e.AgentID, nil
}

// Charge adds calls to the rate of a caller.
func (g *Gate) Charge(ctx context.Context, actor *identity.Actor, more int) {
	if err := g.rateLimiter.Add(ctx, actor.CredentialID, g.o.Clock(), more); err != nil {
		g.o.Log.Error("charge calls to a credential", "err", err)
	}
}

// Identify refuses a call whose credential has ended since Admit. It uses neither rate nor quota.
func (g *Gate) Identify(ctx context.Context, c *op.Call) error {
	_, err := g.identify(ctx, c)
	return err
}

// identify finds the credential of a call. That of a file token is the one that it was exchanged for.
func (g *Gate) identify(ctx context.Context, c *op.Call) (accountdb.Credential, error) {
	kind, err := kindOf(c)
	if err != nil {
		return accountdb.Credential{}, err
	}
	if kind == identity.CredentialFile {
		return g.identifyHolder(ctx, c.Credential)
	}
	e, err := g.credentials.get(keyOf(kind, c.Credential), func(p credentialKey) (accountdb.Credential, error) {
		return store.SystemRead(ctx, g.store, "look up a credential",
			func(t *store.SystemTx) (accountdb.Credential, error) { return t.Credential(p.kind, p.hash[:]) })
	})
	expired := e.ExpiresAt != 0 && loci.TimeOf(g.o.Clock()) >= e.ExpiresAt // while it was cached
	if loci.Is(err, loci.CodeNotFound) || expired {
		return e, loci.NewError(loci.CodeInvalidKey)
	}
	if err == nil && e.Revoked {
		return e, loci.NewError(loci.CodeRevoked)
	}
	return e, err
}

// identifyHolder finds the credential that a file token was exchanged for. The token ends with it.
func (g *Gate) identifyHolder(ctx context.Context, token string) (e accountdb.Credential, err error) {
	if g.o.VerifyFileToken == nil {
		return e, loci.NewError(loci.CodeInvalidKey)
	}
	holder, err := g.o.VerifyFileToken(ctx, token)
	if errors.Is(err, filetoken.ErrInvalid) {
		err = loci.NewError(loci.CodeInvalidKey)
	}
	if err != nil {
		return e, err
	}
	lookup := func(credentialKey) (accountdb.Credential, error) {
		return store.SystemRead(ctx, g.store, "look up the credential of a file token",
			func(t *store.SystemTx) (accountdb.Credential, error) {
				return t.CredentialByID(holder.Kind, holder.CredentialID)
			})
	}
	e, err = g.credentials.get(keyOf(identity.CredentialFile, token), lookup)
	if loci.Is(err, loci.CodeNotFound) || err == nil && (e.Revoked || e.UserID != holder.UserID) {
		err = loci.NewError(loci.CodeInvalidKey)
	}
	return e, err
}

// lastingSecret returns a secret that outlasts the token of a call, which clients replace from time to time. A key or
// cookie has none: it lasts itself.
func (g *Gate) lastingSecret(kind identity.CredentialKind, token string, e accountdb.Credential) ([]byte, error) {
	switch {
	case kind == identity.CredentialFile:
		mac := hmac.New(sha256.New, g.store.Secret())
		fmt.Fprintf(mac, "loci file token 1\n%s", e.ID)
		return mac.Sum(nil), nil
	case e.SealedSecret != nil:
		return grantdb.Secret(token, e.SealedSecret)
	}
	return nil, nil
}

// kindOf returns the kind of the credential of a call, or an error for one without a valid form.
func kindOf(c *op.Call) (identity.CredentialKind, error) {
	kind, valid := identity.CredentialKey, identity.ValidKey(c.Credential)
	switch {
	case c.Credential == "":
		return "", loci.NewError(loci.CodeMissingAPIKey)
	case c.CredentialKind == identity.CredentialCookie:
		kind, valid = identity.CredentialCookie, true
	case strings.HasPrefix(c.Credential, loci.AccessTokenPrefix):
		kind, valid = identity.CredentialToken, identity.ValidAccessToken(c.Credential)
	case filetoken.LooksLike(c.Credential):
		kind, valid = identity.CredentialFile, true
	}
	if !valid {
		return "", loci.NewError(loci.CodeInvalidKey)
	}
	return kind, nil
}
