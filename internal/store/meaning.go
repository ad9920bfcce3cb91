package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// Bounds of the semantic leg: vectors that are compared whole in each workspace,
// of the best by words, and of the passages of one of those. Twice as many of the
// best by words change nothing.
const (
	leastNearest = 200
	mostNearest  = 2 * maxHits
	filledHits   = 50
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
	probes := map[string]*search.Probe{}
	for _, m := range s.q.Meaning {
		probes[generationOf(m.Generation)] = search.NewProbe(m.Vector)
	}
	for _, state := range states {
		at := slices.IndexFunc(s.places, func(p *place) bool { return p.state.workspace == state.workspace })
		probe := probes[state.name]
		if at < 0 || probe == nil {
			continue
		}
		codes, err := s.t.codes(state)
		if err != nil {
			return err
		}
		p := s.places[at]
		p.codes, p.probe = codes, probe
		if err := s.compare(p, leastNearest); err != nil {
			return err
		}
		if !s.q.Fuse { // else the words have told of the neighbours
			p.nearest = s.kin(p, p.nearest, search.MeaningTies)
			if err := s.widen(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// widen compares more passages of one place where more is wanted than those compared
// belong to. What they add comes behind: so the first pages stay as they were, however
// far somebody reads.
func (s *finding) widen(p *place) error {
	for many := leastNearest; !p.whole && len(p.nearest) < s.want && many < mostNearest; {
		many *= 2
		if err := s.compare(p, many); err != nil {
			return err
		}
	}
	return nil
}

// beyond adds what is near and was not among the candidates that were fused: passages
// of few memories may have taken all their places.
func (s *finding) beyond() error {
	for _, p := range s.places {
		if p.probe == nil {
			continue
		}
		if err := s.widen(p); err != nil {
			return err
		}
	}
	s.hits = behind(s.hits, merged(s.places, byMeaning, math.MaxInt))
	return nil
}

// behind adds hits to a list that are not in it, with lower scores than its last.
func behind(list, more []search.Hit) []search.Hit {
	if len(list) == 0 {
		return more
	}
	known := map[int64]bool{}
	for _, h := range list {
		known[h.Memory] = true
	}
	below := math.Nextafter32(list[len(list)-1].Score, float32(math.Inf(-1)))
	for _, h := range more {
		if !known[h.Memory] {
			h.Score = min(h.Score, below)
			list = append(list, h)
		}
	}
	return list
}

// compare compares the passages of one place that promise most, so many of them. What
// is not among its nearest comes behind them.
func (s *finding) compare(p *place, many int) error {
	picked := p.view.Nearest(p.codes, p.probe, s.filter, many)
	p.whole = len(picked) < many
	fill := p.hits[:min(len(p.hits), filledHits)]
	if s.q.Without.Has(search.FeatureFill) {
		fill = nil
	}
	for _, h := range fill {
		picked = p.codes.Keys(picked, h.Memory, p.probe, filledKeys)
	}
	// Who reads in the order of the table reads less of it. What was picked by its
	// signs comes before the same by words: it knows its place.
	slices.SortStableFunc(picked, func(a, b search.Vector) int { return cmp.Compare(a.Key, b.Key) })
	picked = slices.CompactFunc(picked, func(a, b search.Vector) bool { return a.Key == b.Key })
	passages, err := s.compared(p, picked)
	if err == nil {
		p.nearest = behind(p.nearest, search.Best(passages))
	}
	return err
}

// compared compares vectors whole, in the order of their keys. Those that were read not
// long ago need not be read again.
func (s *finding) compared(p *place, picked []search.Vector) (hits []search.Hit, err error) {
	keys := make([]int64, len(picked))
	for i, v := range picked {
		keys[i] = v.Key
	}
	hits = make([]search.Hit, 0, len(picked))
	take := func(i, passage int, vector []byte) {
		score, broken := p.probe.Dot(vector)
		if h, there := p.view.Hit(picked[i], passage+1, score, int64(s.t.now)); there {
			hits = append(hits, h)
		}
		err = errors.Join(err, broken)
	}
	recent := s.t.s.indexes.vectors
	others := recent.Each(keys, take)
	if len(others) == 0 || err != nil {
		return hits, err
	}
	var key int64
	var passage int
	var vector []byte
	err = s.t.c.few(`SELECT v.rid, v.passage, v.vector FROM `+fmt.Sprintf(s.t.s.db.dialect().anyOf, 1, "vectors v", "v.rid")+` WHERE v.workspace = ?2`,
		[]any{integers(others), p.state.workspace}, func(r row) error {
			if err := r.Scan(&key, &passage, &vector); err != nil {
				return err
			}
			recent.Put(key, passage, vector)
			i, _ := slices.BinarySearch(keys, key)
			take(i, passage, vector)
			return err
		})
	return hits, err
}

// Meanings that are shown as similar: at least so near, and so many of them. Of a
// text so many bytes tell whether the model can read it.
const (
	leastAlike = .5
	mostAlike  = 100
	readHead   = 1000
)

// meantLike returns the active memories of a workspace that mean nearly what one of
// them does, by the mean of its passages, best first. Where it has no vectors yet,
// or the index moves meanwhile, there are none; nor where the model cannot read how
// its text begins: what it cannot read is all alike to it.
func (t *Tx) meantLike(workspace, memory int64, text string) (list []loci.Alike, err error) {
	states, err := t.vectorStates([]int64{workspace})
	if err != nil || len(states) == 0 || !t.s.embedding.reads(states[0].name, text) {
		return nil, err
	}
	own, err := t.vectorsOf(states[0], memory)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	codes, err := t.codes(states[0])
	if err != nil {
		return nil, err
	}
	s := &finding{t: t, reach: reach{workspaces: []int64{workspace}}, filter: search.Filter{Statuses: 1}, want: mostAlike}
	if err := s.open(); err != nil || len(s.places) == 0 {
		if errors.Is(err, errStale) {
			err = nil
		}
		return nil, err
	}
	p := s.places[0]
	p.codes, p.probe = codes, search.NewProbe(search.Mean(own))
	if err := s.compare(p, leastNearest); err != nil {
		return nil, err
	}
	if err := s.widen(p); err != nil {
		return nil, err
	}
	return t.shown(p.nearest, memory, states[0].name)
}

// vectorsOf reads the present vectors of a memory.
func (t *Tx) vectorsOf(state vectorState, memory int64) (list [][]float32, err error) {
	err = t.c.few(`SELECT v.vector FROM vectors v WHERE v.memory = ?1 AND v.generation = ?2
		AND v.seq = (SELECT max(p.seq) FROM vectors p WHERE p.memory = ?1 AND p.generation = ?2)`, []any{memory, state.generation}, func(r row) error {
		var stored []byte
		if err := r.Scan(&stored); err != nil {
			return err
		}
		v, err := search.DecodeVector(stored)
		list = append(list, v)
		return err
	})
	return list, err
}

// shown names the hits that are near enough and that the model of the generation
// reads, but for one memory.
func (t *Tx) shown(hits []search.Hit, except int64, generation string) (list []loci.Alike, err error) {
	scores := map[int64]float64{}
	var rids []int64
	for _, h := range hits[:min(len(hits), mostAlike+1)] {
		if h.Memory != except && h.Score >= leastAlike {
			rids, scores[h.Memory] = append(rids, h.Memory), math.Round(min(float64(h.Score), 1)*1e4)/1e4
		}
	}
	head := fmt.Sprintf(`e.title || ' ' || substr(e.content, 1, %d)`, readHead)
	err = t.c.few(`SELECT e.rid, e.id, `+head+` FROM `+fmt.Sprintf(t.s.db.dialect().anyOf, 1, "memories e", "e.rid"), []any{integers(rids)}, func(r row) error {
		var rid int64
		var id, text string
		err := r.Scan(&rid, &id, &text)
		if t.s.embedding.reads(generation, text) {
			list = append(list, loci.Alike{ID: id, Score: scores[rid]})
		}
		return err
	})
	return list, err
}
