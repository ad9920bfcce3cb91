package auth

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
)

// meter counts operations per user and calendar month (UTC). If the plan has a limit, it reserves blocks in the store
// ahead of use. So a read needs no write, and the limit is exact. Without a limit it only adds up counts and saves them
// later.
type meter struct {
	store       *store.Store
	multiServer bool // other servers count too
	mu          sync.Mutex
	users       map[loci.ID]*monthUsage
}

// monthUsage is the usage of one user in a month.
type monthUsage struct {
	mu       sync.Mutex
	month    string
	limit    int64 // of the user's plan
	loaded   bool  // used is known, and no other server has added to it since
	used     int64 // in the store, including the rest of the reserved block
	reserved int64 // the rest of the reserved block; below zero: not yet saved

	lastUsed time.Time // the last call that needed it, by the machine's clock
	evicted  bool      // removed from the meter: look it up again
}

// Bounds of the block that is reserved ahead: a hundredth of the limit between them. A killed server leaves it counted.
const (
	minReservation = 100
	maxReservation = 1000
)

// idleTTL is how long a usage stays in memory after the last call of its user.
const idleTTL = 5 * time.Minute

// lockUser returns the usage of a user, locked.
func (m *meter) lockUser(userID loci.ID) *monthUsage {
	for {
		m.mu.Lock()
		u := m.users[userID]
		if u == nil {
			u = &monthUsage{}
			m.users[userID] = u
		}
		m.mu.Unlock()
		u.mu.Lock()
		if !u.evicted {
			u.lastUsed = time.Now()
			return u
		}
		u.mu.Unlock()
	}
}

// take counts one operation, if it counts, and returns the state of the quota.
func (m *meter) take(ctx context.Context, actor *identity.Actor, now time.Time, counts bool) (*op.Quota, error) {
	u, ends, err := m.lockMonth(ctx, actor, now)
	defer u.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var refused error
	isLimited := u.limit < loci.Unlimited
	if counts && isLimited && u.reserved == 0 {
		if err := m.reserve(ctx, actor.UserID, u); err != nil {
			return nil, err
		}
	}
	switch {
	case counts && isLimited && u.reserved <= 0:
		refused = &loci.Error{Code: loci.CodeQuotaExceeded, RetryAfter: ends.Sub(now), Message: fmt.Sprintf(
			"The %d operations a month of your plan %s are used up until %s UTC: wait until then, or change the plan.",
			u.limit, actor.Plan.Name, ends.Format("2006-01-02 15:04"))}
	case counts:
		u.reserved--
	}
	return &op.Quota{Limit: u.limit, Remaining: max(0, u.limit-(u.used-u.reserved)),
		Reset: ends.Sub(now)}, refused
}

// lockMonth returns the usage of a user in the present month, locked, and when the month ends. If the month or the
// limit has changed, it saves the count of the old one. It reads the count of all servers where that is unknown.
func (m *meter) lockMonth(ctx context.Context, actor *identity.Actor, now time.Time) (*monthUsage, time.Time, error) {
	u := m.lockUser(actor.UserID)
	month, ends := identity.Month(now), identity.MonthEnd(now)
	if limit := actor.Plan.Operations; u.month != month || u.limit != limit {
		if err := m.flush(ctx, actor.UserID, u); err != nil {
			return u, ends, err
		}
		u.month, u.limit, u.loaded = month, limit, false
	}
	return u, ends, m.load(ctx, actor.UserID, u)
}

func (m *meter) load(ctx context.Context, userID loci.ID, u *monthUsage) error {
	if u.loaded {
		return nil
	}
	used, err := store.SystemRead(ctx, m.store, "read the used operations", func(t *store.SystemTx) (int64, error) {
		return t.UsedOperations(userID, u.month)
	})
	if err == nil {
		u.used, u.loaded = used, true
	}
	return err
}

// reserve reserves a block: a part of what remains, so that several processes reach the limit together.
func (m *meter) reserve(ctx context.Context, userID loci.ID, u *monthUsage) error {
	n := max(1, min(maxReservation, max(minReservation, u.limit/100), (u.limit-u.used)/10))
	var got int64
	used, err := store.System(ctx, m.store, "reserve operations", func(t *store.SystemTx) (used int64, err error) {
		got, used, err = t.ReserveOperations(userID, u.month, n, u.limit)
		return used, err
	})
	if err == nil {
		u.used, u.reserved = used, got
	}
	return err
}

// flush writes the exact count to the store.
func (m *meter) flush(ctx context.Context, userID loci.ID, u *monthUsage) error {
	if u.reserved == 0 {
		return nil
	}
	used, err := store.System(ctx, m.store, "save the used operations",
		func(t *store.SystemTx) (used int64, err error) {
			if u.reserved > 0 {
				return u.used - u.reserved, t.ReleaseOperations(userID, u.month, u.reserved)
			}
			_, used, err = t.ReserveOperations(userID, u.month, -u.reserved, loci.Unlimited)
			return used, err
		})
	if err == nil {
		u.used, u.reserved = used, 0
	}
	return err
}

// snapshot returns the cached usages.
func (m *meter) snapshot() map[loci.ID]*monthUsage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.users)
}

// save writes unreserved counts and evicts users whose last call was before
// idle. Counts of other servers are read with the next call.
func (m *meter) save(ctx context.Context, idle time.Time) error {
	for id, u := range m.snapshot() {
		u.mu.Lock()
		var err error
		ends := u.lastUsed.Before(idle)
		if u.reserved < 0 || ends {
			err = m.flush(ctx, id, u)
		}
		if u.loaded = u.loaded && !m.multiServer; ends && err == nil {
			m.evict(id, u)
		}
		u.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// evict removes a flushed usage. The caller holds its lock.
func (m *meter) evict(userID loci.ID, u *monthUsage) {
	u.evicted = true
	m.mu.Lock()
	delete(m.users, userID)
	m.mu.Unlock()
}

// releaseReservations releases the unused blocks when the meter closes.
func (m *meter) releaseReservations() {
	for id, u := range m.snapshot() {
		u.mu.Lock()
		_ = m.flush(context.Background(), id, u) // a lost block makes the count higher, never lower
		u.mu.Unlock()
	}
}

// invalidate makes the next call read the counts of other servers: a query for the count must be exact.
func (m *meter) invalidate(userID loci.ID) {
	u := m.lockUser(userID)
	defer u.mu.Unlock()
	u.loaded = u.loaded && !m.multiServer
}

// Used returns how many operations of the month the actor has used, and when the month ends.
func (g *Gate) Used(ctx context.Context, actor *identity.Actor) (used int64, ends time.Time, err error) {
	g.meter.invalidate(actor.UserID)
	u, ends, err := g.meter.lockMonth(ctx, actor, g.o.Clock())
	defer u.mu.Unlock()
	return u.used - u.reserved, ends, err
}
