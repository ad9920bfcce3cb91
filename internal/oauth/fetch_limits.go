package oauth

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
)

// maxFetches is the number of documents that are fetched at once. A quarter of them is denied to each network.
const maxFetches = 8

// hostFailures is how many times the limit of one network may fail at a host, so that no network uses it up alone.
const hostFailures = 3

// fetchLimits bound what strangers make this server fetch: by the network that asks, and by the host that is asked.
type fetchLimits struct {
	networks *limit.Attempts[limit.Key]  // of fetches
	hosts    *limit.Attempts[limit.Key]  // of fetches that failed
	slots    *limit.Semaphore[limit.Key] // of networks
	busy     *limit.Semaphore[limit.Key] // hosts: each is asked for one document at a time
}

// newFetchLimits returns limits of a number of fetches of a network in 15 minutes; 0 is any number.
func newFetchLimits(clock loci.Clock, most int) *fetchLimits {
	return &fetchLimits{
		networks: limit.NewAttempts[limit.Key](clock, most, "fetches of a network",
			"Your network made this server fetch the descriptions of too many programs."),
		hosts: limit.NewAttempts[limit.Key](clock, hostFailures*most, "failures of a host",
			"The host of the program's description failed to show too many descriptions."),
		slots: limit.NewSlots[limit.Key](maxFetches),
		busy: limit.NewSemaphore[limit.Key](limit.Bounds{PerKey: 1, Refusal: limit.Refusal{Name: "fetches from a host",
			Code: loci.CodeRateLimited, RetryAfter: documentTimeout,
			Message: "This server already fetches another program's description from the same host."}}),
	}
}

// acquire allows a network one fetch from a host. The caller calls release with its success. A host that failed too
// often still shows a document that is known, so that nobody shuts a program out by asking for others.
func (l *fetchLimits) acquire(ctx context.Context, network, host limit.Key,
	known bool) (release func(ok bool), err error) {
	leave, err := l.busy.TryAcquire(host, 1)
	if err != nil {
		return nil, err
	}
	undo, forgive, err := l.count(network, host, known)
	if err != nil {
		leave()
		return nil, err
	}
	free, err := l.slots.Acquire(ctx, 0, network, 1)
	if err != nil {
		undo()
		leave()
		return nil, loci.NewError(loci.CodeUnavailable) // the fetch would be too late
	}
	return func(ok bool) {
		if ok {
			forgive()
		}
		free()
		leave()
	}, nil
}

// count counts a fetch as failed. Undo forgets it, and forgive forgets its failure.
func (l *fetchLimits) count(network, host limit.Key, known bool) (undo, forgive func(), err error) {
	release, err := l.networks.Take([]limit.Key{network})
	if err != nil {
		return nil, nil, err
	}
	forgive = func() {}
	if !known {
		if forgive, err = l.hosts.Take([]limit.Key{host}); err != nil {
			release()
			return nil, nil, err
		}
	}
	return func() { release(); forgive() }, forgive, nil
}
