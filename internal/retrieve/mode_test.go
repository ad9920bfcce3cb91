package retrieve_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// models accepts vectors of both models, or of none.
type models bool

func (m models) AcceptsVector([]float32) bool { return bool(m) }

func (m models) ServesGeneration(string) bool { return bool(m) }

var harbourWall = retrieve.NewQuery("harbour wall")

func TestModeDecidesWhichRetrieversAnswer(t *testing.T) {
	t.Parallel()
	strong := retrieve.TopHit{QueryWords: 2, MatchedWords: 2, ScoreRatio: 3}
	weak := retrieve.TopHit{QueryWords: 2, MatchedWords: 2, ScoreRatio: 1.5}
	for _, c := range []struct {
		name     string
		mode     loci.Mode
		top      retrieve.TopHit
		embedder *storetest.FakeEmbedder
		accepts  models
		want     loci.ResolvedMode
		searches []int // embeddings of each query
	}{
		{"keyword", loci.ModeKeyword, weak, &storetest.FakeEmbedder{}, true, loci.ResolvedKeyword, []int{0}},
		{"strong keywords", loci.ModeAuto, strong, &storetest.FakeEmbedder{}, true, loci.ResolvedKeyword, []int{0}},
		{"weak keywords", loci.ModeAuto, weak, &storetest.FakeEmbedder{}, true, loci.ResolvedHybrid, []int{0, 2}},
		{"slow embedder", loci.ModeAuto, weak, &storetest.FakeEmbedder{Gate: make(chan struct{})}, true,
			loci.ResolvedKeywordFallback, []int{0}},
		{"failing embedder", loci.ModeHybrid, weak, &storetest.FakeEmbedder{Rejects: "*"}, true,
			loci.ResolvedKeywordFallback, []int{0}},
		{"no vectors of the model", loci.ModeSemantic, weak, &storetest.FakeEmbedder{}, false,
			loci.ResolvedKeywordFallback, []int{0}},
		{"semantic", loci.ModeSemantic, weak, &storetest.FakeEmbedder{}, true, loci.ResolvedSemantic, []int{2}},
		{"hybrid", loci.ModeHybrid, weak, &storetest.FakeEmbedder{}, true, loci.ResolvedHybrid, []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if c.embedder.Gate != nil {
				timeout = time.Millisecond
			}
			e := retrieve.New(retrieve.Options{Embedder: c.embedder, Previous: &storetest.FakeEmbedder{Name: "former"},
				EmbedTimeout: timeout, Models: c.accepts})
			var searches []int
			_, meta, err := e.Run(t.Context(), retrieve.Request{CacheOwner: "ann",
				Query: harbourWall, Mode: c.mode, Find: func(q retrieve.Query) (retrieve.Result, error) {
					searches = append(searches, len(q.Embeddings))
					return retrieve.Result{TopHit: c.top}, nil
				}})
			if err != nil || meta.ResolvedMode != c.want || !slices.Equal(searches, c.searches) {
				t.Errorf("mode %s with embeddings %v, %v; want %s with %v", meta.ResolvedMode, searches, err, c.want,
					c.searches)
			}
		})
	}
}

func TestQueryVectorsAreCachedByOwner(t *testing.T) {
	t.Parallel()
	model := &storetest.FakeEmbedder{}
	e := retrieve.New(retrieve.Options{Embedder: model, EmbedTimeout: time.Minute, Models: models(true)})
	for _, c := range []struct {
		owner    loci.ID
		embedded int64
		cache    loci.CacheLevel
	}{{"ann", 1, loci.CacheNone}, {"ann", 1, loci.CacheEmbedding}, {"bob", 2, loci.CacheNone}} {
		request := retrieve.Request{CacheOwner: c.owner, Query: harbourWall, Mode: loci.ModeSemantic,
			Find: func(retrieve.Query) (retrieve.Result, error) { return retrieve.Result{}, nil }}
		_, meta, err := e.Run(t.Context(), request)
		if n := model.Embedded.Load(); err != nil || n != c.embedded || meta.Cache != c.cache {
			t.Errorf("%s: %d texts were embedded, cache %s, %v", c.owner, n, meta.Cache, err)
		}
	}
}

func TestSearchErrorEndsTheRequest(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	e := retrieve.New(retrieve.Options{})
	find := func(retrieve.Query) (retrieve.Result, error) { return retrieve.Result{}, broken }
	_, _, err := e.Run(t.Context(), retrieve.Request{Query: harbourWall, Mode: loci.ModeAuto, Find: find})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}
