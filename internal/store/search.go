package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/dates"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// A SearchQuery is what a search looks for: words, a meaning, or both, whose ranks
// are fused then.
type SearchQuery struct {
	Text       string
	Keywords   query.Query
	Exact      query.ExactMatcher // what of it is to be found as it stands
	Dates      []dates.Date       // that it names
	Embeddings []QueryEmbedding   // of each model that may answer; without one words alone count
	Hybrid     bool               // words and meaning; else meaning alone, where there is one
	MayFuse    bool               // it may be asked again to be fused

	previous *loadedRows
}

// WithPrevious is q asked after it was answered by words: what was read then is not read
// again where nothing has changed since.
func (q SearchQuery) WithPrevious(f SearchResult) SearchQuery {
	q.previous = f.loaded
	return q
}

// A loadedRows is the rows that a search has read, and the places that they are of.
type loadedRows struct {
	workspaces []*workspaceSearch
	rows       map[int64]*loadedMemory
}

// NewSearchQuery parses the text of a query.
func NewSearchQuery(text string) SearchQuery {
	return SearchQuery{Text: text, Keywords: query.Parse(text), Exact: query.NewExactMatcher(text),
		Dates: dates.Parse(text)}
}

// A QueryEmbedding is the vector of a query. A workspace that answers from the vectors of
// another model knows nothing of it.
type QueryEmbedding struct {
	Generation string // as the embedder names it
	Vector     []float32
}

// A SearchHit is a memory with its score, and where in it the words stand.
type SearchHit struct {
	Memory  loci.Memory
	Score   float64
	Matches query.Matches
	Chunk   int // whose meaning counted, from 1 on; 0 if none did
}

// SearchResult are what a search found: a page of the candidates, best first, of equal
// ones the earlier made first, and how many each leg found in all.
type SearchResult struct {
	Hits          []SearchHit
	HasMore       bool
	Seen          SeenSet // what this page and those before it show
	KeywordCount  int     // memories that hold a word of the query
	SemanticCount int     // memories that were compared by their meaning
	CacheHit      bool    // the words had been ranked before
	TopHit        TopHit

	Ignored   []string           // words of the query that did not count: see query.Query.Ignored
	Corrected []query.Correction // words for which others were searched

	loaded *loadedRows

	KeywordTime, SemanticTime, FusionTime time.Duration
}

// TopHit tells how well the best memory answers a query by its words.
type TopHit struct {
	QueryTerms   int     // that the query asks for
	MatchedTerms int     // of them, those that it holds
	Margin       float64 // its score over that of the next one
	ExactMatch   string  // in which way it is exactly what was asked for: see query.Exact
}

// Search searches the workspaces of a filter. Each workspace is ranked by its
// own statistics, then they are merged by score. Memories of earlier pages are
// skipped; then at most limit candidates are returned.
func (t *Tx) Search(q SearchQuery, f Filter, before SeenSet, limit int) (found SearchResult, err error) {
	r, err := t.resolveScope(f)
	if err != nil {
		return found, err
	}
	once := func() (err error) {
		s := &searchRun{t: t, q: q, scope: r, filter: f.indexFilter(r), want: before.Len() + limit + 1,
			loaded: map[int64]*loadedMemory{}}
		if err = s.run(); err == nil {
			found, err = s.buildPage(before, limit)
		}
		return err
	}
	for range 3 {
		if err = once(); !errors.Is(err, indexdb.ErrStale) {
			return found, err
		}
		for _, w := range r.workspaces {
			t.store.invalidate(w)
		}
	}
	// Folds come faster than the search reads, or pages of the index are lost.
	if err = t.conn.RepeatableRead(once); errors.Is(err, indexdb.ErrStale) {
		corruptIndexReads.Add(1)
		err = sqldb.BusyError(err)
	}
	return found, err
}

// A searchRun is one search under way.
type searchRun struct {
	t      *Tx
	q      SearchQuery
	scope  scopeFilter
	filter index.Filter
	want   int // hits

	workspaces []*workspaceSearch
	loaded     map[int64]*loadedMemory
	hits       []query.Hit // of all places, best first
	result     SearchResult
}

