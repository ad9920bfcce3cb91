package main

import (
	"fmt"
	"os"
	"time"
)

// memory measures the anonymous memory of a server that has loaded and searched the notes. It loads them again.
func (b *bench) memory() error {
	s, err := cacheKey()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(fmt.Sprintf("%s/notes-%d-%s", b.cache, b.memories, s)); err != nil {
		return err
	}
	var after float64
	load := b.loader(b.memories, b.corpus.Note)
	at, err := b.fixture(fmt.Sprintf("notes-%d", b.memories), "", func(p *fixture, s *process) error {
		if err := load(p, s); err != nil {
			return err
		}
		for _, q := range b.querySets() {
			if err := s.sendAll(connections, 2000, func(i int) request {
				return searchRequest(p.Key, q.text(i))
			}, nil); err != nil {
				return err
			}
		}
		after, err = s.anonymousMemory()
		return err
	})
	if err != nil {
		return err
	}
	b.report.add(line{Row: "memory", What: "anonymous memory after the load", Unit: "MB",
		Loci: at.Load["anonymous"] / 1e6})
	b.report.add(line{Row: "memory", What: "anonymous memory after load and 4,000 searches", Unit: "MB",
		Loci: after / 1e6, Threshold: 150, IsAbsolute: true})
	b.report.add(line{Row: "memory", What: "load of the notes by 32 clients, for each", Unit: "us CPU",
		Loci: at.Load["cpu"]})
	b.report.add(line{Row: "memory", What: "load of the notes by 32 clients, wall time", Unit: "s",
		Loci: at.Load["seconds"]})
	b.report.add(line{Row: "memory", What: "merge of the index afterwards", Unit: "s CPU", Loci: at.Load["merge"]})
	return nil
}

// memoriesEach is the number of memories in every workspace, the searched one included.
const memoriesEach = 100

func (b *bench) otherWorkspaces() int { return max(1, b.memories/memoriesEach) }

// tenants compares the same search in a workspace alone, and beside many workspaces of another user.
func (b *bench) tenants() error {
	alone, err := b.fixture("alone", "", b.loader(memoriesEach, b.corpus.Note))
	if err != nil {
		return err
	}
	beside, err := b.crowdedFixture()
	if err != nil {
		return err
	}
	s, err := b.interleaveCopies("tenants", func(name string, at *fixture, p *process) ([]benchSide, error) {
		// The other workspaces have been searched too.
		_, err := p.send(searchRequest(at.Keys["bob"], b.corpus.WordPair(0)))
		return []benchSide{{name, func(turn int) (figures, error) {
			return p.cpuPerRequest(connections, 2000, func(i int) request {
				return searchRequest(at.Key, b.corpus.Question(turn*2000+i))
			})
		}}}, err
	}, fixtureCopy{"alone", alone, nil}, fixtureCopy{"beside", beside, nil})
	if err != nil {
		return err
	}
	b.report.add(s.ratioLine(line{Row: "tenants",
		What: fmt.Sprintf("search of 100 beside %d workspaces of 100, over alone", b.otherWorkspaces()), Unit: "us CPU",
		Threshold: 1.2},
		"beside cpu", "alone cpu"))
	return nil
}

// crowdedFixture returns a database with a workspace and many of another user.
func (b *bench) crowdedFixture() (*fixture, error) {
	own := b.loader(memoriesEach, b.corpus.Note)
	return b.fixture(fmt.Sprintf("beside-%d", b.otherWorkspaces()), "", func(p *fixture, s *process) error {
		if err := own(p, s); err != nil {
			return err
		}
		return b.fillOtherWorkspaces(p, s)
	})
}

// manyWorkspaces compares reads of all workspaces of a user with those of one.
func (b *bench) manyWorkspaces() error {
	from, err := b.crowdedFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "workspaces")
	if err != nil {
		return err
	}
	bob := at.Keys["bob"]
	body, err := p.send(newRequest("GET", "/v1/workspaces?limit=2", bob, nil))
	if err != nil {
		return err
	}
	one := firstID(body)
	kinds := []struct {
		name string
		made func(i int, scope string) request
	}{
		{"list", func(_ int, scope string) request {
			return newRequest("GET", "/v1/memories?limit=20"+scope, bob, nil)
		}},
		{"context", func(_ int, scope string) request {
			return newRequest("GET", "/v1/memories/context?limit=20"+scope, bob, nil)
		}},
		{"search", func(i int, scope string) request {
			body := map[string]any{"query": b.corpus.WordPair(i), "mode": "keyword", "limit": 20}
			if scope != "" {
				body["workspace_id"] = one
			}
			return newRequest("POST", "/v1/memories/search", bob, body)
		}},
	}
	var sides []benchSide
	for _, k := range kinds {
		for _, scope := range []string{"one", "all"} {
			in := ""
			if scope == "one" {
				in = "&workspace_id=" + one
			}
			sides = append(sides, benchSide{k.name + " " + scope, func(turn int) (figures, error) {
				return p.cpuPerRequest(1, 300, func(i int) request { return k.made(turn*300+i, in) })
			}})
		}
	}
	s, err := b.interleave("workspaces", 1, sides...)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		b.report.add(s.ratioLine(line{Row: "workspaces",
			What: fmt.Sprintf("%s of %d workspaces, over one of them", k.name,
				b.otherWorkspaces()), Unit: "us CPU", Threshold: 10},
			k.name+" all cpu", k.name+" one cpu"))
	}
	return nil
}

// fillOtherWorkspaces creates many workspaces of another user, each with memories.
func (b *bench) fillOtherWorkspaces(p *fixture, s *process) error {
	bob := p.Keys["bob"]
	ids := make([]string, b.otherWorkspaces())
	err := s.sendAll(8, len(ids), func(i int) request {
		return newRequest("POST", "/v1/workspaces", bob, map[string]any{"name": fmt.Sprint("Team ", i)})
	}, func(i int, body []byte) { ids[i] = firstID(body) })
	if err != nil {
		return err
	}
	defer s.waitIdle()
	return s.sendAll(32, memoriesEach*len(ids), func(i int) request {
		return newRequest("POST", "/v1/memories", bob,
			map[string]any{"content": b.corpus.Note(i), "workspaceId": ids[i%len(ids)]})
	}, nil)
}

// startup measures the time from the start of the process to the response to its first search. The page cache is kept.
func (b *bench) startup() error {
	from, err := b.notesFixture("")
	if err != nil {
		return err
	}
	at, err := b.copyFixture(from, "cold")
	if err != nil {
		return err
	}
	s, err := b.interleave("start", 1, benchSide{"loci", func(int) (figures, error) {
		return b.coldStart(at, searchRequest(at.Key, b.corpus.Question(0)))
	}})
	if err != nil {
		return err
	}
	b.report.add(line{Row: "start", What: "from the start to the first answered search, wall time", Unit: "ms",
		Loci: s.median("loci wall"), Threshold: 150, IsAbsolute: true})
	b.report.add(line{Row: "start", What: "the same", Unit: "ms CPU", Loci: s.median("loci cpu")})
	return nil
}

// coldStart starts Loci once, and measures the time until the first response.
func (b *bench) coldStart(at *fixture, first request) (figures, error) {
	start := time.Now()
	p, err := b.serve(b.drivers[0], at, false)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	_, err = p.send(first)
	return figures{"wall": float64(time.Since(start).Microseconds()) / 1000, "cpu": p.cpu() / 1000}, err
}
