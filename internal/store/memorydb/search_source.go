package memorydb

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/vector"
)

// A SearchSource reads for a search within a filter. It implements retrieve.Source.
type SearchSource struct {
	t      *scope.Scope
	places scope.Places
	filter index.Filter
}

// NewSearchSource returns the source of a search within a filter. A workspace or atlas out of scope is NotFound.
func NewSearchSource(h scope.Holder, f loci.MemoryFilter) (*SearchSource, error) {
	t := scope.Of(h)
	since, until, err := f.Period(t.Conn.Now)
	if err != nil {
		return nil, err
	}
	places, err := t.Resolve(f.WorkspaceID, f.AtlasID)
	filter := indexFilter(f, places)
	filter.Since, filter.Until = int64(since), int64(until)
	return &SearchSource{t, places, filter}, err
}

// indexFilter translates the filter for the index, all but its times.
func indexFilter(f loci.MemoryFilter, r scope.Places) (s index.Filter) {
	if r.Atlas != 0 {
		s.Atlases = []int64{r.Atlas}
	}
	for _, k := range f.Type {
		s.Types |= 1 << slices.Index(loci.MemoryTypes, k)
	}
	for _, n := range statuses(f) {
		s.Statuses |= 1 << n
	}
	s.Tags = f.Tags.Unique()
	return s
}

// CacheOwner returns the owner of the actor's cached rankings.
func (s *SearchSource) CacheOwner() loci.ID { return s.t.Actor.CacheOwner() }

// Now returns the time of the transaction.
func (s *SearchSource) Now() loci.Time { return s.t.Conn.Now }

// Filter returns the filter for the index.
func (s *SearchSource) Filter() index.Filter { return s.filter }

// States returns the states of the indexes of the workspaces.
func (s *SearchSource) States() ([]indexdb.State, error) {
	return indexdb.States(s.t.Conn, s.places.Workspaces)
}

// Snapshot returns an index in one of the states, or in a newer one.
func (s *SearchSource) Snapshot(state indexdb.State) (*indexdb.Snapshot, error) {
	return s.t.Index.Snapshot(s.t.Conn, state)
}

// Pages returns the cache of segment pages and a function that reads others.
func (s *SearchSource) Pages() (*index.Cache, index.PageFetcher) {
	if !s.t.Conn.ReadOnly {
		return index.NewCache(0), indexdb.FetchPages(s.t.Conn)
	}
	return s.t.Index.Pages, indexdb.FetchPages(s.t.Conn)
}

// LoadMemories calls f with the memories of rows that the actor can read.
func (s *SearchSource) LoadMemories(rowIDs []int64, f func(rowID, workspace int64, m loci.Memory)) error {
	return loadMemories(s.t, rowIDs, f)
}

// BinaryCodes calls f with the codes of each workspace that answers from one of the generations.
func (s *SearchSource) BinaryCodes(generations []string,
	f func(workspace int64, generation string, codes *vector.BinaryCodes) error) error {
	states, err := embeddb.ReadStates(s.t.Conn, s.places.Workspaces)
	if err != nil {
		return err
	}
	for _, state := range states {
		i := slices.IndexFunc(generations, state.MadeBy)
		if i < 0 {
			continue
		}
		codes, err := s.t.Vectors.BinaryCodes(s.t.Conn, state)
		if err != nil {
			return err
		}
		if err := f(state.Workspace, generations[i], codes); err != nil {
			return err
		}
	}
	return nil
}

// Vectors calls f with those vectors of keys that belong to workspaces of the scope.
func (s *SearchSource) Vectors(keys []int64, f func(i, chunk int, encoded []byte)) error {
	return s.t.Vectors.Each(s.t.Conn, s.places.Workspaces, keys, f)
}

// Invalidate drops the cached data of the workspaces.
func (s *SearchSource) Invalidate() {
	for _, w := range s.places.Workspaces {
		s.t.Invalidate(w)
	}
}

// RepeatableRead runs f so that its reads see one state of the database. An index that is stale even then is busy, or
// has lost pages.
func (s *SearchSource) RepeatableRead(f func() error) error {
	err := s.t.Conn.RepeatableRead(f)
	if errors.Is(err, indexdb.ErrStale) {
		indexdb.CountCorruptRead()
		err = sqldb.NewBusyError(err)
	}
	return err
}

