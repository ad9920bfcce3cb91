package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/vector"
)

// The duration of a turn of ingest, and the pause of a reading client between two searches.
const (
	ingestDuration = 4 * time.Second
	thinkTime      = 100 * time.Millisecond
)

// ingest compares the throughput of the built-in model in a loop on one thread with that of a server. The server has a
// full embedding queue, without searches, and while clients search by keywords. The texts are the notes.
func (b *bench) ingest() error {
	from, err := b.fixture(fmt.Sprintf("notes-%d", b.memories/4), "", b.loader(b.memories/4, b.corpus.Note))
	if err != nil {
		return err
	}
	at, err := b.copyFixture(from, "ingest")
	if err != nil {
		return err
	}
	withoutEmbedder, err := b.copyFixture(from, "ingest-still")
	if err != nil {
		return err
	}
	at.embedder = []string{} // the built-in one
	sides := []benchSide{
		{"alone", b.measureEmbedder(embed.NewMiniLM())},
		{"server", b.measureIngest(at, noSearches)},
	}
	for _, c := range []searchLoad{{"busy", 0}, {"reading", thinkTime}} {
		sides = append(sides, benchSide{c.name, b.measureIngest(withoutEmbedder, c)},
			benchSide{c.name + " ingest", b.measureIngest(at, c)})
	}
	s, err := b.interleave("ingest", 1, sides...)
	if err != nil {
		return err
	}
	b.reportIngest(s)
	return nil
}

func (b *bench) reportIngest(s series) {
	b.report.add(s.ratioLine(line{Row: "ingest", What: "embedder alone, one thread, over the memories of a server " +
		"without searches", Unit: "us CPU", Threshold: .9, HigherIsBetter: true}, "server cpu", "alone cpu"))
	for _, c := range []struct {
		name, what string
		least      float64
	}{{"server", "nobody searches", .9}, {"reading ingest", "8 clients search who read for 100 ms", .9},
		{"busy ingest", "8 clients search without a pause", .9}} {
		l := s.ratioLine(line{Row: "ingest", What: "memories a second while " + c.what + ", over the embedder alone",
			Unit: "1/s", Threshold: c.least}, c.name+" rate", "alone rate")
		l.HigherIsBetter = true
		b.report.add(l)
	}
	for _, c := range []struct{ name, what string }{{"reading", "8 clients who read for 100 ms"},
		{"busy", "8 clients without a pause"}} {
		for _, p := range []string{"p50", "p99"} {
			threshold := map[string]float64{"p99": 1.5}[p]
			b.report.add(s.ratioLine(line{Row: "ingest", What: "search of " + c.what + ", " + p +
				" while memories are embedded, over without", Unit: "ms", Threshold: threshold}, c.name+" ingest "+p,
				c.name+" "+p))
		}
	}
}

// measureEmbedder embeds chunks in this process.
func (b *bench) measureEmbedder(m *embed.MiniLM) turnFunc {
	return func(turn int) (figures, error) {
		n := 0
		before, start := selfCPU(), time.Now()
		for ; time.Since(start) < ingestDuration; n++ {
			text := b.corpus.Note(turn*1000 + n)
			if _, err := m.Embed(b.ctx, vector.Chunks(text[:32], text, m)); err != nil {
				return nil, err
			}
		}
		return figures{"rate": float64(n) / time.Since(start).Seconds(),
			"cpu": (selfCPU() - before) / float64(n)}, nil
	}
}

// A searchLoad is a number of searching clients, with a pause after each response.
type searchLoad struct {
	name  string
	pause time.Duration
}

var noSearches searchLoad

// measureIngest starts a server, and measures how many memories it embeds and how long the clients' searches take.
func (b *bench) measureIngest(at *fixture, c searchLoad) turnFunc {
	return func(turn int) (figures, error) {
		p, err := b.serve(b.drivers[0], at, true)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		if err := p.sendAll(connections, 200, func(i int) request {
			return searchRequest(at.Key, b.corpus.Question(i))
		}, nil); err != nil {
			return nil, err
		}
		left, start, err := p.waitForProgress(at)
		if err != nil {
			return nil, err
		}
		before := p.cpu()
		wall, err := p.runSearches(c, func(i int) request {
			return uncachedSearchRequest(at.Key, b.corpus.Question(turn*1000+i), i)
		})
		if err != nil {
			return nil, err
		}
		now, ended, err := p.waitForProgress(at)
		n, spent := float64(left-now), p.cpu()-before
		return figures{"rate": n / ended.Sub(start).Seconds(), "cpu": spent / max(n, 1),
			"p50": quantile(wall, .5), "p99": quantile(wall, .99)}, err
	}
}

// selfCPU returns the microseconds that this process has used.
func selfCPU() float64 {
	n, _ := processCPU(os.Getpid())
	return float64(n) / 1000
}

// waitForProgress waits until a server with a full embedding queue has embedded some memories. It returns the number
// left, and the time.
func (p *process) waitForProgress(at *fixture) (left int, when time.Time, err error) {
	if at.embedder == nil {
		return 0, time.Now(), nil
	}
	first, err := p.pending(at.Key)
	for left = first; err == nil && left == first && left > 0; left, err = p.pending(at.Key) {
		time.Sleep(5 * time.Millisecond)
	}
	if err == nil && left == 0 {
		err = errors.New("all memories are embedded: there is nothing to measure")
	}
	return left, time.Now(), err
}

// runSearches runs searching clients for a time, and returns the milliseconds of each search.
func (p *process) runSearches(c searchLoad, makeRequest func(i int) request) (wall []float64, err error) {
	if c.name == "" {
		time.Sleep(ingestDuration)
		return []float64{0}, nil
	}
	end := time.Now().Add(ingestDuration)
	lists, errs := make([][]float64, connections), make([]error, connections)
	var all sync.WaitGroup
	for n := range connections {
		all.Go(func() {
			w, err := p.dial()
			if err != nil {
				errs[n] = err
				return
			}
			defer w.Close()
			for i := n; time.Now().Before(end) && errs[n] == nil; i += connections {
				start := time.Now()
				_, errs[n] = w.do(makeRequest(i))
				lists[n] = append(lists[n], float64(time.Since(start).Nanoseconds())/1e6)
				time.Sleep(c.pause)
			}
		})
	}
	all.Wait()
	return slices.Concat(lists...), errors.Join(errs...)
}
