package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// maxSoakGrowth bounds the growth of median anonymous memory from the second third of a soak to the last one.
// Memories and caches fill for some minutes: the growth of a shorter soak is shown, not judged.
const (
	maxSoakGrowth = 1.1
	maxSoakMemory = 450 // MB, of which the streams have 70
	minJudgedSoak = 10 * time.Minute
)

// A soak is a long steady load on one server. Memory, files and latencies are sampled, to show unbounded growth.
type soak struct {
	*bench
	duration                                 time.Duration
	rate, clients, keep, streams, workspaces int

	server *process
	at     *fixture
	start  time.Time

	mu        sync.Mutex
	latencies map[string][]float64 // microseconds of the present sample, by kind
	calls     int
	errs      []error
	samples   []float64 // anonymous memory in MB, at equal distances
	ended     bool
}

// runSoak loads a server for a while and fails if its memory grows.
func runSoak(ctx context.Context, args []string) error {
	s := &soak{bench: &bench{ctx: ctx, drivers: []string{"mattn"}}, latencies: map[string][]float64{}}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&s.duration, "for", 30*time.Minute, "how long the load lasts")
	flags.IntVar(&s.rate, "rate", 60, "operations a second")
	flags.IntVar(&s.clients, "clients", 8, "connections")
	flags.IntVar(&s.keep, "keep", 400, "memories that a client keeps: it deletes one before it creates another")
	flags.IntVar(&s.streams, "streams", 2000, "idle streams of agents beside the load")
	flags.IntVar(&s.workspaces, "workspaces", 2000, "workspaces of 50 memories each, all of which some searches read")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.memories = s.workspaces * memoriesEach / 2
	if s.duration < 10*time.Second || s.rate < 1 || s.clients < 1 || s.keep < 20 {
		return errors.New("soak: -for must be at least 10s, -rate and -clients at least 1, -keep at least 20")
	}
	return attempt(func() {
		defer s.cleanUp()
		s.prepare()
		defer s.endRow()
		d := s.crowd()
		if s.workspaces == 0 {
			d = dataset{name: "empty", fill: func(*fixture, *process) {}}
		}
		// Without workspaces the server has its own embedder, as it is by default.
		if s.at = s.copyFixture(d, s.drivers[0]); s.workspaces == 0 {
			s.at.embedder = nil
		}
		keys := s.newListeners(s.at, s.streams)
		s.server = s.serve(s.at, s.drivers[0])
		s.openStreams(keys)
		s.runLoad()
		check(s.verdict())
	})
}

// openStreams opens the idle streams. One that ends during the soak is an error.
func (s *soak) openStreams(keys []string) {
	for i := range s.streams {
		w := s.server.listen(keys[i/streamsOfAUser])
		go func() {
			err := w.waitForLine("event: close") // which a running server does not send
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.ended {
				s.errs = append(s.errs, fmt.Errorf("an idle stream ended: %w", err))
			}
		}()
	}
}

// runLoad makes the clients work at the rate until the time is over, and samples.
func (s *soak) runLoad() {
	s.start = time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, s.duration)
	defer cancel()
	turns := make(chan int, 4*s.rate) // bounds the backlog of a slow server
	var all sync.WaitGroup
	for range s.clients {
		all.Go(func() { s.runClient(turns) })
	}
	tick, sample := time.NewTicker(time.Second/time.Duration(s.rate)), time.NewTicker(s.duration/31)
	fmt.Println("minute  calls  failed  create p50/p99  search p50/p99 ms  memory MB  files")
	for n := 0; ; {
		select {
		case <-tick.C:
			select {
			case turns <- n:
				n++
			default:
			}
		case <-sample.C:
			s.sample()
		case <-ctx.Done():
			close(turns)
			all.Wait()
			return
		}
	}
}

