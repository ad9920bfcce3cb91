package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
)

// readSets returns datasets with at most so many texts each, and every third query.
func readSets(t *testing.T, most map[string]int) (sets []relevance.Dataset) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(most)) {
		s := readDataset(t, name)
		s.Documents = s.Documents[:min(len(s.Documents), most[name])]
		for i := 0; i < len(s.Queries); i += 3 {
			s.Queries[i/3] = s.Queries[i]
		}
		s.Queries = s.Queries[:(len(s.Queries)+2)/3]
		sets = append(sets, s)
	}
	return sets
}

// A datasetWorld has the texts of all datasets in a database, and runs their queries.
type datasetWorld struct {
	*World
	who        *identity.Actor
	workspaces map[string]loci.ID // by dataset
	names      map[loci.ID]string // of texts, by the ids of their memories
	answers    map[string]string  // by dataset, mode and query: names and scores
}

func newDatasetWorld(t *testing.T, d storetest.Database, m vector.Embedder) *datasetWorld {
	w := NewEmpty(t, func(t testing.TB, o store.Options) *store.Store { return d.Open(t, o) }, Options{Embedder: m})
	return &datasetWorld{w, w.Person(t, "ann").Actor(), map[string]loci.ID{}, map[loci.ID]string{}, map[string]string{}}
}

func (l *datasetWorld) ingest(t *testing.T, s relevance.Dataset) {
	ctx := t.Context()
	in := loci.CreateWorkspace{Name: loci.Name(s.Name)}
	w := testenv.Must(l.Service.CreateWorkspace(ctx, l.who, in))(t).Workspace.ID
	l.workspaces[s.Name] = w
	for i, d := range s.Documents {
		in := loci.CreateMemory{WorkspaceID: w, Title: loci.Title(d.Title), Content: loci.Content(d.Text)}
		l.names[testenv.Must(l.Service.CreateMemory(ctx, l.who, in))(t).Memory.Memory.ID] = d.ID
		if i%100 == 99 { // fewer texts than a flush waits for: searches read several segments and a memtable
			testenv.NoError(t, l.Store.Flush(ctx, w))
		}
	}
}

// waitForEmbeddings waits until the embedding queue is empty, and checks the integrity of the database.
func (l *datasetWorld) waitForEmbeddings(t *testing.T) {
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		x := testenv.Must(l.Service.Status(t.Context(), l.who, loci.Empty{}))(t).Indexing
		if x.Failed > 0 || time.Now().After(end) {
			t.Fatalf("waiting for vectors: %+v", x)
		}
		if x.Pending == 0 {
			break
		}
	}
	if sum := testenv.Must(integrity.New(l.Store).Check(t.Context(), integrity.Options{}))(t); sum.Found > 0 {
		t.Errorf("%d inconsistencies: %+v", sum.Found, sum.Inconsistencies)
	}
}

func (l *datasetWorld) search(t *testing.T, s relevance.Dataset, mode loci.Mode) {
	for _, q := range s.Queries {
		in := loci.SearchMemories{Query: loci.Query(q.Text), Mode: mode, Paging: loci.Paging{Limit: 10},
			MemoryFilter: loci.MemoryFilter{WorkspaceID: l.workspaces[s.Name]}}
		found := testenv.Must(l.Service.SearchMemories(t.Context(), l.who, in))(t)
		// the machine is busy
		for i := 0; i < 20 && found.Mode == loci.ResolvedKeywordFallback; i++ {
			found = testenv.Must(l.Service.SearchMemories(t.Context(), l.who, in))(t)
		}
		var b strings.Builder
		fmt.Fprintln(&b, found.Mode)
		for _, m := range found.Memories {
			fmt.Fprintln(&b, m.Score, l.names[m.ID])
		}
		l.answers[s.Name+", "+string(mode)+", "+q.Text] = b.String()
	}
}

// semanticSets returns the texts whose vectors are stored in testdata.
func semanticSets(t *testing.T) []relevance.Dataset {
	t.Helper()
	return readSets(t, map[string]int{"docs": 80, "code": 250})
}