// A loadedMemory memory is one whose row was read, and its text once that was read for
// the words of the question.
type loadedMemory struct {
	memory    loci.Memory
	workspace *workspaceSearch
	matches   *query.DocMatches
}

// A workspaceSearch is one workspace in a finding.
type workspaceSearch struct {
	state        indexdb.State
	snapshot     *index.Snapshot
	query        query.Query    // of the question, as this workspace can answer it
	matcher      *query.Matcher // of texts for them
	result       query.Result
	keywordHits  []query.Hit // by words
	semanticHits []query.Hit // by meaning

	codes       *vector.BinaryCodes
	queryVector *vector.QueryVector
	exhausted   bool // nearest holds all that can be found by meaning
}

func (s *searchRun) run() error {
	if err := s.openSnapshots(); err != nil {
		return err
	}
	if len(s.q.Embeddings) == 0 || s.q.Hybrid {
		began := time.Now()
		if err := s.searchKeywords(); err != nil {
			return err
		}
		s.result.KeywordTime = time.Since(began)
	}
	if len(s.q.Embeddings) == 0 {
		return nil
	}
	began := time.Now()
	if err := s.searchSemantic(); err != nil {
		return err
	}
	nearest := mergeHits(s.workspaces, semanticHits, math.MaxInt)
	s.result.SemanticCount, s.result.SemanticTime = len(nearest), time.Since(began)
	if !s.q.Hybrid {
		s.hits = nearest
		return nil
	}
	began = time.Now()
	s.hits = s.fuse(nearest)
	s.result.FusionTime = time.Since(began)
	if len(s.hits) < s.want {
		return s.appendUnfused()
	}
	return nil
}

// fuse ranks the best of both retrievers together, the same for every page.
// Further keyword hits follow behind them.
func (s *searchRun) fuse(nearest []query.Hit) []query.Hit {
	best := min(len(s.hits), fusionDepth)
	fused := query.Fuse(s.hits[:best], nearest, s.want)
	if len(fused) == 0 || len(fused) >= s.want {
		return fused
	}
	last := fused[len(fused)-1].Score
	for _, h := range s.hits[best:] {
		if !slices.ContainsFunc(nearest, func(n query.Hit) bool { return n.Memory == h.Memory }) {
			h.Score = last
			fused = append(fused, h)
		}
	}
	return fused
}

// openSnapshots reads the states of the indexes.
func (s *searchRun) openSnapshots() error {
	states, err := indexdb.States(s.t.conn, s.scope.workspaces)
	if err != nil {
		return err
	}
	all := make([]workspaceSearch, len(states))
	s.workspaces = make([]*workspaceSearch, len(states))
	for i, state := range states {
		x, err := s.t.store.index.Snapshot(s.t.conn, state)
		if err != nil {
			return err
		}
		all[i] = workspaceSearch{state: state, snapshot: x.Snapshot, query: s.q.Keywords}
		s.workspaces[i] = &all[i]
	}
	return nil
}

// mergedAtOnce is how many hits are gathered at least before those are dropped that are not wanted.
const mergedAtOnce = 64

// mergeHits are the hits of all places by score, the best ones, at most that many. The hits of each place are best
// first: none is looked at behind one that is too bad.
func mergeHits(places []*workspaceSearch, of func(*workspaceSearch) []query.Hit, maximum int) (hits []query.Hit) {
	if len(places) == 1 {
		hits = of(places[0])
		return hits[:min(len(hits), maximum)]
	}
	minimum := float32(math.Inf(-1))
	for _, p := range places {
		for _, h := range of(p) {
			if h.Score < minimum {
				break
			}
			hits = append(hits, h)
		}
		if len(hits) > mergedAtOnce && len(hits)/2 > maximum {
			hits = query.TopHits(hits, maximum)
			minimum = hits[maximum-1].Score
		}
	}
	return query.TopHits(hits, maximum)
}

func keywordHits(p *workspaceSearch) []query.Hit { return p.keywordHits }

func semanticHits(p *workspaceSearch) []query.Hit { return p.semanticHits }

