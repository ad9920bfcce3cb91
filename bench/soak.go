package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/bench/corpus"
)

// maxSoakGrowth bounds the growth of anonymous memory from the second third of a soak to the last one.
const maxSoakGrowth = 1.1

// A soak is a long steady load on one server. Memory, files and latencies are sampled, to show unbounded growth.
type soak struct {
	*bench
	duration          time.Duration
	rate              int
	clients           int
	memoriesPerClient int // memories of a client; beyond that it deletes one before it creates another

	server  *process
	fixture *fixture
	streams int // idle streams beside the load
	idle    idleSoak
	start   time.Time

	mu        sync.Mutex
	latencies map[string][]float64 // milliseconds of the running minute, by kind
	calls     int
	failed    int
	lastErr   error
	samples   []soakSample
}

// A soakSample holds the resources of the server at one moment.
type soakSample struct {
	at                               time.Duration
	anonymous, mapped, database, wal float64 // MB
	files                            int
}

// runSoak loads a server for a while and fails if its memory grows.
func runSoak(ctx context.Context, args []string) error {
	s := &soak{bench: &bench{ctx: ctx, drivers: []string{"mattn"}}, latencies: map[string][]float64{}}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&s.duration, "for", 30*time.Minute, "how long the load lasts")
	flags.IntVar(&s.rate, "rate", 60, "operations a second")
	flags.IntVar(&s.clients, "clients", 8, "connections")
	flags.IntVar(&s.memoriesPerClient, "keep", 400,
		"memories that a client keeps: with many, the caches fill over hours")
	flags.IntVar(&s.streams, "streams", 2000, "idle streams of agents beside the load")
	flags.StringVar(&s.drivers[0], "driver", s.drivers[0], "driver of SQLite: mattn or modernc")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.duration < 30*time.Second || s.rate < 1 || s.clients < 1 || s.memoriesPerClient < 20 {
		return errors.New("soak: -for must be at least 30s, -rate and -clients at least 1, -keep at least 20")
	}
	if err := s.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(s.scratch)
	if err := s.build(); err != nil {
		return err
	}
	if err := s.startServer(); err != nil {
		return err
	}
	defer s.server.stop()
	time.AfterFunc(s.duration/6, func() {
		if err := s.idle.open(s.server, s.fixture, s.streams); err != nil {
			s.record("stream", 0, err)
		}
	})
	s.runLoad()
	return errors.Join(s.idle.close(), s.verdict())
}

// prepare makes the folders and reads the texts.
func (b *bench) prepare() (err error) {
	b.cache = filepath.Join(os.TempDir(), "loci-bench")
	if err := os.MkdirAll(b.cache, 0o700); err != nil {
		return err
	}
	if b.scratch, err = os.MkdirTemp(b.cache, "run-"); err != nil {
		return err
	}
	b.corpus, err = corpus.Read("../shared/data/retrieval")
	return err
}

