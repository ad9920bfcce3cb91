package main

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
)

// Sizes of the rows about sessions.
const (
	concurrentSessions  = 32
	concurrentEvents    = 1600
	finalizedCandidates = 100
)

// events compares events that draw nothing with creates of texts of that length.
func (b *bench) events() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "events")
	if err != nil {
		return err
	}
	sessions, err := startSessions(p, at)
	if err != nil {
		return err
	}
	s, err := b.interleave("events", 2,
		benchSide{"create", func(turn int) (figures, error) {
			return p.cpuPerRequest(concurrentSessions, concurrentEvents, b.uniqueCreates(at, turn, concurrentEvents))
		}},
		benchSide{"event", func(turn int) (figures, error) {
			return p.cpuPerRequest(concurrentSessions, concurrentEvents, func(i int) request {
				return newRequest("POST", "/v1/sessions/"+sessions[i%len(sessions)]+"/events", at.Key, map[string]any{
					"adapter": "claude", "eventId": fmt.Sprintf("%d-%d", turn, i), "type": "prompt", "unitKey": "turn",
					"role": "user", "content": b.plainPrompt(turn*concurrentEvents + i)})
			})
		}})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "events", What: "an event of 700 bytes that draws nothing, 32 clients, " +
			"over memory.create", Unit: "us CPU", Threshold: 1.5}, "event cpu", "create cpu"))
	}
	return err
}

// plainPrompt returns a prompt of 700 bytes from which nothing is drawn: a question in most sentences.
func (b *bench) plainPrompt(n int) string {
	for ; ; n += 1_000_000 {
		text := strings.ReplaceAll(b.corpus.Prose(2_000_000+n), ".", "?") + "?"
		if extract.FromPrompt(extract.Turn{Prompt: text}) == nil {
			return text
		}
	}
}

// startSessions switches automatic memory on, and starts sessions.
func startSessions(p *process, at *fixture) (ids []string, err error) {
	if _, err := p.send(newRequest("PUT", "/v1/auto", at.Key, map[string]any{"enabled": true})); err != nil {
		return nil, err
	}
	for i := range concurrentSessions {
		body, err := p.send(newRequest("POST", "/v1/sessions", at.Key, map[string]any{"task": "bench",
			"kind": "automatic", "adapter": "claude", "externalId": fmt.Sprint(i)}))
		if err != nil {
			return nil, err
		}
		ids = append(ids, firstID(body))
	}
	return ids, nil
}

// finalize compares the end of a session of 100 candidates with 100 creates by one client.
func (b *bench) finalize() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "finalize")
	if err != nil {
		return err
	}
	s, err := b.interleave("finalize", 1,
		benchSide{"create", func(turn int) (figures, error) {
			return p.cpuPerRequest(1, finalizedCandidates, b.uniqueCreates(at, 3000+turn, finalizedCandidates))
		}},
		benchSide{"finalize", func(turn int) (figures, error) {
			path, err := b.fillSession(p, at, turn)
			if err != nil {
				return nil, err
			}
			f, err := p.cpuPerRequest(1, 1, func(int) request {
				return newRequest("POST", path+"/finalize", at.Key, nil)
			})
			return figures{"cpu": f["cpu"] / finalizedCandidates, "wall": f["wall"] / finalizedCandidates}, err
		}})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "finalize", What: "a candidate of a session of 100, over a create by one " +
			"client", Unit: "us CPU", Threshold: 1.25}, "finalize cpu", "create cpu"))
		b.report.add(s.ratioLine(line{Row: "finalize", What: "the same, wall time", Unit: "us"}, "finalize wall",
			"create wall"))
	}
	return err
}

// fillSession starts a session with 100 candidates, and returns its path.
func (b *bench) fillSession(p *process, at *fixture, turn int) (path string, err error) {
	body, err := p.send(newRequest("POST", "/v1/sessions", at.Key, map[string]any{"task": "bench"}))
	if err != nil {
		return "", err
	}
	path = "/v1/sessions/" + firstID(body)
	err = p.sendAll(1, finalizedCandidates, func(i int) request {
		text := b.corpus.Prose(4_000_000 + turn*finalizedCandidates + i)
		return newRequest("POST", path+"/candidates", at.Key, map[string]any{"content": text, "title": text[:32]})
	}, nil)
	p.waitIdle()
	return path, err
}

// former compares reads and creates with another build of Loci, each with a database of its own.
func (b *bench) former() error {
	if b.formerBinary == "" {
		return nil
	}
	var sides []benchSide
	for _, side := range []struct{ name, binary string }{{"former", b.formerBinary},
		{"present", b.binary("loci", b.drivers[0])}} {
		at, p, err := b.loadBuild(side.name, side.binary)
		if err != nil {
			return err
		}
		sides = append(sides, benchSide{side.name + " get", func(int) (figures, error) {
			return p.cpuPerRequest(connections, requestsPerTurn, func(i int) request {
				return newRequest("GET", "/v1/memories/"+at.IDs[i%memoriesEach], at.Key, nil)
			})
		}}, benchSide{side.name + " create", func(turn int) (figures, error) {
			return p.cpuPerRequest(concurrentSessions, concurrentCreates,
				b.uniqueCreates(at, 5000+turn, concurrentCreates))
		}})
	}
	s, err := b.interleave("former", turnsPerRound, sides...)
	for _, what := range []string{"get", "create"} {
		if err == nil {
			b.report.add(s.ratioLine(line{Row: "former", What: "memory." + what + ", over another build",
				Unit: "us CPU", Threshold: 1.25}, "present "+what+" cpu", "former "+what+" cpu"))
		}
	}
	return err
}

// loadBuild serves a database that a build has made and filled itself: builds may have different schemas.
func (b *bench) loadBuild(name, binary string) (*fixture, *process, error) {
	at := &fixture{Dir: b.scratch + "/build-" + name}
	var made map[string]string
	for _, kind := range []string{"user", "key"} {
		var err error
		if made, err = b.runJSON(append([]string{binary, "admin", kind, "create", "--json", "--email",
			"ann@example.org"}, at.flags()...)...); err != nil {
			return nil, nil, err
		}
	}
	at.Key = made["apiKey"]
	p, err := b.start(append(b.silentStub.env(), "LOCI_RATE_LIMIT=0"),
		append([]string{binary, "serve", "--listen", "127.0.0.1:0"}, at.flags()...)...)
	if err == nil {
		err = b.loader(memoriesEach, b.corpus.Note)(at, p)
	}
	return at, p, err
}
