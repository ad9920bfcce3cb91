package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// Bounds of the semantic leg: vectors that are compared whole in each workspace,
// of the best by words, and of the passages of one of those. Twice as many of the
// best by words change nothing.
const (
	minCandidates  = 200
	maxCandidates  = 2 * maxKeywordHits
	fillHits       = 50
	fillKeysPerHit = 4
)

// searchSemantic is the semantic leg: the vectors that promise most, and those of the
// best by words, are read and compared with that of the query.
func (s *searchRun) searchSemantic() error {
	if len(s.workspaces) == 0 {
		return nil
	}
	workspaces := make([]int64, len(s.workspaces))
	for i, p := range s.workspaces {
		workspaces[i] = p.state.Workspace
	}
	states, err := embeddb.ReadStates(s.t.conn, workspaces)
	if err != nil {
		return err
	}
	queries := make([]*vector.QueryVector, len(s.q.Embeddings))
	for i, m := range s.q.Embeddings {
		queries[i] = vector.NewQueryVector(m.Vector)
	}
	for _, state := range states {
		at := slices.IndexFunc(s.workspaces, func(p *workspaceSearch) bool {
			return p.state.Workspace == state.Workspace
		})
		made := slices.IndexFunc(s.q.Embeddings, func(q QueryEmbedding) bool { return state.MadeBy(q.Generation) })
		if at < 0 || made < 0 {
			continue
		}
		codes, err := s.t.store.vectors.BinaryCodes(s.t.conn, state)
		if err != nil {
			return err
		}
		p := s.workspaces[at]
		p.codes, p.queryVector = codes, queries[made]
		if err := s.scoreNearest(p, minCandidates); err != nil {
			return err
		}
		if !s.q.Hybrid { // else the words have told of the neighbours
			p.semanticHits = query.BoostNeighbors(p.snapshot, p.semanticHits, query.SemanticNeighborWeights, s.filter,
				int64(s.t.conn.Now))
			if err := s.widenCandidates(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// widenCandidates compares more chunks of one workspace when a page needs more
// memories. The new ones follow behind, so that earlier pages do not change.
func (s *searchRun) widenCandidates(p *workspaceSearch) error {
	for many := minCandidates; !p.exhausted && len(p.semanticHits) < s.want && many < maxCandidates; {
		many *= 2
		if err := s.scoreNearest(p, many); err != nil {
			return err
		}
	}
	return nil
}

// appendUnfused adds what is near and was not among the candidates that were fused: passages
// of few memories may have taken all their places.
func (s *searchRun) appendUnfused() error {
	for _, p := range s.workspaces {
		if p.queryVector == nil {
			continue
		}
		if err := s.widenCandidates(p); err != nil {
			return err
		}
	}
	s.hits = appendBelow(s.hits, mergeHits(s.workspaces, semanticHits, math.MaxInt))
	return nil
}

// appendBelow adds hits to a list that are not in it, with lower scores than its last.
func appendBelow(list, more []query.Hit) []query.Hit {
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

// scoreNearest compares that many of the most promising chunks of one
// workspace. Memories without a near chunk follow behind them.
func (s *searchRun) scoreNearest(p *workspaceSearch, many int) error {
	picked := p.codes.Nearest(p.snapshot.Filtered(s.filter), p.queryVector, many)
	p.exhausted = len(picked) < many
	for _, h := range p.keywordHits[:min(len(p.keywordHits), fillHits)] {
		picked = p.codes.NearestInMemory(picked, h.Memory, p.queryVector, fillKeysPerHit)
	}
	// Who reads in the order of the table reads less of it. What was picked by its
	// signs comes before the same by words: it knows its place.
	slices.SortStableFunc(picked, func(a, b vector.Ref) int { return cmp.Compare(a.Key, b.Key) })
	picked = slices.CompactFunc(picked, func(a, b vector.Ref) bool { return a.Key == b.Key })
	passages, err := s.exactScores(p, picked)
	if err == nil {
		p.semanticHits = appendBelow(p.semanticHits, query.MaxPerMemory(passages))
	}
	return err
}

// exactScores compares vectors whole, in the order of their keys. Those that were read not
// long ago need not be read again.
func (s *searchRun) exactScores(p *workspaceSearch, picked []vector.Ref) (hits []query.Hit, err error) {
	keys := make([]int64, len(picked))
	for i, v := range picked {
		keys[i] = v.Key
	}
	hits = make([]query.Hit, 0, len(picked))
	read := s.t.store.vectors.Each(s.t.conn, p.state.Workspace, keys, func(i, chunk int, vector []byte) {
		score, broken := p.queryVector.Dot(vector)
		segment, doc, known := picked[i].Location()
		if !known {
			segment, doc = p.snapshot.Locate(picked[i].Memory)
		}
		if h, there := query.NewVectorHit(p.snapshot, picked[i].Memory, segment, doc, chunk+1, score,
			int64(s.t.conn.Now)); there {
			hits = append(hits, h)
		}
		err = errors.Join(err, broken)
	})
	return hits, errors.Join(err, read)
}

// Meanings that are shown as similar: at least so near, and so many of them. Of a
// text so many bytes tell whether the model can read it.
const (
	minSimilarity       = .5
	maxSimilar          = 100
	languageSampleBytes = 1000
)

// semanticallySimilar returns the active memories of a workspace that mean nearly what one of
// them does, by the mean of its passages, best first. Where it has no vectors yet,
// or the index moves meanwhile, there are none; nor where the model cannot read how
// its text begins: what it cannot read is all alike to it.
func (t *Tx) semanticallySimilar(workspace, memory int64, text string) (list []loci.Similarity, err error) {
	states, err := embeddb.ReadStates(t.conn, []int64{workspace})
	if err != nil || len(states) == 0 || !t.store.embedder.CanRead(states[0], text) {
		return nil, err
	}
	own, err := embeddb.MemoryVectors(t.conn, states[0], memory)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	codes, err := t.store.vectors.BinaryCodes(t.conn, states[0])
	if err != nil {
		return nil, err
	}
	s := &searchRun{t: t, scope: scopeFilter{workspaces: []int64{workspace}}, filter: index.Filter{Statuses: 1},
		want: maxSimilar}
	if err := s.openSnapshots(); err != nil || len(s.workspaces) == 0 {
		if errors.Is(err, indexdb.ErrStale) {
			err = nil
		}
		return nil, err
	}
	p := s.workspaces[0]
	p.codes, p.queryVector = codes, vector.NewQueryVector(vector.Mean(own))
	if err := s.scoreNearest(p, minCandidates); err != nil {
		return nil, err
	}
	if err := s.widenCandidates(p); err != nil {
		return nil, err
	}
	return t.similarFromHits(p.semanticHits, memory, states[0])
}

// similarFromHits names the hits that are near enough and that the model of the generation
// reads, but for one memory.
func (t *Tx) similarFromHits(hits []query.Hit, except int64, state embeddb.State) (list []loci.Similarity, err error) {
	scores := map[int64]float64{}
	var rowIDs []int64
	for _, h := range hits[:min(len(hits), maxSimilar+1)] {
		if h.Memory != except && h.Score >= minSimilarity {
			rowIDs, scores[h.Memory] = append(rowIDs, h.Memory), math.Round(min(float64(h.Score), 1)*1e4)/1e4
		}
	}
	head := fmt.Sprintf(`e.title || ' ' || substr(e.content, 1, %d)`, languageSampleBytes)
	err = t.conn.QueryFew(`SELECT e.row_id, e.id, `+head+` FROM `+
		fmt.Sprintf(t.conn.Dialect.JoinIDs, 1, "memories e", "e.row_id"), []any{sqldb.EncodeInts(rowIDs)},
		func(r sqldb.Row) error {
			var rowID int64
			var id, text string
			err := r.Scan(&rowID, &id, &text)
			if t.store.embedder.CanRead(state, text) {
				list = append(list, loci.Similarity{ID: id, Score: scores[rowID]})
			}
			return err
		})
	return list, err
}
