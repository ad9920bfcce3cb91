package main

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci/internal/analysis"
)

// searchRequest returns search number i for the best 20. All notes have one type. Other types in the filter only keep
// the server from using its cache of rankings.
func searchRequest(key, mode, query string, i int) request {
	types := []string{"note"}
	for n, name := range []string{"fact", "decision", "preference", "task", "architecture"} {
		if i>>n&1 == 1 {
			types = append(types, name)
		}
	}
	return newRequest("POST", "/v1/memories/search", key,
		map[string]any{"query": query, "mode": mode, "limit": 20, "type": types})
}

// A queryKind is a kind of query. FTS5 takes seconds for a few of some kinds.
type queryKind struct {
	name       string
	text       func(c *corpus, i int) string
	ftsQueries int
	mostOfRows float64 // over 20 rows without a search
	leastOfFTS float64
}

var queryKinds = []queryKind{{"two words", (*corpus).wordPair, 100, 2.6, 4},
	{"whole questions", (*corpus).question, 20, 4, 20}}

// search compares searches by keywords with stock FTS5, and with rows that are read without a search.
func (b *bench) search() []side {
	var loads, ftsLoads []load
	for _, k := range queryKinds {
		query := func(at *fixture, i int) request {
			return searchRequest(at.Keys["ann"], "keyword", k.text(b.corpus, i), i)
		}
		loads = append(loads, load{k.name, 1, searches, query},
			load{k.name + ", 8 clients", busyClients, searches, query})
		ftsLoads = append(ftsLoads, load{k.name, 1, k.ftsQueries, func(_ *fixture, i int) request {
			words := slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(k.text(b.corpus, i)), func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r)
			}), analysis.IsStopWord)
			return newRequest("GET", "/best?q="+url.QueryEscape(`"`+strings.Join(words, `" OR "`)+`"`), "", nil)
		}})
	}
	sides := b.compare(b.notes(), b.versus()[1:], loads...)
	sides = append(sides, b.compare(b.notes(), b.versus("get")[:1], b.rowsLoad())...)
	return append(sides, b.compare(b.notes(), b.versus("find")[:1], ftsLoads...)...)
}

// rowsLoad reads 20 rows by their numbers: the cost of a response without a search.
func (b *bench) rowsLoad() load {
	return load{"rows", 1, searches, func(at *fixture, i int) request {
		r, rids := newRand(seedReads, i), make([]int, 20)
		for k := range rids {
			rids[k] = 1 + r.IntN(len(at.IDs))
		}
		list, _ := json.Marshal(rids) // integers cannot fail
		return newRequest("GET", "/rows?q="+url.QueryEscape(string(list)), "", nil)
	}}
}

func searchLines() (lines []line) {
	for _, k := range queryKinds {
		of := "loci " + k.name + " each"
		lines = append(append(lines,
			over(k.name+", p50, over 20 rows without a search", of, "floor rows each", k.mostOfRows),
			over(k.name+", p50, FTS5 over Loci", "floor "+k.name+" each", of, k.leastOfFTS).atLeast(),
			value(k.name+", p99", of+"99", 0),
			value(k.name+", mean of 8 clients", "loci "+k.name+", 8 clients cpu", 0)),
			overFirst(k.name+", p50", k.name+" each")...)
	}
	return lines
}

var searchModes = []string{"hybrid", "semantic", "keyword", "auto"}

// modeLoads returns a load of whole questions for each mode. Every round asks the same, so that their vectors are
// cached.
func (b *bench) modeLoads(n int, modes ...string) (loads []load) {
	for m, mode := range modes {
		loads = append(loads, load{mode, 1, n, func(at *fixture, i int) request {
			question := b.corpus.questions[i%n%len(b.corpus.questions)]
			return searchRequest(at.Keys["ann"], mode, question, i/n*len(modes)+m)
		}})
	}
	return loads
}

// hybrid measures the modes in all memories over rows without a search, and over a tenth of the memories.
func (b *bench) hybrid() []side {
	loads := append(b.modeLoads(200, searchModes...), load{"new questions", 1, 200, func(at *fixture, i int) request {
		text := b.corpus.questions[i%len(b.corpus.questions)] + strings.Repeat("?", i/200)
		return searchRequest(at.Keys["ann"], "hybrid", text, 0)
	}})
	sides := b.compare(b.chunks(b.memories), b.versus()[1:], loads...)
	sides = append(sides, b.compare(b.chunks(b.memories/10), b.loci("few"), loads...)...)
	return append(sides, b.compare(b.chunks(b.memories), b.versus("get")[:1], b.rowsLoad())...)
}

