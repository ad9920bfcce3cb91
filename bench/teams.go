package main

import (
	"fmt"

	"github.com/loci-memory/loci/bench/corpus"
)

// memberships is the number of workspaces of a user who belongs to many.
const memberships = 50

// member compares reads of one workspace by a member of many workspaces with those by a member of that one.
func (b *bench) member() error {
	one, err := b.fixture("alone", "", b.loader(memoriesEach, b.corpus.Note))
	if err != nil {
		return err
	}
	many, err := b.membersFixture()
	if err != nil {
		return err
	}
	kinds := []struct {
		name string
		made func(p *fixture, workspace string, i int) request
	}{
		{"memory.get", func(p *fixture, _ string, i int) request {
			return newRequest("GET", "/v1/memories/"+p.IDs[i%memoriesEach], p.Key, nil)
		}},
		{"search", func(p *fixture, workspace string, i int) request {
			return newRequest("POST", "/v1/memories/search", p.Key, map[string]any{"query": b.corpus.WordPair(i),
				"mode": "keyword", "limit": 20, "workspace_id": workspace})
		}},
		{"search of all", func(p *fixture, _ string, i int) request {
			return searchRequest(p.Key, b.corpus.WordPair(i))
		}},
	}
	s, err := b.interleaveCopies("member", func(name string, at *fixture, p *process) (sides []benchSide, err error) {
		workspace, err := workspaceOf(p, at.Key, at.IDs[0])
		for _, k := range kinds {
			sides = append(sides, benchSide{name + " " + k.name, func(turn int) (figures, error) {
				return p.cpuPerRequest(connections, requestsPerTurn, func(i int) request {
					return k.made(at, workspace, turn*requestsPerTurn+i)
				})
			}})
		}
		return sides, err
	}, fixtureCopy{"one", one, nil}, fixtureCopy{"many", many, nil})
	if err != nil {
		return err
	}
	for i, what := range []string{"memory.get", "search of one workspace", "search of all workspaces"} {
		l := line{Row: "member", What: fmt.Sprintf("%s, member of %d over member of 1", what, memberships),
			Unit: "us CPU"}
		if i < 2 {
			l.Threshold = 1.3
		}
		b.report.add(s.ratioLine(l, "many "+kinds[i].name+" cpu", "one "+kinds[i].name+" cpu"))
	}
	return nil
}

// workspaceOf returns the workspace of a memory.
func workspaceOf(p *process, key, memory string) (string, error) {
	body, err := p.send(newRequest("GET", "/v1/memories/"+memory, key, nil))
	return textField(body, "workspaceId"), err
}

// membersFixture returns a database like that of a member of one workspace, whose user belongs to more. They have notes
// too, and half of them another owner.
func (b *bench) membersFixture() (*fixture, error) {
	own := b.loader(memoriesEach, b.corpus.Note)
	return b.fixture(fmt.Sprintf("members-%d", memberships), "", func(p *fixture, s *process) error {
		if err := own(p, s); err != nil {
			return err
		}
		for i := range memberships - 1 {
			if err := b.addTeam(p, s, i); err != nil {
				return err
			}
		}
		s.waitIdle()
		return nil
	})
}

// addTeam creates a workspace of ann with notes, or one of bob that ann joins.
func (b *bench) addTeam(p *fixture, s *process, i int) error {
	owner := p.Keys[[]string{"ann", "bob"}[i%2]]
	body, err := s.send(newRequest("POST", "/v1/workspaces", owner, map[string]any{"name": fmt.Sprint("Team ", i)}))
	if err != nil {
		return err
	}
	team := firstID(body)
	if owner != p.Key {
		body, err = s.send(newRequest("POST", "/v1/workspaces/"+team+"/invitations", owner,
			map[string]any{"emails": []string{"ann@example.org"}}))
		if err == nil {
			_, err = s.send(newRequest("POST", "/v1/workspace-invitations/"+firstID(body)+"/respond", p.Key,
				map[string]any{"accept": true, "confirm": true}))
		}
		if err != nil {
			return err
		}
	}
	return s.sendAll(connections, memoriesEach, func(n int) request {
		return newRequest("POST", "/v1/memories", owner,
			map[string]any{"content": b.corpus.Note(memoriesEach*(i+1) + n), "workspaceId": team})
	}, nil)
}

// status compares the account status of a user with many memories, which wait for their vectors, with that of a user
// with few.
func (b *bench) status() error {
	few, err := b.fixture("alone", "", b.loader(memoriesEach, b.corpus.Note))
	if err != nil {
		return err
	}
	many, err := b.notesFixture("")
	if err != nil {
		return err
	}
	s, err := b.interleaveCopies("status", func(name string, at *fixture, p *process) ([]benchSide, error) {
		return []benchSide{{name, func(int) (figures, error) {
			return p.cpuPerRequest(connections, requestsPerTurn, func(int) request {
				return newRequest("GET", "/v1/status", at.Key, nil)
			})
		}}}, nil
	}, fixtureCopy{"few", few, nil}, fixtureCopy{"many", many, nil})
	if err != nil {
		return err
	}
	b.report.add(s.ratioLine(line{Row: "status",
		What: fmt.Sprintf("%d memories that wait for vectors, over %d", b.memories, memoriesEach), Unit: "us CPU",
		Threshold: 1.5}, "many cpu", "few cpu"))
	return nil
}

// widePlan is a plan with limits, which are checked but never reached.
var widePlan = []string{"LOCI_PLAN=free", "LOCI_PLAN_FREE_OPERATIONS=1000000000000",
	"LOCI_PLAN_FREE_STORAGE_BYTES=1000000000000", "LOCI_PLAN_FREE_TEAM_WORKSPACES=100000",
	"LOCI_PLAN_FREE_ATLASES=100000"}

// plan compares a server whose plan has limits with one whose plan has none.
func (b *bench) plan() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	kinds := []struct {
		name      string
		threshold float64
		made      func(p *fixture, i int) request
	}{
		{"memory.get", 1.25, func(p *fixture, i int) request {
			return newRequest("GET", "/v1/memories/"+p.IDs[corpus.Rand(i).IntN(len(p.IDs))], p.Key, nil)
		}},
		{"search", 1.25, func(p *fixture, i int) request { return searchRequest(p.Key, b.corpus.WordPair(i)) }},
		{"create", 1.5, func(p *fixture, i int) request { return createRequest(p, b.corpus.Prose(3_000_000+i)) }},
	}
	s, err := b.interleaveCopies("plan", func(name string, at *fixture, p *process) (sides []benchSide, err error) {
		for _, k := range kinds {
			sides = append(sides, benchSide{name + " " + k.name, func(turn int) (figures, error) {
				return p.cpuPerRequest(connections, requestsPerTurn, func(i int) request {
					return k.made(at, turn*requestsPerTurn+i)
				})
			}})
		}
		return sides, nil
	}, fixtureCopy{"selfhosted", from, nil}, fixtureCopy{"free", from, widePlan})
	if err != nil {
		return err
	}
	for _, k := range kinds {
		b.report.add(s.ratioLine(line{Row: "plan", What: k.name + " under a plan with limits, over one without",
			Unit: "us CPU", Threshold: k.threshold}, "free "+k.name+" cpu", "selfhosted "+k.name+" cpu"))
	}
	return nil
}
