package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// heartbeatInterval is that of the server's default settings.
const heartbeatInterval = 20 * time.Second

// maxSoakSlowdown bounds the median latency of calls beside streams over that without them.
const maxSoakSlowdown = 1.5

// idleSoak are idle streams beside the load of a soak. They open after a sixth of its time.
type idleSoak struct {
	mu         sync.Mutex
	opened     time.Time
	heartbeats []int // of each stream
	conns      []*conn
	ended      bool
	errs       []error
	latencies  [2][]float64 // milliseconds of calls, without streams and with them
}

// open opens n streams, and reads them until close.
func (i *idleSoak) open(p *process, at *fixture, n int) error {
	keys, err := p.keys(at, (n+streamsOfAKey-1)/streamsOfAKey)
	if err != nil {
		return err
	}
	for stream := range n {
		w, err := p.listen(keys[stream/streamsOfAKey])
		if err != nil {
			return err
		}
		i.mu.Lock()
		i.heartbeats, i.conns = append(i.heartbeats, 0), append(i.conns, w)
		i.mu.Unlock()
		go i.read(stream, w)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.opened = time.Now()
	return nil
}

func (i *idleSoak) read(stream int, w *conn) {
	for {
		err := waitForLine(w.in, "event: heartbeat")
		i.mu.Lock()
		switch {
		case err == nil:
			i.heartbeats[stream]++
		case !i.ended:
			i.errs = append(i.errs, err)
		}
		i.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// observe notes the latency of a call.
func (i *idleSoak) observe(milliseconds float64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := 0
	if len(i.conns) > 0 {
		n = 1
	}
	i.latencies[n] = append(i.latencies[n], milliseconds)
}

// close closes the streams, and returns an error if one of them ended or lacked heartbeats, or if calls were slower.
func (i *idleSoak) close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
	for _, w := range i.conns {
		w.Close()
	}
	if len(i.conns) == 0 {
		return nil
	}
	want := int(time.Since(i.opened)/heartbeatInterval) - 1
	before, beside := quantile(i.latencies[0], .5), quantile(i.latencies[1], .5)
	fmt.Printf("soak: %d streams with at least %d heartbeats, want %d; %d ended; calls %.2f ms without them, "+
		"%.2f beside them\n", len(i.conns), slices.Min(i.heartbeats), want, len(i.errs), before, beside)
	switch {
	case len(i.errs) > 0:
		return fmt.Errorf("soak: %d streams ended, the first with: %w", len(i.errs), i.errs[0])
	case slices.Min(i.heartbeats) < want:
		return fmt.Errorf("soak: a stream had %d heartbeats, want %d", slices.Min(i.heartbeats), want)
	case beside > before*maxSoakSlowdown:
		return fmt.Errorf("soak: calls beside the streams take %.2f times as long, at most %.1f", beside/before,
			maxSoakSlowdown)
	}
	return nil
}
