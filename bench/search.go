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
)

// notes returns the database with many notes in one workspace.
func (b *bench) notes(db string) (*place, error) {
	name := "notes-" + strconv.Itoa(b.memories)
	if db != "" {
		name += "-postgres"
	}
	return b.place(name, db, b.fillWith(b.memories, b.texts.note))
}

// ask is a search for the best 20.
func ask(key, query string) request {
	return newRequest("POST", "/v1/memories/search", key, map[string]any{"query": query, "mode": "keyword", "limit": 20})
}

// askAnew is ask number i. All notes are notes: other types beside change nothing
// but that the server does not know the ranking from the last time.
func askAnew(key, query string, i int) request {
	types := []string{"note"}
	for n, name := range []string{"fact", "decision", "preference", "task", "architecture"} {
		if i>>n&1 == 1 {
			types = append(types, name)
		}
	}
	return askIn(key, query, "keyword", types...)
}

// Questions are what is searched for.
type questions struct {
	name  string
	text  func(i int) string
	most  [2]float64 // ms of CPU: p50 and p99; 0 is no bar
	stock int        // how many FTS5 gets in a round: it takes seconds for few
}

func (b *bench) questions() []questions {
	return []questions{{"two words", b.texts.pair, [2]float64{.6, 0}, 100}, {"two frequent words", b.texts.frequent, [2]float64{}, 20}, {"whole questions", b.texts.question, [2]float64{1, 6}, 20}}
}

// searches are those of one kind in a round.
const searches = 400

// search compares searches with stock FTS5, and each database with the first.
func (b *bench) search() error {
	from, err := b.notes("")
	if err != nil {
		return err
	}
	sides, err := b.searchers(from)
	if err != nil {
		return err
	}
	s, err := b.interleave(1, sides...)
	if err != nil {
		return err
	}
	b.report.keep("search", s)
	for _, q := range b.questions() {
		b.reportSearch(q, s)
	}
	return nil
}

// searchers starts all sides of a search.
func (b *bench) searchers(from *place) ([]contender, error) {
	var sides []contender
	for _, driver := range b.drivers {
		at, err := b.copy(from, "notes-"+driver)
		if err != nil {
			return nil, err
		}
		p, err := b.serve(driver, at, true)
		if err != nil {
			return nil, err
		}
		sides = append(sides, contender{"loci " + driver, b.asking(p, from.Key)})
	}
	table, err := b.stock(from)
	if err != nil {
		return nil, err
	}
	floor, err := b.start(nil, b.binary("floor", b.drivers[0]), "find", "-db", table)
	if err != nil {
		return nil, err
	}
	sides = append(sides, contender{"floor", b.finding(floor)})
	if b.postgres != "" {
		p, key, err := b.onPostgres()
		if err != nil {
			return nil, err
		}
		sides = append(sides, contender{"loci postgres", b.asking(p, key)})
	}
	return sides, nil
}

func (b *bench) reportSearch(q questions, s series) {
	first := "loci " + b.drivers[0] + " " + q.name
	for i, p := range []string{"p50", "p99"} {
		b.report.add(line{Row: "search", What: q.name + ", " + p + ", " + b.drivers[0], Unit: "ms CPU", Loci: s.median(first + " " + p), Bar: q.most[i], Value: true})
	}
	b.report.add(line{Row: "search", What: q.name + ", mean of 8 clients, " + b.drivers[0], Unit: "ms CPU", Loci: s.median(first + " busy")})
	b.report.add(line{Row: "search", What: q.name + ", p50 of wall time, one client", Unit: "ms", Loci: s.median(first + " wall")})
	for _, way := range ways {
		b.report.add(s.beside(line{Row: "search", What: q.name + ", p50, " + way.what + " over Loci", Unit: "ms CPU", Bar: 20, Least: true},
			first+" p50", "floor "+q.name+" "+way.what))
	}
	b.report.add(s.beside(line{Row: "search", What: q.name + ", p50, Loci over 20 rows that nobody searched for", Unit: "ms CPU"}, first+" p50", "floor rows"))
	b.compareDrivers("search", q.name, "ms CPU", s, q.name+" p50")
	if b.postgres != "" {
		b.report.add(s.beside(line{Row: "search", What: q.name + ", p50, PostgreSQL over SQLite", Unit: "ms CPU", Bar: 2}, "loci postgres "+q.name+" p50", first+" p50"))
		b.report.add(s.beside(line{Row: "search", What: q.name + ", p50 of wall time, PostgreSQL over SQLite", Unit: "ms"}, "loci postgres "+q.name+" wall", first+" wall"))
	}
}

// asking asks Loci questions of each kind: one after another, for the CPU of
// each, and several at once, for the mean of a server that is busy.
func (b *bench) asking(p *process, key string) func(turn int) (map[string]float64, error) {
	return func(turn int) (map[string]float64, error) {
		figures := map[string]float64{}
		for _, q := range b.questions() {
			made := func(i int) request { return askAnew(key, q.text(turn*searches+i), i) }
			cpu, wall, err := p.queue(searches, made)
			if err != nil {
				return nil, err
			}
			figures[q.name+" p50"], figures[q.name+" p99"], figures[q.name+" wall"] = quantile(cpu, .5)/1000, quantile(cpu, .99)/1000, quantile(wall, .5)/1000
			busy, err := p.spend(connections, searches, func(i int) request { return askAnew(key, q.text(turn*searches+i), i+1) })
			if err != nil {
				return nil, err
			}
			figures[q.name+" busy"] = busy["cpu"] / 1000
		}
		return figures, nil
	}
}

// How stock FTS5 is asked the same questions.
var ways = []struct{ what, path string }{
	{"FTS5", "/best?q="},
	{"FTS5 without stop words", "/best?stop&q="},
	{"FTS5 without stop words that counts matches", "/counted?stop&q="},
}

// someRows asks for 20 rows by their numbers: what the answer to a search takes
// where nothing is searched for.
func (b *bench) someRows(i int) request {
	r := source(ofReads, i)
	rids := make([]int, 20)
	for k := range rids {
		rids[k] = 1 + r.IntN(b.memories)
	}
	list, _ := json.Marshal(rids) // integers cannot fail
	return newRequest("GET", "/rows?q="+url.QueryEscape(string(list)), "", nil)
}

// finding asks FTS5, and for rows.
func (b *bench) finding(p *process) func(turn int) (map[string]float64, error) {
	return func(turn int) (map[string]float64, error) {
		figures := map[string]float64{}
		cpu, _, err := p.queue(searches, func(i int) request { return b.someRows(turn*searches + i) })
		if err != nil {
			return nil, err
		}
		figures["rows"] = quantile(cpu, .5) / 1000
		for _, q := range b.questions() {
			for _, way := range ways {
				cpu, _, err := p.queue(q.stock, func(i int) request {
					return newRequest("GET", way.path+url.QueryEscape(q.text(turn*searches+i)), "", nil)
				})
				if err != nil {
					return nil, err
				}
				figures[q.name+" "+way.what] = quantile(cpu, .5) / 1000
			}
		}
		return figures, nil
	}
}

// stock returns a copy of the database with a table of FTS5.
func (b *bench) stock(from *place) (path string, err error) {
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

// onPostgres starts Loci on the same notes in PostgreSQL.
func (b *bench) onPostgres() (*process, string, error) {
	address, err := b.database("loci_bench_" + strconv.Itoa(b.memories))
	if err != nil {
		return nil, "", err
	}
	at, err := b.notes(address)
	if err != nil {
		return nil, "", err
	}
	p, err := b.serve(b.drivers[0], at, true)
	return p, at.Key, err
}
