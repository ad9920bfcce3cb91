package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/loci-memory/loci/bench/corpus"
)

// notesFixture returns the database with many notes in one workspace.
func (b *bench) notesFixture(db string) (*fixture, error) {
	name := "notes-" + strconv.Itoa(b.memories)
	if db != "" {
		name += "-postgres"
	}
	return b.fixture(name, db, b.loader(b.memories, b.corpus.Note))
}

// searchRequest returns a search by keywords for the best 20.
func searchRequest(key, query string) request { return searchInModeRequest(key, query, "keyword") }

// uncachedSearchRequest returns search number i. All notes have one type. Other types in the filter only keep the
// server from using its cache of rankings.
func uncachedSearchRequest(key, query string, i int) request {
	types := []string{"note"}
	for n, name := range []string{"fact", "decision", "preference", "task", "architecture"} {
		if i>>n&1 == 1 {
			types = append(types, name)
		}
	}
	return searchInModeRequest(key, query, "keyword", types...)
}

// A querySet is a kind of query.
type querySet struct {
	name       string
	text       func(i int) string
	maxRatio   float64 // p50 over 20 rows without a search; 0: no threshold
	ftsQueries int     // queries of FTS5 in a round: it takes seconds for a few
}

func (b *bench) querySets() []querySet {
	return []querySet{{"two words", b.corpus.WordPair, 2.6, 100}, {"two frequent words", b.corpus.FrequentPair, 0, 20},
		{"whole questions", b.corpus.Question, 4, 20}}
}

// searchesPerTurn is the number of searches of one kind in a round.
const searchesPerTurn = 400

// search compares searches with stock FTS5, and each database with the first.
func (b *bench) search() error {
	from, err := b.notesFixture("")
	if err != nil {
		return err
	}
	sides, err := b.startSearchSides(from)
	if err != nil {
		return err
	}
	s, err := b.interleave("search", 1, sides...)
	if err != nil {
		return err
	}
	for _, q := range b.querySets() {
		b.reportSearch(q, s)
	}
	return nil
}

// startSearchSides starts all sides of a search.
func (b *bench) startSearchSides(from *fixture) ([]benchSide, error) {
	var sides []benchSide
	for _, driver := range b.drivers {
		_, p, err := b.serveCopy(from, driver, "notes-"+driver)
		if err != nil {
			return nil, err
		}
		sides = append(sides, benchSide{"loci " + driver, b.measureSearch(p, from.Key)})
	}
	table, err := b.ftsCopy(from)
	if err != nil {
		return nil, err
	}
	floor, err := b.start(nil, b.binary("floor", b.drivers[0]), "find", "-db", table)
	if err != nil {
		return nil, err
	}
	sides = append(sides, benchSide{"floor", b.measureFTS(floor)})
	if b.postgres != "" {
		p, key, err := b.startOnPostgres()
		if err != nil {
			return nil, err
		}
		sides = append(sides, benchSide{"loci postgres", b.measureSearch(p, key)})
	}
	return sides, nil
}

func (b *bench) reportSearch(q querySet, s series) {
	first := "loci " + b.drivers[0] + " " + q.name
	for _, p := range []string{"p50", "p99"} {
		b.report.add(line{Row: "search", What: q.name + ", " + p + ", " + b.drivers[0], Unit: "ms CPU",
			Loci: s.median(first + " " + p)})
	}
	b.report.add(line{Row: "search", What: q.name + ", mean of 8 clients, " + b.drivers[0], Unit: "ms CPU",
		Loci: s.median(first + " busy")})
	b.report.add(line{Row: "search", What: q.name + ", p50 of wall time, one client", Unit: "ms",
		Loci: s.median(first + " wall")})
	for _, way := range ftsVariants {
		b.report.add(s.ratioLine(line{Row: "search", What: q.name + ", p50, " + way.what + " over Loci", Unit: "ms CPU",
			Threshold: 20, HigherIsBetter: true},
			first+" p50", "floor "+q.name+" "+way.what))
	}
	b.report.add(s.ratioLine(line{Row: "search", What: q.name + ", p50, Loci over 20 rows without a search",
		Unit: "ms CPU", Threshold: q.maxRatio}, first+" p50", "floor rows"))
	b.compareDrivers("search", q.name, "ms CPU", s, q.name+" p50")
	if b.postgres != "" {
		b.report.add(s.ratioLine(line{Row: "search", What: q.name + ", p50, PostgreSQL over SQLite", Unit: "ms CPU",
			Threshold: 2}, "loci postgres "+q.name+" p50", first+" p50"))
		b.report.add(s.ratioLine(line{Row: "search", What: q.name + ", p50 of wall time, PostgreSQL over SQLite",
			Unit: "ms"}, "loci postgres "+q.name+" wall", first+" wall"))
	}
}

