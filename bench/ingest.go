package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/search"
)

// How long each side of ingest works in a turn, and what a client who reads between
// two searches waits.
const (
	ingestFor = 4 * time.Second
	thinking  = 100 * time.Millisecond
)

// ingest compares what the built-in model embeds in a loop, with one thread, with
// what a server embeds that has memories waiting: while nobody searches, and while
// clients do, by words. The texts are the notes.
func (b *bench) ingest() error {
	from, err := b.place(fmt.Sprintf("notes-%d", b.memories/4), "", b.fillWith(b.memories/4, b.texts.note))
	if err != nil {
		return err
	}
	at, err := b.copy(from, "ingest")
	if err != nil {
		return err
	}
	still, err := b.copy(from, "ingest-still")
	if err != nil {
		return err
	}
	at.embedder = []string{} // the built-in one
	sides := []contender{
		{"alone", b.embedding(embed.NewMiniLM())},
		{"server", b.ingesting(at, nothing)},
	}
	for _, c := range []crowd{{"busy", 0}, {"reading", thinking}} {
		sides = append(sides, contender{c.name, b.ingesting(still, c)}, contender{c.name + " ingest", b.ingesting(at, c)})
	}
	s, err := b.interleave(1, sides...)
	if err != nil {
		return err
	}
	b.report.keep("ingest", s)
	b.reportIngest(s)
	return nil
}

func (b *bench) reportIngest(s series) {
	b.report.add(s.beside(line{Row: "ingest", What: "embedder alone, one thread, over the memories of a server that is not searched", Unit: "us CPU", Bar: .9, Least: true}, "server cpu", "alone cpu"))
	for _, c := range []struct {
		name, what string
		bar        float64
	}{{"server", "nobody searches", .9}, {"reading ingest", "8 clients search who read for 100 ms", .9}, {"busy ingest", "8 clients search without a pause", .9}} {
		l := s.beside(line{Row: "ingest", What: "memories a second while " + c.what + ", over the embedder alone", Unit: "1/s", Bar: c.bar}, c.name+" rate", "alone rate")
		l.Least = true
		b.report.add(l)
	}
	for _, c := range []struct{ name, what string }{{"reading", "8 clients who read for 100 ms"}, {"busy", "8 clients without a pause"}} {
		for _, p := range []string{"p50", "p99"} {
			bar := map[string]float64{"p99": 1.5}[p]
			b.report.add(s.beside(line{Row: "ingest", What: "search of " + c.what + ", " + p + " while memories are embedded, over without", Unit: "ms", Bar: bar}, c.name+" ingest "+p, c.name+" "+p))
		}
	}
}

// embedding embeds passages in this process.
func (b *bench) embedding(m *embed.MiniLM) func(turn int) (map[string]float64, error) {
	return func(turn int) (map[string]float64, error) {
		n := 0
		before, began := ownCPU(), time.Now()
		for ; time.Since(began) < ingestFor; n++ {
			text := b.texts.note(turn*1000 + n)
			if _, err := m.Embed(b.ctx, search.Passages(text[:32], text, m)); err != nil {
				return nil, err
			}
		}
		return map[string]float64{"rate": float64(n) / time.Since(began).Seconds(), "cpu": (ownCPU() - before) / float64(n)}, nil
	}
}

// A crowd is some clients who search, with a pause after each answer.
type crowd struct {
	name  string
	pause time.Duration
}

var nothing crowd

// ingesting starts a server, and tells how many memories it embeds and how long a
// crowd's searches take.
func (b *bench) ingesting(at *place, c crowd) func(turn int) (map[string]float64, error) {
	return func(turn int) (map[string]float64, error) {
		p, err := b.serve(b.drivers[0], at, true)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		if err := p.send(connections, 200, func(i int) request { return ask(at.Key, b.texts.question(i)) }, nil); err != nil {
			return nil, err
		}
		left, began, err := p.change(at)
		if err != nil {
			return nil, err
		}
		before := p.cpu()
		wall, err := p.searched(c, func(i int) request { return askAnew(at.Key, b.texts.question(turn*1000+i), i) })
		if err != nil {
			return nil, err
		}
		now, ended, err := p.change(at)
		n, spent := float64(left-now), p.cpu()-before
		return map[string]float64{"rate": n / ended.Sub(began).Seconds(), "cpu": spent / max(n, 1), "p50": quantile(wall, .5), "p99": quantile(wall, .99)}, err
	}
}

// ownCPU returns the microseconds that this process has spent.
func ownCPU() float64 {
	n, _ := cpuOf(os.Getpid())
	return float64(n) / 1000
}

// change waits until a server with memories that wait has embedded some, and tells
// how many are left, and when that was.
func (p *process) change(at *place) (left int, when time.Time, err error) {
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

// searched lets a crowd search for a time, and returns the milliseconds of each
// search.
func (p *process) searched(c crowd, made func(i int) request) (wall []float64, err error) {
	if c.name == "" {
		time.Sleep(ingestFor)
		return []float64{0}, nil
	}
	end := time.Now().Add(ingestFor)
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
				began := time.Now()
				_, errs[n] = w.ask(made(i))
				lists[n] = append(lists[n], float64(time.Since(began).Nanoseconds())/1e6)
				time.Sleep(c.pause)
			}
		})
	}
	all.Wait()
	return slices.Concat(lists...), errors.Join(errs...)
}
