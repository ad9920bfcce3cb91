package retrieve

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// A Source reads what a search needs, within the scope of one actor and the filter of the search.
type Source interface {
	// CacheOwner returns the owner of rankings, which no other one gets.
	CacheOwner() loci.ID
	// Now returns the time of the search.
	Now() loci.Time
	// Filter returns the filter of the search.
	Filter() index.Filter
	// States returns the states of the indexes of the workspaces of the scope, ordered by workspace.
	States() ([]indexdb.State, error)
	// Snapshot returns an index in a state, or in a newer one.
	Snapshot(indexdb.State) (*indexdb.Snapshot, error)
	// Pages returns the cache of segment pages and a function that reads others.
	Pages() (*index.Cache, index.PageFetcher)
	// LoadMemories calls f with the memories of rows, in any order.
	LoadMemories(rowIDs []int64, f func(rowID, workspace int64, m loci.Memory)) error
	// BinaryCodes calls f with the codes of each workspace that answers from one of the generations.
	BinaryCodes(generations []string, f func(workspace int64, generation string, codes *vector.BinaryCodes) error) error
	// Vectors calls f with the vector and the chunk of each key of the scope. The keys are in ascending order.
	Vectors(keys []int64, f func(i, chunk int, encoded []byte)) error
	// Invalidate drops what is cached of the workspaces.
	Invalidate()
	// RepeatableRead runs f so that its reads see one state of the database.
	RepeatableRead(f func() error) error
}

// A SimilarSource reads the neighbors of one memory in its workspace.
type SimilarSource interface {
	Source
	// Embeddings returns the row and the vectors of the memory. There are no vectors where the memory has none yet, or
	// the model cannot read its text. BinaryCodes gives the codes of the same generation, whatever its name.
	Embeddings() (rowID int64, vectors [][]float32, err error)
	// Readable calls f with the ids and titles of memories of which the model can read the text. All others are alike
	// to it.
	Readable(rowIDs []int64, f func(rowID int64, id loci.ID, title string)) error
}