// measureSearch sends queries of each kind to Loci: one after another, for the CPU of each, and several at once, for
// the mean of a busy server.
func (b *bench) measureSearch(p *process, key string) turnFunc {
	return func(turn int) (figures, error) {
		figures := map[string]float64{}
		for _, q := range b.querySets() {
			makeRequest := func(i int) request { return uncachedSearchRequest(key, q.text(turn*searchesPerTurn+i), i) }
			cpu, wall, err := p.latencies(searchesPerTurn, makeRequest)
			if err != nil {
				return nil, err
			}
			figures[q.name+" p50"], figures[q.name+" p99"], figures[q.name+" wall"] = quantile(cpu, .5),
				quantile(cpu, .99), quantile(wall, .5)
			busy, err := p.cpuPerRequest(connections, searchesPerTurn, func(i int) request {
				return uncachedSearchRequest(key, q.text(turn*searchesPerTurn+i), i+1)
			})
			if err != nil {
				return nil, err
			}
			figures[q.name+" busy"] = busy["cpu"] / 1000
		}
		return figures, nil
	}
}

// Requests of stock FTS5 for the same queries.
var ftsVariants = []struct{ what, path string }{
	{"FTS5", "/best?q="},
	{"FTS5 without stop words", "/best?stop&q="},
	{"FTS5 without stop words that counts matches", "/counted?stop&q="},
}

// rowsRequest requests 20 rows by their numbers: the cost of a response without a search.
func (b *bench) rowsRequest(i int) request {
	r := corpus.Rand(i)
	rids := make([]int, 20)
	for k := range rids {
		rids[k] = 1 + r.IntN(b.memories)
	}
	list, _ := json.Marshal(rids) // integers cannot fail
	return newRequest("GET", "/rows?q="+url.QueryEscape(string(list)), "", nil)
}

// measureFTS measures FTS5, and reads of rows.
func (b *bench) measureFTS(p *process) turnFunc {
	return func(turn int) (figures, error) {
		figures := map[string]float64{}
		cpu, _, err := p.latencies(searchesPerTurn, func(i int) request {
			return b.rowsRequest(turn*searchesPerTurn + i)
		})
		if err != nil {
			return nil, err
		}
		figures["rows"] = quantile(cpu, .5)
		for _, q := range b.querySets() {
			for _, way := range ftsVariants {
				cpu, _, err := p.latencies(q.ftsQueries, func(i int) request {
					return newRequest("GET", way.path+url.QueryEscape(q.text(turn*searchesPerTurn+i)), "", nil)
				})
				if err != nil {
					return nil, err
				}
				figures[q.name+" "+way.what] = quantile(cpu, .5)
			}
		}
		return figures, nil
	}
}

// ftsCopy returns a copy of the database with a table of FTS5.
func (b *bench) ftsCopy(from *fixture) (path string, err error) {
	path = filepath.Join(from.Dir, "fts5", "loci.db")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	raw, err := os.ReadFile(filepath.Join(from.Dir, "loci.db"))
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(b.ctx, b.binary("floor", b.drivers[0]), "index", "-db", path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("index: %w\n%s", errors.Join(err, os.Remove(path)), out)
	}
	return path, nil
}

// startOnPostgres starts Loci on the same notes in PostgreSQL.
func (b *bench) startOnPostgres() (*process, string, error) {
	address, err := b.databaseURL("loci_bench_" + strconv.Itoa(b.memories))
	if err != nil {
		return nil, "", err
	}
	at, err := b.notesFixture(address)
	if err != nil {
		return nil, "", err
	}
	p, err := b.serve(b.drivers[0], at, true)
	return p, at.Key, err
}