func hybridLines() (lines []line) {
	for _, mode := range append(searchModes, "new questions") {
		of, most := "loci "+mode+" each", map[string]float64{"hybrid": 10}[mode]
		lines = append(append(lines, over(mode+", p50, over 20 rows without a search", of, "floor rows each", most),
			value(mode+", p99", of+"99", 0), over(mode+", p50, all notes over a tenth", of, "few "+mode+" each", 10)),
			overFirst(mode+", p50", mode+" each")...)
	}
	return append(lines, value("anonymous memory", "loci new questions MB", 150))
}

// workspaces compares reads of all of a user's small workspaces with those of one that has as many memories.
func (b *bench) workspaces() []side {
	loads := append(b.modeLoads(20, "keyword", "hybrid", "auto"), gets("list", 1, 100, "/v1/memories?limit=20"),
		gets("context", 1, 20, "/v1/memories/context?limit=20"))
	at, p := b.serveVariant(b.crowd(), b.loci("all")[0])
	at.Keys = map[string]string{"ann": at.Keys["bob"]}
	return append(p.sides("all", at, loads...), b.compare(b.chunks(b.memories), b.loci("one"), loads...)...)
}

func workspacesLines() (lines []line) {
	most := map[string]float64{"keyword": 25, "hybrid": 30, "auto": 30, "list": 0, "context": 0}
	for _, name := range slices.Sorted(maps.Keys(most)) {
		lines = append(lines, over(name+" of all small workspaces, p50, over one of as many memories",
			"all "+name+" each", "one "+name+" each", most[name]))
	}
	return append(lines, value("anonymous memory", "all auto MB", 300))
}

// startup measures the time from the start of the process to the response to its first search. The page cache is kept.
func (b *bench) startup() []side {
	at := b.copyFixture(b.notes(), b.drivers[0])
	return []side{{"loci", func(int) figures {
		start := time.Now()
		p := b.serve(at, b.drivers[0])
		defer p.stop()
		p.ask(searchRequest(at.Keys["ann"], "keyword", b.corpus.question(0), 0))
		return figures{"ms": microseconds(time.Since(start)) / 1000}
	}}}
}

// ingestDuration is that of a turn of ingest.
const ingestDuration = 4 * time.Second

// ingest compares reads beside a full queue of the built-in embedder with those at rest, and what it embeds meanwhile
// with what it embeds while nobody calls.
func (b *bench) ingest() []side {
	d := b.dataset("notes", max(10_000, b.memories/4), b.corpus.note)
	rest, queue := b.copyFixture(d, b.drivers[0]), b.copyFixture(d, b.drivers[0])
	queue.embedder = nil
	return []side{b.ingestSide("quiet", queue, 0), b.ingestSide("rest", rest, busyClients),
		b.ingestSide("busy", queue, busyClients)}
}

// ingestSide starts a server in each turn. Its figures are the memories embedded a second, and the reads a second.
func (b *bench) ingestSide(name string, at *fixture, clients int) side {
	return side{name, func(int) figures {
		p := b.serve(at, b.drivers[0])
		defer p.stop()
		first, start := p.waitForProgress(at)
		read, n := randomReads(""), 0
		for ; clients > 0 && time.Since(start) < ingestDuration; n += read.n {
			check(p.sendAll(clients, read.n, func(i int) request { return read.request(at, n+i) }, nil))
		}
		seconds := time.Since(start).Seconds()
		time.Sleep(time.Until(start.Add(ingestDuration)))
		left, end := p.waitForProgress(at)
		return figures{"rate": float64(first-left) / end.Sub(start).Seconds(), "reads": float64(n) / seconds}
	}}
}

// waitForProgress waits until a server with a full embedding queue has embedded some memories. It returns the number
// left, and the time.
func (p *process) waitForProgress(at *fixture) (left int, when time.Time) {
	if at.embedder != nil {
		return 0, time.Now()
	}
	first := p.pending(at)
	for left = first; left == first; left = p.pending(at) {
		if left == 0 {
			check(errors.New("all memories are embedded: there is nothing to measure"))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return left, time.Now()
}

// meaning measures creates until their vectors are stored, as the built-in embedder computes them.
func (b *bench) meaning() (sides []side) {
	d, load := b.dataset("few", b.memories/100, b.corpus.prose), b.creates("", busyClients, 200, 4)
	for _, v := range b.versus()[1:] {
		if v.name != "loci" && v.name != "former" {
			continue
		}
		at := b.copyFixture(d, v.engine)
		at.embedder = nil
		p := b.serve(at, v.engine)
		p.waitEmbedded(at)
		sides = append(sides, side{v.name, func(turn int) figures {
			before := p.cpu()
			f := p.measure(load.clients, load.n, func(i int) request { return load.request(at, turn*load.n+i) })
			p.waitEmbedded(at)
			f["cpu"] = (p.waitIdle() - before) / float64(load.n)
			return f
		}})
	}
	return sides
}
