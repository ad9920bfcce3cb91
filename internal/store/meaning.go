package store

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/search"
)

// Bounds of the semantic leg: vectors that are compared whole in each workspace,
// of the best by words, and of the passages of one of those.
const (
	leastNearest = 200
	mostNearest  = 2 * maxHits
	filledHits   = 100
	filledKeys   = 4
)

// meaning is the semantic leg: the vectors that promise most, and those of the
// best by words, are read and compared with that of the query.
func (s *finding) meaning() error {
	if len(s.places) == 0 {
		return nil
	}
	workspaces := make([]int64, len(s.places))
	for i, p := range s.places {
		workspaces[i] = p.state.workspace
	}
	states, err := s.t.vectorStates(workspaces)
	if err != nil {
		return err
	}
	probe := search.NewProbe(s.q.Meaning.Vector)
	for _, p := range s.places {
		for _, state := range states {
			if state.workspace != p.state.workspace || !strings.HasPrefix(state.name, s.q.Meaning.Generation+"/") {
				continue
			}
			codes, err := s.t.codes(state)
			if err != nil {
				return err
			}
			if p.nearest, err = s.nearest(p, codes, probe); err != nil {
				return err
			}
		}
	}
	return nil
}

// nearest compares the candidates of one place, best first.
func (s *finding) nearest(p *place, codes *search.Codes, probe *search.Probe) ([]search.Hit, error) {
	picked := p.view.Nearest(codes, probe, s.filter, min(max(2*s.want, leastNearest), mostNearest))
	for _, h := range p.hits[:min(len(p.hits), filledHits)] {
		picked = append(picked, codes.Keys(h.Memory, probe, filledKeys)...)
	}
	memories, keys := make(map[int64]int64, len(picked)), make([]int64, 0, len(picked))
	for _, v := range picked {
		if _, twice := memories[v.Key]; !twice {
			memories[v.Key] = v.Memory
			keys = append(keys, v.Key)
		}
	}
	var passages []search.Hit
	err := s.t.c.few(`SELECT v.rid, v.vector FROM `+fmt.Sprintf(s.t.s.db.dialect().anyOf, 1, "vectors v", "v.rid")+` WHERE v.workspace = ?2`,
		[]any{integers(keys), p.state.workspace}, func(r row) error {
			var key int64
			var vector []byte
			if err := r.Scan(&key, &vector); err != nil {
				return err
			}
			score, err := probe.Dot(vector)
			passages = append(passages, search.Hit{Memory: memories[key], Score: score})
			return err
		})
	if err != nil {
		return nil, err
	}
	return p.view.Stand(search.Best(passages), int64(s.t.now)), nil
}
