package oauth

import (
	"context"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/attempt"
	"github.com/loci-memory/loci/internal/sqldb/fairqueue"
)

// maxFetches is the number of documents that are fetched at once. A quarter of them is denied to each network.
const maxFetches = 8

// hostFailures is how many times the limit of one network may fail at a host, so that no network uses it up alone.
const hostFailures = 3

// fetchLimits bound what strangers make this server fetch: by the network that asks, and by the host that is asked.
type fetchLimits struct {
	networks *attempt.Limiter     // of fetches
	hosts    *attempt.Limiter     // of fetches that failed
	slots    *fairqueue.Semaphore // of networks

	mu   sync.Mutex
	busy map[string]bool // hosts of the fetches under way
}

// newFetchLimits returns limits of a number of fetches of a network in 15 minutes; 0 is any number.
func newFetchLimits(clock loci.Clock, limit int) *fetchLimits {
	return &fetchLimits{
		networks: attempt.NewLimiter(clock, limit,
			"Your network made this server fetch the descriptions of too many programs."),
		hosts: attempt.NewLimiter(clock, hostFailures*limit,
			"The host of the program's description failed to show too many descriptions."),
		slots: fairqueue.NewSemaphore(maxFetches), busy: map[string]bool{},
	}
}

// acquire allows a network one fetch from a host. The caller calls release with its success. A host that failed too
// often still shows a document that is known, so that nobody shuts a program out by asking for others.
func (l *fetchLimits) acquire(ctx context.Context, network, host string, known bool) (release func(ok bool),
	err error) {
	if err := l.enter(host); err != nil {
		return nil, err
	}
	undo, forgive, err := l.count(network, host, known)
	if err != nil {
		l.leave(host)
		return nil, err
	}
	user := "network " + network // never empty, which would have priority
	if err := l.wait(ctx, user); err != nil {
		undo()
		l.leave(host)
		return nil, err
	}
	return func(ok bool) {
		if ok {
			forgive()
		}
		l.slots.Release(user)
		l.leave(host)
	}, nil
}

// enter marks a host as busy. It is asked for one document at a time.
func (l *fetchLimits) enter(host string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[host] {
		return &loci.Error{Code: loci.CodeRateLimited, RetryAfter: documentTimeout,
			Message: "This server already fetches another program's description from the same host."}
	}
	l.busy[host] = true
	return nil
}

func (l *fetchLimits) leave(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, host)
}

// count counts a fetch as failed. Undo forgets it, and forgive forgets its failure.
func (l *fetchLimits) count(network, host string, known bool) (undo, forgive func(), err error) {
	release, err := l.networks.Attempt([]attempt.Key{{Network: network}})
	if err != nil {
		return nil, nil, err
	}
	forgive = func() {}
	if !known {
		if forgive, err = l.hosts.Attempt([]attempt.Key{{Network: host}}); err != nil {
			release()
			return nil, nil, err
		}
	}
	return func() { release(); forgive() }, forgive, nil
}

// wait takes a slot.
func (l *fetchLimits) wait(ctx context.Context, user string) error {
	w := l.slots.Acquire(user)
	if w == nil {
		return nil
	}
	select {
	case <-w.Granted:
		return nil
	case <-ctx.Done():
		l.slots.Cancel(user, w)
		return loci.NewError(loci.CodeUnavailable)
	}
}