// runClient sends one request after another over one connection, and reconnects after a failure.
func (s *soak) runClient(turns <-chan int) {
	var w *conn
	var own []string
	for n := range turns {
		var body []byte
		var err error
		kind, r := s.request(n, own)
		start := time.Now()
		if w == nil {
			w, err = s.server.dial()
		}
		if err == nil {
			body, err = w.do(r)
		}
		s.mu.Lock()
		s.calls++
		s.latencies[kind] = append(s.latencies[kind], microseconds(time.Since(start)))
		if err != nil {
			w, s.errs = nil, append(s.errs, fmt.Errorf("%s: %w", kind, err))
			kind = "failure"
		}
		s.mu.Unlock()
		switch kind {
		case "create":
			own = append(own, firstID(body))
		case "delete":
			own = own[1:]
		}
	}
}

// request returns the request with a number: a usual one of people and agents, in usual proportions.
func (s *soak) request(n int, own []string) (kind string, r request) {
	rng := rand.New(rand.NewPCG(77, uint64(n)))
	key, pick := s.at.Keys["ann"], rng.IntN(100)
	switch {
	case len(own) < 10:
		pick = 0
	case len(own) >= s.keep && pick < 28:
		pick = 99 // deletes
	}
	if pick < 28 {
		return "create", createRequest(s.at, s.corpus.note(n))
	}
	memory := "/v1/memories/" + own[rng.IntN(len(own))]
	switch {
	case pick < 29 && s.workspaces > 0:
		return "search all", searchRequest(s.at.Keys["bob"], searchModes[rng.IntN(len(searchModes))],
			s.corpus.question(rng.IntN(1<<20)), 0)
	case pick < 58:
		query := s.corpus.question(rng.IntN(1 << 20))
		if pick%2 == 0 {
			query = s.corpus.wordPair(rng.IntN(1 << 20))
		}
		return "search", searchRequest(key, searchModes[rng.IntN(len(searchModes))], query, 0)
	case pick < 70:
		return "get", newRequest("GET", memory, key, nil)
	case pick < 78:
		return "list", newRequest("GET", "/v1/memories?limit=50", key, nil)
	case pick < 84:
		return "update", newRequest("PATCH", memory, key, map[string]any{"content": s.corpus.prose(n)})
	case pick < 88:
		return "append", newRequest("POST", memory+"/append", key, map[string]any{"content": s.corpus.prose(n)[:120]})
	case pick < 91:
		return "context", newRequest("GET", "/v1/memories/context", key, nil)
	case pick < 93:
		return "status", newRequest("GET", "/v1/status", key, nil)
	case pick < 94:
		return "similar", newRequest("GET", memory+"/similar", key, nil)
	}
	return "delete", newRequest("DELETE", "/v1/memories/"+own[0], key, nil)
}

// sample notes the memory of the server, and prints what was since the sample before.
func (s *soak) sample() {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.server.pid))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, s.server.anonymousMemory())
	c, q := s.latencies["create"], s.latencies["search"]
	fmt.Printf("%6.1f %6d %7d %7.1f %7.1f %8.1f %8.1f %12.1f %6d\n", time.Since(s.start).Minutes(), s.calls,
		len(s.errs), quantile(c, .5)/1000, quantile(c, .99)/1000, quantile(q, .5)/1000, quantile(q, .99)/1000,
		s.samples[len(s.samples)-1], len(files))
	clear(s.latencies)
}

// verdict compares the memory of the last third with that of the second.
func (s *soak) verdict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	n := len(s.samples) / 3
	second, third := quantile(s.samples[n:2*n], .5), quantile(s.samples[2*n:], .5)
	ratio := third / second
	fmt.Printf("soak: %d calls in %v beside %d streams, %d failed; anonymous memory %.1f MB in the second third, "+
		"%.1f MB in the last: %.3f (at most %.2f)\n", s.calls, s.duration, s.streams, len(s.errs),
		second, third, ratio, maxSoakGrowth)
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case len(s.errs) > 0:
		return fmt.Errorf("soak: %d calls or streams failed, the last with: %w", len(s.errs), s.errs[len(s.errs)-1])
	case s.duration < minJudgedSoak:
		fmt.Println("soak: too short to judge the growth:", minJudgedSoak, "are needed")
	case ratio > maxSoakGrowth:
		return errors.New("soak: the memory of the server grows without a bound")
	case third > maxSoakMemory:
		return fmt.Errorf("soak: the server has more than %d MB of memory", maxSoakMemory)
	}
	return nil
}
