package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// meanings are the searches of a kind in a round.
const meanings = 200

// meaning measures searches by meaning in many memories, and in a tenth of them.
func (b *bench) meaning() error {
	var sides []contender
	var largest *process
	for _, n := range []int{b.memories / 10, b.memories} {
		at, p, err := b.meant(n)
		if err != nil {
			return err
		}
		largest = p
		sides = append(sides, contender{fmt.Sprint(n), b.seeking(p, at.Key)})
	}
	s, err := b.interleave(1, sides...)
	if err != nil {
		return err
	}
	b.report.keep("meaning", s)
	held, err := largest.anonymous()
	if err != nil {
		return err
	}
	b.reportMeaning(s, sides[1].name, sides[0].name)
	b.report.add(line{Row: "meaning", What: "anonymous memory after these searches", Unit: "MB", Loci: held / 1e6, Bar: 150, Value: true})
	return b.coldMeaning()
}

// meant starts Loci on a copy of n memories that have vectors of the stub.
func (b *bench) meant(n int) (*place, *process, error) {
	from, err := b.vectors(n)
	if err != nil {
		return nil, nil, err
	}
	at, err := b.copy(from, fmt.Sprintf("meaning-%d", n))
	if err != nil {
		return nil, nil, err
	}
	p, err := b.serve(b.drivers[0], at, true)
	return at, p, err
}

// vectors returns the database of n memories of one passage each, all of which have
// their vectors.
func (b *bench) vectors(n int) (*place, error) {
	load := b.fillWith(n, b.texts.passage)
	p := &place{embedder: b.stub.environ()}
	return b.placeOf(p, fmt.Sprintf("meaning-%d-%s", n, stubName), func(p *place, s *process) error {
		if err := load(p, s); err != nil {
			return err
		}
		for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
			left, err := s.pending(p.Key)
			if err != nil || left == 0 {
				return err
			}
			if time.Since(began) > 20*time.Minute {
				return fmt.Errorf("%d memories still wait for vectors", left)
			}
		}
	})
}

// pending is how many memories wait for vectors.
func (p *process) pending(key string) (n int, err error) {
	var status struct{ Indexing struct{ Pending int } }
	err = p.send(1, 1, func(int) request { return newRequest("GET", "/v1/status", key, nil) }, func(_ int, body []byte) {
		err = json.Unmarshal(body, &status)
	})
	return status.Indexing.Pending, err
}

// askIn is a search for the best 20 in a mode, of some types, or of all.
func askIn(key, query, mode string, types ...string) request {
	body := map[string]any{"query": query, "mode": mode, "limit": 20}
	if len(types) > 0 {
		body["type"] = types
	}
	return newRequest("POST", "/v1/memories/search", key, body)
}

// Kinds of searches, in the order in which they are asked: the first asks what
// nobody has asked before, the others the same again, so that its vector is known.
// All memories are notes; other types beside are for the server not to know the
// ranking too.
var meaningKinds = []struct {
	name, mode string
	types      []string
}{
	{"hybrid, new questions", "hybrid", nil}, {"hybrid", "hybrid", []string{"note", "fact"}}, {"semantic", "semantic", nil},
	{"keyword", "keyword", []string{"note", "decision"}}, {"auto", "auto", []string{"note", "preference"}},
}

// seeking asks whole questions in each mode, one after another.
func (b *bench) seeking(p *process, key string) func(turn int) (map[string]float64, error) {
	return func(turn int) (map[string]float64, error) {
		figures := map[string]float64{}
		for _, k := range meaningKinds {
			text := func(i int) string {
				return b.texts.questions[(turn*meanings+i)%len(b.texts.questions)] + strings.Repeat("?", turn)
			}
			told, err := p.told(meanings, func(i int) request { return askIn(key, text(i), k.mode, k.types...) })
			if err != nil {
				return nil, err
			}
			for what, list := range told {
				figures[k.name+" "+what+" p50"], figures[k.name+" "+what+" p99"] = quantile(list, .5), quantile(list, .99)
			}
		}
		return figures, nil
	}
}

// told asks one after another, and returns for each search its milliseconds: those
// of the server's CPU, of time until the answer is here, and those that the answer
// tells of itself.
func (p *process) told(n int, made func(i int) request) (map[string][]float64, error) {
	w, err := p.dial()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, late := map[string][]float64{}, 0
	for i := range n {
		r := made(i)
		before, began := p.cpu(), time.Now()
		body, err := w.ask(r)
		if err != nil {
			return nil, err
		}
		figures := map[string]float64{"wall": float64(time.Since(began).Nanoseconds()) / 1e6, "cpu": (p.cpu() - before) / 1000}
		var answer struct {
			Mode string
			Meta struct {
				Timings struct{ EmbedMs, KeywordMs, SemanticMs, FuseMs float64 }
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, err
		}
		if answer.Mode == "keyword_fallback" { // the machine was too busy for the stub
			if late++; late > n/10 {
				return nil, fmt.Errorf("%d of %d queries got no vector", late, i+1)
			}
			continue
		}
		t := answer.Meta.Timings
		figures["embed"], figures["words"], figures["meaning"], figures["fuse"] = t.EmbedMs, t.KeywordMs, t.SemanticMs, t.FuseMs
		for what, v := range figures {
			all[what] = append(all[what], v)
		}
	}
	return all, nil
}

func (b *bench) reportMeaning(s series, many, few string) {
	add := func(what, unit, key string, bar float64) {
		b.report.add(line{Row: "meaning", What: what, Unit: unit, Loci: s.median(many + " " + key), Bar: bar, Value: true})
	}
	for _, k := range meaningKinds {
		bar := map[string]float64{"hybrid": 3}[k.name]
		add(k.name+", p50", "ms CPU", k.name+" cpu p50", bar)
		add(k.name+", p99", "ms CPU", k.name+" cpu p99", 0)
	}
	add("new questions: the stub and the way to it, p50", "ms", "hybrid, new questions embed p50", 0)
	add("hybrid: of it by words, p50", "ms", "hybrid words p50", 0)
	add("hybrid: of it by meaning, p50", "ms", "hybrid meaning p50", 0)
	for _, k := range meaningKinds[1:4] {
		b.report.add(s.beside(line{Row: "meaning", What: fmt.Sprintf("%s, p50, %s over %s memories", k.name, many, few), Unit: "ms CPU", Bar: 10},
			many+" "+k.name+" cpu p50", few+" "+k.name+" cpu p50"))
	}
}

// coldMeaning tells what the first search by meaning costs after a start, beside
// one by words.
func (b *bench) coldMeaning() error {
	from, err := b.vectors(b.memories)
	if err != nil {
		return err
	}
	at, err := b.copy(from, "cold-meaning")
	if err != nil {
		return err
	}
	var sides []contender
	for _, mode := range []string{"semantic", "keyword"} {
		sides = append(sides, contender{mode, func(int) (map[string]float64, error) {
			return b.coldOf(at, askIn(at.Key, b.texts.question(0), mode))
		}})
	}
	s, err := b.interleave(1, sides...)
	if err != nil {
		return err
	}
	b.report.keep("meaning cold", s)
	for _, unit := range []string{"wall", "cpu"} {
		b.report.add(s.beside(line{Row: "meaning", What: "from the start to the first answer by meaning, over one by words", Unit: map[string]string{"wall": "ms", "cpu": "ms CPU"}[unit]},
			"semantic "+unit, "keyword "+unit))
	}
	return nil
}