// A SimilarSource reads the neighbors of a memory. It implements retrieve.SimilarSource.
type SimilarSource struct {
	*SearchSource
	memory  int64
	text    string        // its beginning
	early   []float32     // the vector of a memory that is not stored yet; it has no row
	vectors embeddb.State // of the workspace
}

// languageSampleBytes is the length of the sample of a text that shows whether the model knows its language.
const languageSampleBytes = 1000

// SimilarTo returns the active memories with nearly the text of a memory in scope, best first. The source finds those
// with nearly its meaning.
func SimilarTo(h scope.Holder, id loci.ID) ([]loci.Similarity, *SimilarSource, error) {
	t := scope.Of(h)
	var title, content string
	var rowID, workspace int64
	err := t.QueryRow(`SELECT e.row_id, e.title, e.content, e.workspace FROM`+Join(t)+`WHERE e.id = ?2`,
		[]any{id}, &rowID, &title, &content, &workspace)
	if err != nil {
		return nil, nil, sqldb.MapNoRows(err)
	}
	bands, err := computeBands(t, content)
	if err != nil {
		return nil, nil, err
	}
	near, err := similarTexts(t, workspace, content, bands, id)
	return near.list, &SimilarSource{memory: rowID,
		text: title + "\n" + strings.ToValidUTF8(content[:min(len(content), languageSampleBytes)], ""),
		SearchSource: &SearchSource{t, scope.Places{Workspaces: []int64{workspace}},
			index.Filter{Statuses: 1}}}, err
}

// SimilarToNew returns the source of the memories with nearly the meaning of a new one, in the workspace that a create
// chooses by these ids. The worker's model has computed the vector.
func SimilarToNew(h scope.Holder, workspaceID, atlasID loci.ID, vector []float32) (*SimilarSource, error) {
	t := scope.Of(h)
	places, err := t.ResolveNew(workspaceID, atlasID)
	places.Atlas = 0
	return &SimilarSource{early: vector, SearchSource: &SearchSource{t, places, index.Filter{Statuses: 1}}}, err
}

// Embeddings returns the row and the vectors of the memory.
func (s *SimilarSource) Embeddings() (rowID int64, vectors [][]float32, err error) {
	states, err := embeddb.ReadStates(s.t.Conn, s.places.Workspaces)
	if err != nil || len(states) == 0 || !s.t.Embedder.CanRead(states[0], s.text) {
		return 0, nil, err
	}
	s.vectors = states[0]
	if s.early != nil {
		if s.t.Embedder.Makes(s.vectors) {
			vectors = [][]float32{s.early}
		}
		return 0, vectors, nil
	}
	vectors, err = embeddb.MemoryVectors(s.t.Conn, s.vectors, s.memory)
	return s.memory, vectors, err
}

// BinaryCodes calls f with the codes of the workspace, for the first generation.
func (s *SimilarSource) BinaryCodes(generations []string,
	f func(workspace int64, generation string, codes *vector.BinaryCodes) error) error {
	codes, err := s.t.Vectors.BinaryCodes(s.t.Conn, s.vectors)
	if err != nil {
		return err
	}
	return f(s.vectors.Workspace, generations[0], codes)
}

// Readable calls f with the ids and titles of memories of the workspace of which the model can read the text.
func (s *SimilarSource) Readable(rowIDs []int64, f func(rowID int64, id loci.ID, title string)) error {
	return s.t.Conn.QueryFew(`SELECT e.row_id, e.id, e.title, `+
		fmt.Sprintf(`substr(e.content, 1, %d)`, languageSampleBytes)+` FROM `+
		fmt.Sprintf(s.t.Conn.Dialect.JoinIDs, 1, "memories e", "e.row_id")+` WHERE e.workspace = ?2`,
		[]any{sqldb.EncodeInts(rowIDs), s.places.Workspaces[0]}, func(r sqldb.Row) error {
			var rowID int64
			var id loci.ID
			var title, text string
			err := r.Scan(&rowID, &id, &title, &text)
			if err == nil && s.t.Embedder.CanRead(s.vectors, title+" "+text) {
				f(rowID, id, title)
			}
			return err
		})
}
