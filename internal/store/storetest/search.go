package storetest

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
)

var searcher = retrieve.New(retrieve.Options{Secret: []byte("secret")})

// Search searches within a filter.
func Search(tx *store.Tx, q retrieve.Query, f store.Filter, seen retrieve.SeenSet,
	limit int) (retrieve.Result, error) {
	src, err := tx.SearchSource(f)
	if err != nil {
		return retrieve.Result{}, err
	}
	return searcher.Search(src, q, seen, limit)
}

// Similar returns the memories that resemble one.
func Similar(tx *store.Tx, id string) ([]loci.Similarity, error) {
	list, src, err := tx.SimilarTo(id)
	if err != nil {
		return nil, err
	}
	return searcher.Similar(src, list)
}
