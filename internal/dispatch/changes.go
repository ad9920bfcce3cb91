package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// A ChangeSource reads the numbers of changes of records.
type ChangeSource interface {
	// Last returns the numbers of the newest changes, at most limit of them.
	Last(ctx context.Context, limit int) ([]int64, error)
	// After returns the numbers of the changes after one, and those among missing.
	After(ctx context.Context, number int64, missing []int64) ([]int64, error)
	// Watched returns those of the changes that are in workspaces of the users, by user.
	Watched(ctx context.Context, numbers []int64, users []loci.ID) (map[loci.ID][]int64, error)
	// Ended returns those of the credentials that have ended.
	Ended(ctx context.Context, credentials []loci.ID) ([]loci.ID, error)
}

const (
	// gatherTime is how long a round waits for further changes.
	gatherTime = 100 * time.Millisecond
	// maxMissing bounds the numbers that a look expects, and missingTime how long: a transaction with a lower number
	// commits later, or was rolled back.
	maxMissing, missingTime = 8192, 30 * time.Second
	// maxPending is the number of changes that a stream may be behind.
	maxPending = 4096
)

// Changes wakes the streams of account.events.
type Changes struct {
	source ChangeSource

	// Wake starts a round of Look soon. It is set before the first use.
	Wake func()

	look sync.Mutex // held by a look, before mu

	mu      sync.Mutex
	streams map[*ChangeStream]bool
	last    int64               // the highest number that was seen
	missing map[int64]time.Time // numbers below it that were not seen, with the time of the first look without them
	checked time.Time           // when the credentials were checked
}

// NewChanges returns the changes of a source, without streams.
func NewChanges(s ChangeSource) *Changes {
	return &Changes{source: s, Wake: func() {}, streams: map[*ChangeStream]bool{}}
}

// A ChangeStream is one stream of a credential.
type ChangeStream struct {
	signals
	user, credential loci.ID
	pending          []int64 // with the lock of Changes
	lost             bool    // there were too many
	Close            func()  // removes the stream; it may be called more than once
	changes          *Changes
}

// Subscribe adds a stream of a user with a credential. It gets the changes that are committed from now on.
func (c *Changes) Subscribe(ctx context.Context, user, credential loci.ID) (*ChangeStream, error) {
	c.look.Lock()
	defer c.look.Unlock()
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	s := &ChangeStream{signals: newSignals(), user: user, credential: credential, changes: c}
	s.Close = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams, s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams[s] = true
	return s, nil
}

// Announce starts a round soon: this process has changed something.
func (c *Changes) Announce(struct{}) {
	if c.Streams() > 0 {
		c.Wake()
	}
}

// Recheck starts a round that checks the credentials.
func (c *Changes) Recheck() {
	c.mu.Lock()
	c.checked = time.Time{}
	c.mu.Unlock()
	c.Announce(struct{}{})
}

// Streams returns the number of streams.
func (c *Changes) Streams() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}

// Look does one round: it finds the new changes and wakes the streams. Once in an interval it ends those whose
// credential has ended.
func (c *Changes) Look(ctx context.Context) error {
	if c.Streams() == 0 || !contextio.Sleep(ctx, gatherTime) {
		return nil
	}
	c.look.Lock()
	defer c.look.Unlock()
	return errors.Join(c.read(ctx), c.check(ctx))
}

// read reads the new changes. Without streams it only finds the last one.
func (c *Changes) read(ctx context.Context) error {
	if c.Streams() == 0 {
		numbers, err := c.source.Last(ctx, maxMissing)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.missing, c.last = map[int64]time.Time{}, 0
		if len(numbers) > 0 {
			c.last = max(0, numbers[len(numbers)-1]-maxMissing)
		}
		c.note(numbers)
		return nil
	}
	c.mu.Lock()
	last, missing, users := c.last, slices.Collect(maps.Keys(c.missing)), map[loci.ID]bool{}
	for s := range c.streams {
		users[s.user] = true
	}
	c.mu.Unlock()
	var watched map[loci.ID][]int64
	numbers, err := c.source.After(ctx, last, missing)
	if err == nil && len(numbers) > 0 {
		watched, err = c.source.Watched(ctx, numbers, slices.Collect(maps.Keys(users)))
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(numbers)
	for s := range c.streams {
		s.add(watched[s.user])
	}
	return nil
}

// note notes which numbers were seen, in ascending order.
func (c *Changes) note(numbers []int64) {
	now := time.Now()
	for _, n := range numbers {
		for gap := max(c.last+1, n-maxMissing); gap < n; gap++ {
			c.missing[gap] = now
		}
		delete(c.missing, n)
		c.last = max(c.last, n)
	}
	maps.DeleteFunc(c.missing, func(n int64, since time.Time) bool {
		return n < c.last-maxMissing || now.Sub(since) > missingTime
	})
}

// check ends the streams whose credentials have ended.
func (c *Changes) check(ctx context.Context) error {
	c.mu.Lock()
	of := map[loci.ID][]*ChangeStream{}
	if now := time.Now(); now.Sub(c.checked) >= LookInterval*9/10 {
		c.checked = now
		for s := range c.streams {
			of[s.credential] = append(of[s.credential], s)
		}
	}
	c.mu.Unlock()
	if len(of) == 0 {
		return nil
	}
	ended, err := c.source.Ended(ctx, slices.Collect(maps.Keys(of)))
	if err != nil {
		c.mu.Lock()
		c.checked = time.Time{} // they are checked again in the next round
		c.mu.Unlock()
	}
	for _, id := range ended {
		for _, s := range of[id] {
			s.endOnce()
		}
	}
	return err
}

// add adds changes. A stream that is too far behind loses its place: it is woken, and Take reports it.
func (s *ChangeStream) add(numbers []int64) {
	if len(numbers) == 0 {
		return
	}
	if s.lost = s.lost || len(s.pending)+len(numbers) > maxPending; s.lost {
		s.pending = nil
	} else {
		s.pending = append(s.pending, numbers...)
	}
	s.signal()
}

// Take returns the numbers of the changes since the last call. It returns false if the stream has fallen behind by more
// than maxPending.
func (s *ChangeStream) Take() (numbers []int64, ok bool) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	numbers, s.pending = s.pending, nil
	return numbers, !s.lost
}