// TestEveryDatabaseReturnsTheSameSemanticHits searches real texts with vectors of the real model. Each database returns
// the same ten hits, with the same scores, in every mode.
func TestEveryDatabaseReturnsTheSameSemanticHits(t *testing.T) {
	t.Parallel()
	sets, model := semanticSets(t), openStoredModel(t)
	var mu sync.Mutex
	engines := map[string]map[string]string{}
	t.Run("databases", func(t *testing.T) {
		storetest.Each(t, func(t *testing.T, d storetest.Database) {
			l := newDatasetWorld(t, d, model)
			for _, s := range sets {
				l.ingest(t, s)
			}
			l.waitForEmbeddings(t)
			for _, s := range sets {
				for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeSemantic, loci.ModeHybrid, loci.ModeAuto} {
					l.search(t, s, mode)
				}
			}
			mu.Lock()
			engines[d.Engine] = l.answers
			mu.Unlock()
		})
	})
	first := engines[sqlite.Driver]
	for engine, answers := range engines {
		for question, answer := range answers {
			testenv.Equal(t, answer, first[question], question, engine, sqlite.Driver)
		}
	}
	for question, answer := range first {
		if strings.HasPrefix(answer, string(loci.ResolvedKeywordFallback)) {
			t.Errorf("%s: answered by words alone", question)
		}
	}
	for text := range model.known {
		if model.stored[keyOf(text)] == nil {
			t.Errorf("%s has no vector of %.40q: make golden", vectorFile, text)
		}
	}
	t.Logf("%d databases, %d answers, %d vectors", len(engines), len(first), len(model.known))
	if testenv.Whole() { // stored vectors are codes: the model makes the exact ones
		checkRecall(t, sets, model)
	}
}

// checkRecall compares the candidates of binary codes, scored in int8, with the nearest of the model's exact vectors.
func checkRecall(t *testing.T, sets []relevance.Dataset, model *storedModel) {
	isQuery := map[string]bool{}
	var queries [][]float32
	for _, s := range sets {
		for _, q := range s.Queries {
			for _, p := range vector.Chunks("", q.Text, model) {
				isQuery[p] = true
			}
			queries = append(queries, vector.Mean(testenv.Must(model.Embedder.Embed(t.Context(),
				vector.Chunks("", q.Text, model)))(t)))
		}
	}
	var vectors [][]float32
	var codes []vector.StoredVector
	var changes []index.DocUpdate
	for text := range model.known {
		if isQuery[text] {
			continue
		}
		v := testenv.Must(model.Embedder.Embed(t.Context(), []string{text}))(t)[0]
		i := int64(len(vectors))
		vectors = append(vectors, v)
		codes = append(codes, vector.StoredVector{Memory: i, Key: i, Vector: vector.Encode(v)})
		changes = append(changes, index.DocUpdate{Seq: i + 1, DocAttributes: index.DocAttributes{Memory: i}})
	}
	signs := testenv.Must(vector.NewBinaryCodes().Apply(codes))(t)
	view := index.NewSnapshot(nil).Apply(changes)
	found := 0
	for _, q := range queries {
		exact := topIndexes(len(vectors), func(i int) float64 { return dot(q, vectors[i]) })
		probe := vector.NewQueryVector(q)
		scan := vector.NewScan(probe, 200)
		scan.Add(1, signs, view.Filtered(index.Filter{}))
		picked, _ := scan.Nearest()
		near := topIndexes(len(picked), func(i int) float64 {
			return float64(testenv.Must(probe.Dot(codes[picked[i].Key].Vector))(t))
		})
		for _, i := range near {
			if slices.Contains(exact, int(picked[i].Key)) {
				found++
			}
		}
	}
	share := float64(found) / float64(10*len(queries))
	t.Logf("%.4f of the ten nearest of %d passages are found", share, len(vectors))
	if share < .98 {
		t.Errorf("only %.4f of the ten nearest of %d passages are found", share, len(vectors))
	}
}

// topIndexes returns the ten of n with the highest scores.
func topIndexes(n int, score func(i int) float64) []int {
	list, scores := make([]int, n), make([]float64, n)
	for i := range n {
		list[i], scores[i] = i, score(i)
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return list[:min(10, n)]
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
