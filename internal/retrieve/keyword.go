package retrieve

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/quickselect"
)

// searchKeywords is the keyword retriever. It ranks by the statistics of the index. Then it corrects the best scores by
// the texts and by their neighbors.
func (s *searchRun) searchKeywords() error {
	key := s.rankingKey()
	if s.lookupRanking(key) {
		s.hits = mergeHits(s.workspaces, keywordHits, max(s.want, maxKeywordHits))
		return nil
	}
	if err := s.rankKeywords(); err != nil {
		return err
	}
	if err := s.rescore(); err != nil {
		return err
	}
	for _, w := range s.workspaces {
		if !w.isGrouped {
			continue
		}
		if err := s.withSnapshot(w, func() error {
			w.keywordHits = query.BoostNeighbors(w.snapshot, w.keywordHits, keywordNeighborWeights, s.filter,
				int64(s.src.Now()))
			return nil
		}); err != nil {
			return err
		}
	}
	s.hits = mergeHits(s.workspaces, keywordHits, max(s.want, maxKeywordHits))
	if err := s.assessTopHit(s.hits); err != nil {
		return err
	}
	s.saveRanking(key)
	return nil
}

// rankKeywords ranks by the index alone. It corrects only the words that occur in no workspace.
func (s *searchRun) rankKeywords() error {
	q := s.q.Keywords
	if len(s.workspaces) == 1 {
		return s.answer(q, false)
	}
	if err := s.answer(q.CorrectOnly(nil), false); err != nil {
		return err
	}
	unknown := q.MisspellingCandidates()
	for _, w := range s.workspaces {
		if len(unknown) > 0 {
			unknown = w.result.UnknownWords(w.query, unknown)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return s.answer(q.CorrectOnly(unknown), true)
}

// answer searches each workspace for a query. again says that the workspaces that correct no word of it keep their
// results. Corrected words add to scores, so that the least score of the first search still holds.
func (s *searchRun) answer(q query.Query, again bool) error {
	pages, fetch := s.src.Pages()
	now := int64(s.src.Now())
	if s.best.most = max(s.want, s.rescoreDepth()); s.needsFusionDepth() {
		s.best.most = max(s.best.most, fusionWindow)
	}
	for _, w := range s.workspaces {
		if err := s.withSnapshot(w, func() (err error) {
			depth, q := s.best.most, q.WithMinScore(s.best.least)
			if w.isGrouped = w.snapshot.HasGroups(); w.isGrouped { // its hits may rise
				depth, q = maxKeywordHits, q.WithMinScore(0)
			}
			if w.expiry = w.snapshot.NextExpiry(now); again {
				return s.correct(w, pages, fetch, q, now, depth)
			}
			w.query, w.result, err = query.Search(w.snapshot, pages, fetch, q, s.filter, now, depth)
			w.keywordHits = w.result.Hits
			s.best.add(w.keywordHits)
			s.result.KeywordCandidates += w.result.Total
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// correct searches a workspace again where it corrects a word of the query.
func (s *searchRun) correct(w *workspaceSearch, pages *index.Cache, fetch index.PageFetcher, q query.Query, now int64,
	depth int) error {
	q, r, corrected, err := query.SearchCorrected(w.snapshot, pages, fetch, q, s.filter, now, depth)
	if corrected {
		s.result.KeywordCandidates += r.Total - w.result.Total
		w.query, w.result, w.keywordHits = q, r, r.Hits
	}
	return err
}

// bestScores are the best scores of all workspaces.
type bestScores struct {
	most  int
	list  []float32
	least float32 // a score that as many hits have reached
}

func (b *bestScores) add(hits []query.Hit) {
	for _, h := range hits[:min(len(hits), b.most)] {
		b.list = append(b.list, h.Score)
	}
	if len(b.list) < 2*b.most {
		return
	}
	quickselect.Select(b.list, b.most, func(x, y float32) int { return cmp.Compare(y, x) })
	b.list = b.list[:b.most]
	b.least = b.list[b.most-1]
}

// rescoreDepth returns the number of best hits that are rescored by their texts.
func (s *searchRun) rescoreDepth() int {
	if s.q.Exact.Active() {
		return exactRescoreDepth
	}
	return rescoreDepth
}

// rescore corrects the scores of the best hits by their texts. Their number does not depend on the page limit, so all
// pages agree. Scores of other hits are capped at the lowest rescored score, so these keep their order behind.
func (s *searchRun) rescore() error {
	depth := s.rescoreDepth()
	top := mergeHits(s.workspaces, keywordHits, depth+1)
	if len(top) == 0 {
		return nil
	}
	if err := s.loadRows(top[:min(len(top), depth)]); err != nil {
		return err
	}
	best, floor := top[0].Score, float32(math.Inf(1))
	rescored := map[*workspaceSearch]int{} // numbers of hits in the workspaces of the best hits
	for _, x := range s.loaded {
		rescored[x.workspace] = 0
	}
	for w := range rescored {
		if n := s.rescoreWorkspace(w, best); n > 0 {
			rescored[w], floor = n, min(floor, w.keywordHits[n-1].Score)
		}
	}
	if len(top) > depth && top[depth].Score > floor {
		for _, w := range s.workspaces {
			query.CapScores(w.keywordHits[rescored[w]:], floor, top[depth].Score)
		}
	}
	return nil
}

// rescoreWorkspace rescores the loaded hits of a workspace and moves them to the front. It returns their number.
func (s *searchRun) rescoreWorkspace(w *workspaceSearch, best float32) int {
	n := len(s.loaded)
	hits, texts, rows := make([]query.Hit, 0, len(w.keywordHits)), make([]*query.DocMatches, 0, n),
		make([]*loadedMemory, 0, n)
	var others []query.Hit
	for _, h := range w.keywordHits {
		if x := s.loaded[h.Memory]; x != nil {
			hits, texts, rows = append(hits, h), append(texts, s.matchText(x)), append(rows, x)
		} else {
			others = append(others, h)
		}
	}
	w.result.Rescore(w.query, hits, texts)
	lift := w.result.DateBoost(w.query, best)
	for i, h := range hits {
		m := &rows[i].memory
		h = h.BoostDate(s.q.Dates, m.Title, m.Content, lift)
		if s.q.Exact.Active() && s.q.Exact.Match(m.Title, m.Content) != "" {
			h = h.BoostExact(best)
		}
		hits[i] = h
	}
	query.SortHits(hits)
	w.keywordHits = append(hits, others...)
	return len(hits)
}

// assessTopHit describes the best keyword hit.
func (s *searchRun) assessTopHit(hits []query.Hit) error {
	s.result.TopHit.QueryWords = s.q.Keywords.WordCount()
	if len(hits) == 0 {
		return nil
	}
	if err := s.loadRows(hits[:1]); err != nil {
		return err
	}
	x := s.loaded[hits[0].Memory]
	if x == nil {
		return nil // deleted meanwhile
	}
	s.result.TopHit.QueryWords = x.workspace.query.WordCount()
	s.result.TopHit.ExactMatch = s.q.Exact.Match(x.memory.Title, x.memory.Content)
	s.result.TopHit.MatchedWords = s.matchText(x).MatchedWords()
	s.result.TopHit.ScoreRatio = noRunnerUp
	if len(hits) > 1 && hits[1].Score > 0 {
		s.result.TopHit.ScoreRatio = float64(hits[0].Score / hits[1].Score)
	}
	return nil
}

// matchText returns the matches of the query in the text of a memory.
func (s *searchRun) matchText(x *loadedMemory) *query.DocMatches {
	if x.matches == nil {
		if x.workspace.matcher == nil {
			x.workspace.matcher = x.workspace.query.Matcher()
		}
		x.matches = x.workspace.matcher.MatchDoc(x.memory.Title, x.memory.Content)
	}
	return x.matches
}

// queryRewrites returns the words that some workspace dropped, and the spelling corrections. Each is returned once.
func (s *searchRun) queryRewrites() (ignored []string, corrected []query.Correction) {
	for _, w := range s.workspaces {
		for _, word := range w.query.Ignored() {
			if !slices.Contains(ignored, word) {
				ignored = append(ignored, word)
			}
		}
		for _, c := range w.query.Corrections() {
			if !slices.Contains(corrected, c) {
				corrected = append(corrected, c)
			}
		}
	}
	return ignored[:min(len(ignored), maxIgnored)], corrected[:min(len(corrected), maxCorrected)]
}
