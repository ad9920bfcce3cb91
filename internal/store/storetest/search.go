package storetest

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/testenv"
)

var searcher = retrieve.New(retrieve.Options{Secret: []byte("secret")})

// Search searches within a filter.
func Search(tx *store.Tx, q retrieve.Query, f loci.MemoryFilter, seen retrieve.SeenSet,
	limit int) (retrieve.Result, error) {
	src, err := memorydb.NewSearchSource(tx, f)
	if err != nil {
		return retrieve.Result{}, err
	}
	return searcher.Search(src, q, seen, limit)
}

// Similar returns the memories that resemble one.
func Similar(tx *store.Tx, id loci.ID) ([]loci.Similarity, error) {
	list, src, err := memorydb.SimilarTo(tx, id)
	if err != nil {
		return nil, err
	}
	neighbors, err := searcher.Similar(src, retrieve.SimilarToStored)
	return memorydb.MergeSimilar(list, neighbors), err
}

// SearchKeywords returns the first page of a keyword search.
func SearchKeywords(t testing.TB, s *store.Store, actor *identity.Actor, text string,
	f loci.MemoryFilter) retrieve.Result {
	t.Helper()
	r := testenv.Must(store.Read(context.Background(), s, actor, func(tx *store.Tx) (retrieve.Result, error) {
		return Search(tx, retrieve.Query{Keywords: query.Parse(text)}, f, "", 50)
	}))(t)
	return r
}
