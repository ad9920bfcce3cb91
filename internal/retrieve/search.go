package retrieve

import (
	"cmp"
	"crypto/cipher"
	"errors"
	"math"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// A Searcher searches, and caches the rankings and the vectors of recent queries.
type Searcher struct {
	rankings          *cache.Cache[rankingKey, *cachedRanking]
	heldBytes         int // of snapshots that a search holds
	seenCipher        cipher.Block
	current, previous queryEmbedder
	models            Models
}

// Options are the dependencies and settings of a Searcher.
type Options struct {
	Secret []byte // of the database: encrypts SeenSets

	// Embedder embeds queries; without it keywords alone answer. Previous serves workspaces that still have its
	// vectors.
	Embedder, Previous vector.Embedder
	EmbedTimeout       time.Duration // 0 is 300 ms
	Models             Models
	Caches             *cache.Budget // nil: one of its own
}

// Models knows of which models the database has vectors.
type Models interface {
	// AcceptsVector reports whether a search with a vector of the current model may find something.
	AcceptsVector(v []float32) bool
	// ServesGeneration reports whether some workspace answers from the vectors of a model.
	ServesGeneration(model string) bool
}

// New returns a searcher.
func New(o Options) *Searcher {
	timeout := cmp.Or(o.EmbedTimeout, defaultEmbedTimeout)
	if o.Caches == nil {
		o.Caches = cache.NewBudget(0)
	}
	return &Searcher{heldBytes: o.Caches.Limit() / heldShare, seenCipher: newSeenCipher(o.Secret), models: o.Models,
		current:  newQueryEmbedder(o.Embedder, timeout, o.Caches),
		previous: newQueryEmbedder(o.Previous, timeout, o.Caches),
		rankings: cache.New(o.Caches, "rankings", rankingSize).AtMost(maxRankingBytes)}
}

// Search returns at most limit memories that earlier pages did not show. Each workspace is ranked by its own
// statistics; then they are merged by score.
func (e *Searcher) Search(src Source, q Query, before SeenSet, limit int) (found Result, err error) {
	once := func() (err error) {
		s := e.newRun(src, q, before.Len()+limit+1)
		if err = s.run(); err == nil {
			found, err = s.buildPage(before, limit)
		}
		return err
	}
	for range 3 {
		if err = once(); !errors.Is(err, indexdb.ErrStale) {
			return found, err
		}
		src.Invalidate()
	}
	// Flushes are faster than the search reads, or pages of the index are lost.
	err = src.RepeatableRead(once)
	return found, err
}

// A searchRun is one search in progress.
type searchRun struct {
	searcher *Searcher
	src      Source
	q        Query
	filter   index.Filter
	want     int // hits

	workspaces []*workspaceSearch
	heldBytes  int                     // of snapshots
	loaded     map[int64]*loadedMemory // by row id
	best       bestScores              // of keywords
	hits       []query.Hit             // of all workspaces, best first
	nearest    []query.Hit             // those of the semantic retriever
	vectors    []*vector.QueryVector   // of the embeddings of the query
	exhausted  bool                    // all vectors were compared
	result     Result
}

func (e *Searcher) newRun(src Source, q Query, want int) *searchRun {
	return &searchRun{searcher: e, src: src, q: q, filter: src.Filter(), want: want, loaded: map[int64]*loadedMemory{}}
}

// A loadedMemory is a memory that was read, and the matches in its text once they are needed.
type loadedMemory struct {
	memory    loci.Memory
	workspace *workspaceSearch
	matches   *query.DocMatches
}

// loadedRows are the memories that a search has read, and the workspaces in their states.
type loadedRows struct {
	workspaces []*workspaceSearch
	rows       map[int64]*loadedMemory
}

// A workspaceSearch is the search in one workspace.
type workspaceSearch struct {
	state        indexdb.State
	snapshot     *index.Snapshot // nil while it is not held: see open
	isHeld       bool
	isGrouped    bool        // some memory belongs to a group
	expiry       int64       // of the first memory that expires; 0 is never
	query        query.Query // as this workspace can answer it
	matcher      *query.Matcher
	result       query.Result
	keywordHits  []query.Hit
	semanticHits []query.Hit
}

func (s *searchRun) run() error {
	if err := s.readStates(); err != nil {
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
	s.result.SemanticCandidates, s.result.SemanticTime = len(s.nearest), time.Since(began)
	if !s.q.Hybrid {
		s.hits = s.nearest
		return nil
	}
	began = time.Now()
	s.fuseHits()
	s.result.FusionTime = time.Since(began)
	if len(s.hits) < s.want {
		return s.appendUnfused()
	}
	return nil
}

// fuseHits ranks the best of both retrievers together, the same for every page. Further keyword hits follow behind
// them.
func (s *searchRun) fuseHits() {
	further := s.hits[min(len(s.hits), fusionWindow):]
	s.hits = fuse(s.hits[:len(s.hits)-len(further)], s.nearest, s.want)
	if len(s.hits) < s.want {
		s.hits = appendBelow(s.hits, further)
	}
}

// readStates reads the states of the indexes of the workspaces.
func (s *searchRun) readStates() error {
	states, err := s.src.States()
	list := make([]workspaceSearch, len(states)) // one allocation
	s.workspaces = make([]*workspaceSearch, len(states))
	for i, state := range states {
		s.workspaces[i], list[i] = &list[i], workspaceSearch{state: state, query: s.q.Keywords}
	}
	return err
}

// withSnapshot calls f with the snapshot of a workspace. A search holds some snapshots until its end. It takes the
// others one after another, because those of all workspaces may need more memory than there is.
func (s *searchRun) withSnapshot(w *workspaceSearch, f func() error) error {
	if w.snapshot == nil {
		x, err := s.src.Snapshot(w.state)
		if err != nil {
			return err
		}
		w.snapshot, w.state = x.Snapshot, x.State
	}
	err := f()
	if w.isHeld || len(s.workspaces) == 1 {
		return err
	}
	if held := s.heldBytes + w.snapshot.SizeWithSegments(); held <= s.searcher.heldBytes {
		w.isHeld, s.heldBytes = true, held
	} else {
		w.snapshot = nil
	}
	return err
}

// mergeHits returns the best hits of all workspaces, at most maximum. The hits of each are best first, so those behind
// one below the minimum are skipped.
func mergeHits(workspaces []*workspaceSearch, of func(*workspaceSearch) []query.Hit, maximum int) (hits []query.Hit) {
	if len(workspaces) == 1 {
		hits = of(workspaces[0])
		return hits[:min(len(hits), maximum)]
	}
	minimum := float32(math.Inf(-1))
	for _, w := range workspaces {
		for _, h := range of(w) {
			if h.Score < minimum {
				break
			}
			hits = append(hits, h)
		}
		if len(hits) > minMerged && len(hits)/2 > maximum {
			hits = query.TopHits(hits, maximum)
			minimum = hits[maximum-1].Score
		}
	}
	return query.TopHits(hits, maximum)
}

func keywordHits(w *workspaceSearch) []query.Hit { return w.keywordHits }

func semanticHits(w *workspaceSearch) []query.Hit { return w.semanticHits }
