package auth

import (
	"context"
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
	plan        identity.Plan
	clock       loci.Clock
	multiServer bool // other servers count too
	mu          sync.Mutex
	users       map[loci.ID]*monthUsage
}

// monthUsage is the usage of one user in a month.
type monthUsage struct {
	mu       sync.Mutex
	month    string
	loaded   bool  // used is known, and no other server has added to it since
	used     int64 // in the store, including the rest of the reserved block
	reserved int64 // the rest of the reserved block; below zero: not yet saved

	lastUsed time.Time // the last call that needed it, by the machine's clock
	evicted  bool      // removed from the meter: look it up again
}

// maxReservation is the largest block that is reserved ahead.
const maxReservation = 100

// idleTTL is how long a usage stays in memory after the last call of its user.
const idleTTL = 5 * time.Minute

// lockUser returns the usage of a user, locked.
func (m *meter) lockUser(userID loci.ID) *monthUsage {
	for {
		m.mu.Lock()
		a := m.users[userID]
		if a == nil {
			a = &monthUsage{}
			m.users[userID] = a
		}
		m.mu.Unlock()
		a.mu.Lock()
		if !a.evicted {
			a.lastUsed = time.Now()
			return a
		}
		a.mu.Unlock()
	}
}

// take counts one operation, if it counts, and returns the state of the quota.
func (m *meter) take(ctx context.Context, userID loci.ID, now time.Time, counts bool) (*op.Quota, error) {
	a := m.lockUser(userID)
	defer a.mu.Unlock()
	month, ends := now.UTC().Format("2006-01"), identity.MonthEnd(now)
	if err := m.rollMonth(ctx, userID, a, month); err != nil {
		return nil, err
	}
	var refused error
	isLimited := m.plan.Operations < loci.Unlimited
	if counts && isLimited && a.reserved == 0 {
		if err := m.reserve(ctx, userID, a); err != nil {
			return nil, err
		}
	}
	switch {
	case counts && isLimited && a.reserved <= 0:
		refused = &loci.Error{Code: loci.CodeQuotaExceeded, RetryAfter: ends.Sub(now),
			Message: "The operations of this month are used up: wait for Retry-After seconds, or change the plan."}
	case counts:
		a.reserved--
	}
	return &op.Quota{Limit: m.plan.Operations, Remaining: max(0, m.plan.Operations-(a.used-a.reserved)),
		Reset: ends.Sub(now)}, refused
}

// rollMonth moves a usage to the month. It saves the count of the old month,
// and reads the count of all servers where that is unknown.
func (m *meter) rollMonth(ctx context.Context, userID loci.ID, a *monthUsage, month string) error {
	if a.month != month {
		if err := m.flush(ctx, userID, a); err != nil {
			return err
		}
		a.month, a.loaded = month, false
	}
	if a.loaded {
		return nil
	}
	used, err := store.SystemRead(ctx, m.store, "read the used operations", func(t *store.SystemTx) (int64, error) {
		return t.UsedOperations(userID, month)
	})
	if err == nil {
		a.used, a.loaded = used, true
	}
	return err
}

// reserve reserves a block: a part of what remains, so that several processes reach the limit together.
func (m *meter) reserve(ctx context.Context, userID loci.ID, a *monthUsage) error {
	n := max(1, min(maxReservation, (m.plan.Operations-a.used)/10))
	var got int64
	used, err := store.System(ctx, m.store, "reserve operations", func(t *store.SystemTx) (used int64, err error) {
		got, used, err = t.ReserveOperations(userID, a.month, n, m.plan.Operations)
		return used, err
	})
	if err == nil {
		a.used, a.reserved = used, got
	}
	return err
}

// flush writes the exact count to the store.
func (m *meter) flush(ctx context.Context, userID loci.ID, a *monthUsage) error {
	if a.reserved == 0 {
		return nil
	}
	used, err := store.System(ctx, m.store, "save the used operations",
		func(t *store.SystemTx) (used int64, err error) {
			if a.reserved > 0 {
				return a.used - a.reserved, t.ReleaseOperations(userID, a.month, a.reserved)
			}
			_, used, err = t.ReserveOperations(userID, a.month, -a.reserved, loci.Unlimited)
			return used, err
		})
	if err == nil {
		a.used, a.reserved = used, 0
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
	for id, a := range m.snapshot() {
		a.mu.Lock()
		var err error
		ends := a.lastUsed.Before(idle)
		if a.reserved < 0 || ends {
			err = m.flush(ctx, id, a)
		}
		if a.loaded = a.loaded && !m.multiServer; ends && err == nil {
			m.evict(id, a)
		}
		a.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// evict removes a flushed usage. The caller holds its lock.
func (m *meter) evict(userID loci.ID, a *monthUsage) {
	a.evicted = true
	m.mu.Lock()
	delete(m.users, userID)
	m.mu.Unlock()
}

// returnReservations returns the unused blocks when the meter closes.
func (m *meter) returnReservations() {
	for id, a := range m.snapshot() {
		a.mu.Lock()
		_ = m.flush(context.Background(), id, a) // a lost block makes the count higher, never lower
		a.mu.Unlock()
	}
}

// invalidate makes the next call read the counts of other servers: a query for the count must be exact.
func (m *meter) invalidate(userID loci.ID) {
	a := m.lockUser(userID)
	defer a.mu.Unlock()
	a.loaded = a.loaded && !m.multiServer
}

// Used returns how many operations of the month a user has used, and when the month ends.
func (g *Gate) Used(ctx context.Context, userID loci.ID) (used int64, ends time.Time, err error) {
	now := g.o.Clock()
	g.meter.invalidate(userID)
	q, err := g.meter.take(ctx, userID, now, false)
	if err != nil {
		return 0, ends, err
	}
	return q.Limit - q.Remaining, identity.MonthEnd(now), nil
}