// startServer starts the server with its own embedder, as it is by default.
func (s *soak) startServer() (err error) {
	s.fixture = &fixture{Dir: filepath.Join(s.scratch, "soak"), Keys: map[string]string{}, embedder: []string{}}
	if err := s.createAccounts(s.fixture); err != nil {
		return err
	}
	s.server, err = s.serve(s.drivers[0], s.fixture, false)
	return err
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
	tick := time.NewTicker(time.Second / time.Duration(s.rate))
	defer tick.Stop()
	every := min(10*time.Second, s.duration/12)
	sampleTick, minute := time.NewTicker(every), time.NewTicker(time.Minute)
	defer sampleTick.Stop()
	defer minute.Stop()
	fmt.Println("minute  calls  failed  create p50/p99  search p50/p99 ms  anonymous  mapped  database  log MB  files")
	for n := 0; ; {
		select {
		case <-tick.C:
			select {
			case turns <- n:
				n++
			default:
			}
		case <-sampleTick.C:
			s.sample()
		case <-minute.C:
			s.printMinute()
		case <-ctx.Done():
			s.sample()
			s.printMinute()
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
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	for n := range turns {
		if w == nil {
			var err error
			if w, err = s.server.dial(); err != nil {
				s.record("dial", 0, err)
				continue
			}
		}
		kind, r := s.request(n, own)
		start := time.Now()
		body, err := w.do(r)
		s.record(kind, time.Since(start), err)
		switch {
		case err != nil:
			w.Close()
			w = nil
		case kind == "create":
			own = append(own, firstID(body))
		case kind == "delete":
			own = own[1:]
		}
	}
}

// request returns the request with a number: a usual one of people and agents, in usual proportions.
func (s *soak) request(n int, own []string) (kind string, r request) {
	rng := rand.New(rand.NewPCG(77, uint64(n)))
	key, pick := s.fixture.Key, rng.IntN(100)
	if len(own) < 10 {
		pick = 0
	}
	if len(own) >= s.memoriesPerClient && pick < 28 {
		pick = 99 // deletes
	}
	id := func() string { return own[rng.IntN(len(own))] }
	switch {
	case pick < 28:
		return "create", createRequest(s.fixture, s.corpus.Note(n))
	case pick < 58:
		query := s.corpus.Question(rng.IntN(1 << 20))
		if pick%2 == 0 {
			query = s.corpus.WordPair(rng.IntN(1 << 20))
		}
		return "search", searchInModeRequest(key, query, []string{"keyword", "semantic", "hybrid", "auto"}[rng.IntN(4)])
	case pick < 70:
		return "get", newRequest("GET", "/v1/memories/"+id(), key, nil)
	case pick < 78:
		return "list", newRequest("GET", "/v1/memories?limit=50", key, nil)
	case pick < 84:
		return "update", newRequest("PATCH", "/v1/memories/"+id(), key, map[string]any{"content": s.corpus.Prose(n)})
	case pick < 88:
		return "append", newRequest("POST", "/v1/memories/"+id()+"/append", key,
			map[string]any{"content": s.corpus.Prose(n)[:120]})
	case pick < 91:
		return "context", newRequest("GET", "/v1/memories/context", key, nil)
	case pick < 93:
		return "status", newRequest("GET", "/v1/status", key, nil)
	case pick < 94:
		return "similar", newRequest("GET", "/v1/memories/"+id()+"/similar", key, nil)
	}
	return "delete", newRequest("DELETE", "/v1/memories/"+own[0], key, nil)
}

func (s *soak) record(kind string, elapsed time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err != nil {
		s.failed, s.lastErr = s.failed+1, fmt.Errorf("%s: %w", kind, err)
		return
	}
	milliseconds := float64(elapsed.Microseconds()) / 1000
	s.latencies[kind] = append(s.latencies[kind], milliseconds)
	s.idle.observe(milliseconds)
}

// sample records the resources of the server.
func (s *soak) sample() {
	x := soakSample{at: time.Since(s.start)}
	rollup := readNumbers(fmt.Sprintf("/proc/%d/smaps_rollup", s.server.pid))
	x.anonymous = rollup["Anonymous:"] / 1024
	x.mapped = rollup["Rss:"]/1024 - x.anonymous
	x.database = fileMB(filepath.Join(s.fixture.Dir, "loci.db"))
	x.wal = fileMB(filepath.Join(s.fixture.Dir, "loci.db-wal"))
	if list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.server.pid)); err == nil {
		x.files = len(list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, x)
}

// readNumbers reads lines of a name and a number. An unreadable file has none.
func readNumbers(file string) map[string]float64 {
	text, _ := os.ReadFile(file)
	of := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			if n, err := strconv.ParseFloat(f[1], 64); err == nil {
				of[f[0]] = n
			}
		}
	}
	return of
}

func fileMB(file string) float64 {
	i, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return float64(i.Size()) / 1e6
}

// printMinute prints the minute that has ended.
func (s *soak) printMinute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var x soakSample
	if len(s.samples) > 0 {
		x = s.samples[len(s.samples)-1]
	}
	c, q := s.latencies["create"], s.latencies["search"]
	fmt.Printf("%6.1f %6d %7d %7.1f %7.1f %8.1f %8.1f %12.1f %7.1f %9.1f %7.1f %6d\n",
		time.Since(s.start).Minutes(), s.calls, s.failed, quantile(c, .5), quantile(c, .99), quantile(q, .5),
		quantile(q, .99), x.anonymous, x.mapped, x.database, x.wal, x.files)
	clear(s.latencies)
}

// verdict compares the last third with the second.
func (s *soak) verdict() error {
	second, third := s.meanOfThird(1), s.meanOfThird(2)
	ratio := third / cmp.Or(second, 1)
	fmt.Printf("soak: %d calls in %v, %d failed; anonymous memory %.1f MB in the second third, %.1f MB in the last: "+
		"%.3f (at most %.2f)\n",
		s.calls, time.Since(s.start).Round(time.Second), s.failed, second, third, ratio, maxSoakGrowth)
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case second == 0:
		return errors.New("soak: the kernel does not tell the memory of the server")
	case s.failed > 0:
		return fmt.Errorf("soak: %d calls failed, the last with: %w", s.failed, s.lastErr)
	case ratio > maxSoakGrowth:
		return errors.New("soak: the memory of the server grows without a bound")
	}
	return nil
}

// meanOfThird returns the mean of the anonymous memory in a third of the time.
func (s *soak) meanOfThird(n int) float64 {
	var sum float64
	in := slices.DeleteFunc(slices.Clone(s.samples), func(x soakSample) bool {
		return x.at < s.duration*time.Duration(n)/3 || x.at > s.duration*time.Duration(n+1)/3+time.Second
	})
	for _, x := range in {
		sum += x.anonymous
	}
	return sum / max(1, float64(len(in)))
}