// buildPage shows a page of the hits. Scores are shown with four digits.
func (s *searchRun) buildPage(before SeenSet, limit int) (SearchResult, error) {
	hits, more, shown := s.nextPage(before, limit)
	s.result.loaded = &loadedRows{s.workspaces, s.loaded}
	s.result.Ignored, s.result.Corrected = s.queryRewrites()
	fit, err := s.fillPage(hits)
	if err != nil {
		return s.result, err
	}
	if fit < len(hits) {
		hits, more, shown = s.nextPage(before, fit)
	}
	s.result.HasMore, s.result.Seen = more, shown
	s.result.Hits = make([]SearchHit, 0, len(hits))
	for _, h := range hits {
		if x := s.loaded[h.Memory]; x != nil {
			s.result.Hits = append(s.result.Hits, SearchHit{x.memory, math.Round(float64(h.Score)*1e4) / 1e4,
				s.matchText(x).Content, h.Chunk})
		}
	}
	return s.result, nil
}

// nextPage are the best hits that were not shown before, whether there are more of them,
// and what is shown then.
func (s *searchRun) nextPage(before SeenSet, limit int) (hits []query.Hit, more bool, shown SeenSet) {
	known, next := before.tags(), []byte(before)
	for _, h := range s.hits {
		m := s.t.store.seenTag(h.Memory)
		switch {
		case known[m]:
		case len(hits) == limit:
			return hits, true, SeenSet(next)
		default:
			hits, next = append(hits, h), append(next, m[:]...)
		}
	}
	return hits, false, SeenSet(next)
}

// highlightBytes is what the highlights of a memory may take on a page.
const highlightBytes = 8 << 10

// fillPage reads the rows of hits, some at a time, and returns how many of the hits a
// page has room for.
func (s *searchRun) fillPage(hits []query.Hit) (int, error) {
	page := byteBudget{remaining: pageByteBudget}
	for i := 0; i < len(hits); i += memoriesPerQuery {
		some := hits[i:min(i+memoriesPerQuery, len(hits))]
		if err := s.loadRows(some); err != nil {
			return 0, err
		}
		for j, h := range some {
			if x := s.loaded[h.Memory]; x != nil && !page.spend(JSONSize(&x.memory)+highlightBytes) {
				return i + j, nil
			}
		}
	}
	return len(hits), nil
}

// loadRows reads the rows of hits that were not read before.
func (s *searchRun) loadRows(hits []query.Hit) error {
	var rowIDs []int64
	for _, h := range hits {
		if s.loaded[h.Memory] == nil {
			rowIDs = append(rowIDs, h.Memory)
		}
	}
	if len(rowIDs) == 0 {
		return nil
	}
	q := `SELECT` + memoryColumns + `, e.row_id, e.workspace FROM ` +
		fmt.Sprintf(s.t.conn.Dialect.JoinIDs, 2, "memories e", "e.row_id") +
		s.t.membershipJoin("e.workspace") + `JOIN atlases a ON a.row_id = e.atlas`
	var rowID, home int64
	scan := s.t.newMemoryScanner(&rowID, &home)
	return s.t.queryFew(q, []any{sqldb.EncodeInts(rowIDs)}, func(r sqldb.Row) error {
		m, err := scan(r)
		at, there := slices.BinarySearchFunc(s.workspaces, home, func(p *workspaceSearch, w int64) int {
			return cmp.Compare(p.state.Workspace, w)
		})
		if there {
			s.loaded[rowID] = &loadedMemory{memory: m, workspace: s.workspaces[at]}
		}
		return err
	})
}

// indexFilter returns the filter in the words of the index.
func (f Filter) indexFilter(r scopeFilter) (s index.Filter) {
	if r.atlas != 0 {
		s.Atlases = []int64{r.atlas}
	}
	for _, k := range f.Types {
		s.Kinds |= 1 << slices.Index(loci.MemoryTypes, k)
	}
	for _, n := range f.statuses() {
		s.Statuses |= 1 << n
	}
	s.Tags = f.Tags
	return s
}
