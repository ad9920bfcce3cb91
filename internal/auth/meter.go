package auth

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
)

// meter counts operations, per user and calendar month (UTC). Where the plan
// has a limit, it takes blocks from the store ahead, so that a read costs no
// write and the limit holds exactly; where it has none, it only adds up what
// it saves later.
type meter struct {
	store  *store.Store
	plan   loci.Plan
	clock  loci.Clock
	shared bool // other servers count too
	mu     sync.Mutex
	users  map[string]*account
}

// account is the month of one user.
type account struct {
	mu    sync.Mutex
	month string
	read  bool  // used is known, and nobody else has used more since
	used  int64 // in the store, with what is left of the block
	left  int64 // of the block that was taken ahead; below zero: not yet saved

	asked     time.Time // when a call last needed it, by the machine's clock
	forgotten bool      // it is no longer the user's account
}

// block is how many operations are taken ahead at most.
const block = 100

// keepIdle is how long an account stays in memory after the last call of its user.
const keepIdle = 5 * time.Minute

// account returns the account of a user, locked.
func (m *meter) account(userID string) *account {
	for {
		m.mu.Lock()
		a := m.users[userID]
		if a == nil {
			a = &account{}
			m.users[userID] = a
		}
		m.mu.Unlock()
		a.mu.Lock()
		if !a.forgotten {
			a.asked = time.Now()
			return a
		}
		a.mu.Unlock()
	}
}

// take counts one operation, if it counts, and returns the state of the quota.
func (m *meter) take(ctx context.Context, userID string, now time.Time, counts bool) (*op.Quota, error) {
	a := m.account(userID)
	defer a.mu.Unlock()
	month, ends := window(now)
	if err := m.turn(ctx, userID, a, month); err != nil {
		return nil, err
	}
	var refused error
	if counts {
		switch {
		case m.plan.Operations >= loci.Unlimited:
			a.left--
		default:
			if a.left == 0 {
				if err := m.lease(ctx, userID, a); err != nil {
					return nil, err
				}
			}
			if a.left > 0 {
				a.left--
			} else {
				refused = &loci.Error{Code: loci.QuotaExceeded, Message: "The operations of this month are used up: wait for Retry-After seconds, or change the plan.", Retry: ends.Sub(now)}
			}
		}
	}
	return &op.Quota{Limit: m.plan.Operations, Remaining: max(0, m.plan.Operations-(a.used-a.left)), Reset: ends.Sub(now)}, refused
}

// turn brings an account into the month: what belongs to the old one is saved, and
// what all servers have used is read, where it is not known.
func (m *meter) turn(ctx context.Context, userID string, a *account, month string) error {
	if a.month != month {
		if err := m.settle(ctx, userID, a); err != nil {
			return err
		}
		a.month, a.read = month, false
	}
	if a.read {
		return nil
	}
	used, err := store.SystemRead(ctx, m.store, "read the used operations", func(t *store.SystemTx) (int64, error) {
		return t.UsedOperations(userID, month)
	})
	if err == nil {
		a.used, a.read = used, true
	}
	return err
}

// lease takes a block ahead: a part of what remains, so that several processes
// come to the limit together.
func (m *meter) lease(ctx context.Context, userID string, a *account) error {
	n := max(1, min(block, (m.plan.Operations-a.used)/10))
	var got int64
	used, err := store.System(ctx, m.store, "take operations ahead", func(t *store.SystemTx) (used int64, err error) {
		got, used, err = t.LeaseOperations(userID, a.month, n, m.plan.Operations)
		return used, err
	})
	if err == nil {
		a.used, a.left = used, got
	}
	return err
}

// settle makes the store's count the true one.
func (m *meter) settle(ctx context.Context, userID string, a *account) error {
	if a.left == 0 {
		return nil
	}
	used, err := store.System(ctx, m.store, "settle the used operations", func(t *store.SystemTx) (used int64, err error) {
		if a.left > 0 {
			return a.used - a.left, t.ReturnOperations(userID, a.month, a.left)
		}
		_, used, err = t.LeaseOperations(userID, a.month, -a.left, loci.Unlimited)
		return used, err
	})
	if err == nil {
		a.used, a.left = used, 0
	}
	return err
}

// accounts returns the accounts that are known now.
func (m *meter) accounts() map[string]*account {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.users)
}

// save writes down what was counted without a block, and forgets users whose last call was before idle. What
// others have counted meanwhile is read with the next call.
func (m *meter) save(ctx context.Context, idle time.Time) error {
	for id, a := range m.accounts() {
		a.mu.Lock()
		var err error
		ends := a.asked.Before(idle)
		if a.left < 0 || ends {
			err = m.settle(ctx, id, a)
		}
		if a.read = a.read && !m.shared; ends && err == nil {
			m.forget(id, a)
		}
		a.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// forget drops an account that is settled. The caller holds its lock.
func (m *meter) forget(userID string, a *account) {
	a.forgotten = true
	m.mu.Lock()
	delete(m.users, userID)
	m.mu.Unlock()
}

// giveBack returns the blocks that are not used up; the meter is at its end.
func (m *meter) giveBack() {
	for id, a := range m.accounts() {
		a.mu.Lock()
		_ = m.settle(context.Background(), id, a) // a block that is lost makes the count higher, never lower
		a.mu.Unlock()
	}
}

// doubt has what others have counted read anew: who asks for the count wants it as it is.
func (m *meter) doubt(userID string) {
	a := m.account(userID)
	defer a.mu.Unlock()
	a.read = a.read && !m.shared
}

// Used returns how many operations of the month a user has used, and when the
// month ends.
func (g *Gate) Used(ctx context.Context, userID string) (used int64, ends time.Time, err error) {
	now := g.o.Clock()
	g.meter.doubt(userID)
	q, err := g.meter.take(ctx, userID, now, false)
	if err != nil {
		return 0, ends, err
	}
	_, ends = window(now)
	return q.Limit - q.Remaining, ends, nil
}

// window returns the name of a month and when it ends.
func window(now time.Time) (month string, ends time.Time) {
	now = now.UTC()
	return now.Format("2006-01"), time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}
