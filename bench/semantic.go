package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// semanticSearches is the number of searches of a kind in a round.
const semanticSearches = 200

// semantic measures semantic searches in many memories, and in a tenth of them.
func (b *bench) semantic() error {
	var sides []benchSide
	var largest *process
	for _, n := range []int{b.memories / 10, b.memories} {
		at, p, err := b.startWithVectors(n)
		if err != nil {
			return err
		}
		largest = p
		sides = append(sides, benchSide{fmt.Sprint(n), b.measureModes(p, at.Key)})
	}
	s, err := b.interleave("semantic", 1, sides...)
	if err != nil {
		return err
	}
	memoryBytes, err := largest.anonymousMemory()
	if err != nil {
		return err
	}
	b.reportSemantic(s, sides[1].name, sides[0].name)
	b.report.add(line{Row: "semantic", What: "anonymous memory after these searches", Unit: "MB",
		Loci: memoryBytes / 1e6, Threshold: 150, IsAbsolute: true})
	return b.coldSemantic()
}

// startWithVectors starts Loci on a copy of n memories that have vectors of the stub.
func (b *bench) startWithVectors(n int) (*fixture, *process, error) {
	from, err := b.vectorsFixture(n)
	if err != nil {
		return nil, nil, err
	}
	return b.serveCopy(from, b.drivers[0], fmt.Sprintf("semantic-%d", n))
}

// vectorsFixture returns the database of n memories of one chunk each, all with vectors.
func (b *bench) vectorsFixture(n int) (*fixture, error) {
	load := b.loader(n, b.corpus.Chunk)
	p := &fixture{embedder: b.stub.env()}
	return b.loadFixture(p, fmt.Sprintf("semantic-%d-%s", n, stubModel), func(p *fixture, s *process) error {
		if err := load(p, s); err != nil {
			return err
		}
		for start := time.Now(); ; time.Sleep(200 * time.Millisecond) {
			left, err := s.pending(p.Key)
			if err != nil || left == 0 {
				return err
			}
			if time.Since(start) > 20*time.Minute {
				return fmt.Errorf("%d memories still wait for vectors", left)
			}
		}
	})
}

// pending returns the number of memories without vectors.
func (p *process) pending(key string) (n int, err error) {
	var status struct{ Indexing struct{ Pending int } }
	body, err := p.send(newRequest("GET", "/v1/status", key, nil))
	if err == nil {
		err = json.Unmarshal(body, &status)
	}
	return status.Indexing.Pending, err
}

// searchInModeRequest returns a search for the best 20 in a mode, of some types, or of all.
func searchInModeRequest(key, query, mode string, types ...string) request {
	body := map[string]any{"query": query, "mode": mode, "limit": 20}
	if len(types) > 0 {
		body["type"] = types
	}
	return newRequest("POST", "/v1/memories/search", key, body)
}

// Kinds of searches in their order. The first sends new queries. The others repeat them, so that the vectors are
// cached. Other types in the filter keep the server from using its cache of rankings.
var semanticKinds = []struct {
	name, mode string
	types      []string
}{
	{"hybrid, new questions", "hybrid", nil}, {"hybrid", "hybrid", []string{"note", "fact"}},
	{"semantic", "semantic", nil},
	{"keyword", "keyword", []string{"note", "decision"}}, {"auto", "auto", []string{"note", "preference"}},
}

// measureModes sends whole questions in each mode, one after another.
func (b *bench) measureModes(p *process, key string) turnFunc {
	return func(turn int) (figures, error) {
		figures := map[string]float64{}
		for _, k := range semanticKinds {
			text := func(i int) string {
				return b.corpus.Questions[(turn*semanticSearches+i)%len(b.corpus.Questions)] + strings.Repeat("?", turn)
			}
			timings, err := p.searchTimings(semanticSearches, func(i int) request {
				return searchInModeRequest(key, text(i), k.mode, k.types...)
			})
			if err != nil {
				return nil, err
			}
			for what, list := range timings {
				figures[k.name+" "+what+" p50"], figures[k.name+" "+what+" p99"] = quantile(list, .5),
					quantile(list, .99)
			}
		}
		return figures, nil
	}
}

// searchTimings sends one search after another. It returns the milliseconds of each: of the server's CPU, of wall time,
// and the timings in the response.
func (p *process) searchTimings(n int, makeRequest func(i int) request) (map[string][]float64, error) {
	all, late := map[string][]float64{}, 0
	err := p.sendSequentially(n, makeRequest, func(body []byte, cpu, wall float64) error {
		var answer struct {
			Mode string
			Meta struct {
				Timings struct{ EmbedMs, KeywordMs, SemanticMs float64 }
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if answer.Mode == "keyword_fallback" { // the machine was too busy for the stub
			if late++; late > n/10 {
				return fmt.Errorf("%d of %d queries got no vector", late, n)
			}
			return nil
		}
		t := answer.Meta.Timings
		one := figures{"cpu": cpu, "wall": wall, "embed": t.EmbedMs, "keyword": t.KeywordMs, "semantic": t.SemanticMs}
		for what, v := range one {
			all[what] = append(all[what], v)
		}
		return nil
	})
	return all, err
}

func (b *bench) reportSemantic(s series, many, few string) {
	add := func(what, unit, key string, threshold float64) {
		b.report.add(line{Row: "semantic", What: what, Unit: unit, Loci: s.median(many + " " + key),
			Threshold: threshold, IsAbsolute: true})
	}
	for _, k := range semanticKinds {
		threshold := map[string]float64{"hybrid": 3}[k.name]
		add(k.name+", p50", "ms CPU", k.name+" cpu p50", threshold)
		add(k.name+", p99", "ms CPU", k.name+" cpu p99", 0)
	}
	add("new questions: the stub and the connection to it, p50", "ms", "hybrid, new questions embed p50", 0)
	add("hybrid: keyword retriever, p50", "ms", "hybrid keyword p50", 0)
	add("hybrid: semantic retriever, p50", "ms", "hybrid semantic p50", 0)
	for _, k := range semanticKinds[1:4] {
		b.report.add(s.ratioLine(line{Row: "semantic",
			What: fmt.Sprintf("%s, p50, %s over %s memories", k.name, many, few), Unit: "ms CPU", Threshold: 10},
			many+" "+k.name+" cpu p50", few+" "+k.name+" cpu p50"))
	}
}

// coldSemantic measures the first semantic search after a start, beside a keyword search.
func (b *bench) coldSemantic() error {
	from, err := b.vectorsFixture(b.memories)
	if err != nil {
		return err
	}
	at, err := b.copyFixture(from, "cold-semantic")
	if err != nil {
		return err
	}
	var sides []benchSide
	for _, mode := range []string{"semantic", "keyword"} {
		sides = append(sides, benchSide{mode, func(int) (figures, error) {
			return b.coldStart(at, searchInModeRequest(at.Key, b.corpus.Question(0), mode))
		}})
	}
	s, err := b.interleave("semantic cold", 1, sides...)
	if err != nil {
		return err
	}
	for _, unit := range []string{"wall", "cpu"} {
		b.report.add(s.ratioLine(line{Row: "semantic",
			What: "from the start to the first semantic response, over a keyword one",
			Unit: map[string]string{"wall": "ms", "cpu": "ms CPU"}[unit]},
			"semantic "+unit, "keyword "+unit))
	}
	return nil
}
