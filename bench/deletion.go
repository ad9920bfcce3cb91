package main

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/sqldb"
)

// deletionWriters is the number of clients that write while an atlas is deleted: half of them in its workspace.
const deletionWriters = 8

// deletion measures other writers while an atlas of many memories with vectors is deleted and erased.
func (b *bench) deletion() error {
	from, err := b.vectorsFixture(b.memories)
	if err != nil {
		return err
	}
	s, err := b.interleave("deletion", 1, benchSide{"writers", func(turn int) (figures, error) {
		return b.deleteBesideWriters(from, turn)
	}})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("creates by %d clients while an atlas of %d is deleted, ", deletionWriters, b.memories)
	b.report.add(line{Row: "deletion", What: what + "p99", Unit: "ms", Loci: s.median("writers p99"), Threshold: 250,
		IsAbsolute: true})
	b.report.add(line{Row: "deletion", What: what + "longest", Unit: "ms", Loci: s.median("writers longest"),
		Threshold: 2000, IsAbsolute: true})
	b.report.add(line{Row: "deletion", What: "the same for a second before, p99", Unit: "ms",
		Loci: s.median("writers p99 before")})
	b.report.add(line{Row: "deletion", What: "response of the deletion", Unit: "ms",
		Loci: s.median("writers response")})
	b.report.add(line{Row: "deletion", What: "until the rows are erased", Unit: "s", Loci: s.median("writers erased")})
	return nil
}

// deleteBesideWriters deletes the atlas of a copy of the fixture while other clients write. A refused write is an
// error.
func (b *bench) deleteBesideWriters(from *fixture, turn int) (figures, error) {
	at, err := b.copyFixture(from, fmt.Sprint("deletion-", turn))
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(sqldb.SQLDriver, "file:"+filepath.Join(at.Dir, "loci.db")+"?_busy_timeout=10000")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var atlas string
	// A personal Inbox cannot be deleted.
	if err := db.QueryRow(`UPDATE atlases SET inbox = FALSE WHERE row_id = (SELECT atlas FROM memories LIMIT 1)
		RETURNING id`).Scan(&atlas); err != nil {
		return nil, err
	}
	p, err := b.serve(b.drivers[0], at, true)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	w := startWriters(b, p, at)
	time.Sleep(time.Second)
	began := time.Now()
	_, err = p.send(newRequest("DELETE", "/v1/atlases/"+atlas, at.Key, nil))
	response := time.Since(began)
	for left := 1; err == nil && left > 0; time.Sleep(20 * time.Millisecond) {
		err = db.QueryRow(`SELECT count(*) FROM jobs WHERE kind = 'erase_atlas'`).Scan(&left)
	}
	erased := time.Since(began)
	before, during, failed := w.stop(began)
	return figures{"p99": quantile(during, .99), "longest": slices.Max(during), "p99 before": quantile(before, .99),
		"response": float64(response.Microseconds()) / 1e3, "erased": erased.Seconds()}, errors.Join(err, failed)
}

// A writerGroup is clients that create memories until they are stopped.
type writerGroup struct {
	all   sync.WaitGroup
	done  chan struct{}
	walls [deletionWriters][]timedCall
	errs  [deletionWriters]error
}

// A timedCall is the start and the duration of a call.
type timedCall struct {
	start time.Time
	took  time.Duration
}

func startWriters(b *bench, p *process, at *fixture) *writerGroup {
	g := &writerGroup{done: make(chan struct{})}
	for n := range deletionWriters {
		g.all.Go(func() {
			w, err := p.dial()
			if err != nil {
				g.errs[n] = err
				return
			}
			defer w.Close()
			key := at.Keys[[]string{"ann", "bob"}[n%2]]
			for i := n; g.errs[n] == nil; i += deletionWriters {
				select {
				case <-g.done:
					return
				case <-time.After(5 * time.Millisecond):
				}
				start := time.Now()
				_, g.errs[n] = w.do(newRequest("POST", "/v1/memories", key,
					map[string]any{"content": b.corpus.Prose(3_000_000 + i)}))
				g.walls[n] = append(g.walls[n], timedCall{start, time.Since(start)})
			}
		})
	}
	return g
}

// stop ends the clients. It returns the milliseconds of the calls that ended before a time, and of the later ones.
func (g *writerGroup) stop(at time.Time) (before, after []float64, err error) {
	close(g.done)
	g.all.Wait()
	for _, c := range slices.Concat(g.walls[:]...) {
		if ms := float64(c.took.Microseconds()) / 1e3; c.start.Add(c.took).Before(at) {
			before = append(before, ms)
		} else {
			after = append(after, ms)
		}
	}
	return before, after, errors.Join(g.errs[:]...)
}
