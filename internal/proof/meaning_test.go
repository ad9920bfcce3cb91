package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A memo is the built-in model. It embeds each text once, for all databases.
type memo struct {
	*embed.MiniLM
	mu    sync.Mutex
	known map[string]func() []float32
}

func (m *memo) Embed(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, text := range texts {
		m.mu.Lock()
		f := m.known[text]
		if f == nil {
			f = sync.OnceValue(func() []float32 {
				v, err := m.MiniLM.Embed(context.Background(), []string{text})
				if err != nil {
					panic(err) // its only error is that of the context
				}
				return v[0]
			})
			m.known[text] = f
		}
		m.mu.Unlock()
		list[i] = f()
	}
	return list, nil
}

// readSets are sets of which each has at most so many texts.
func readSets(t *testing.T, most map[string]int) (sets []retrieval.Set) {
	t.Helper()
	if _, err := os.Stat(corporaDir); err != nil {
		t.Skip("the texts are not here: ", err)
	}
	for _, name := range slices.Sorted(maps.Keys(most)) {
		s := readSet(t, name)
		s.Documents = s.Documents[:min(len(s.Documents), most[name])]
		sets = append(sets, s)
	}
	return sets
}

// A librarian has the texts of all sets in a database, and asks their questions.
type librarian struct {
	*World
	who        *loci.Actor
	workspaces map[string]string // by set
	names      map[string]string // of texts, by the ids of their memories
	answers    map[string]string // by set, mode and question: names and scores
}

func newLibrarian(t *testing.T, d storetest.Database, m search.Embedder) *librarian {
	w := Empty(t, func(t testing.TB, o store.Options) *store.Store { return d.Open(t, o) }, Options{Embedder: m})
	return &librarian{w, w.Person(t, "ann").Actor(), map[string]string{}, map[string]string{}, map[string]string{}}
}

func (l *librarian) write(t *testing.T, s retrieval.Set) {
	ctx := t.Context()
	w := Must(l.Service.CreateWorkspace(ctx, l.who, loci.CreateWorkspace{Name: loci.Name(s.Name)}))(t).Workspace.ID
	l.workspaces[s.Name] = w
	for _, d := range s.Documents {
		in := loci.CreateMemory{WorkspaceID: w, Title: loci.Title(d.Title), Content: loci.Content(d.Text)}
		l.names[Must(l.Service.CreateMemory(ctx, l.who, in))(t).Memory.Memory.ID] = d.ID
	}
}

// settle waits until nothing waits for its vectors, and looks whether all is as it
// should be.
func (l *librarian) settle(t *testing.T) {
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		x := Must(l.Service.Status(t.Context(), l.who, loci.Nothing{}))(t).Indexing
		if x.Failed > 0 || time.Now().After(end) {
			t.Fatalf("waiting for vectors: %+v", x)
		}
		if x.Pending == 0 {
			break
		}
	}
	if sum := Must(l.Store.Inspect(t.Context(), store.Inspection{}))(t); sum.Found > 0 {
		t.Errorf("%d flaws: %+v", sum.Found, sum.Flaws)
	}
}

func (l *librarian) ask(t *testing.T, s retrieval.Set, mode loci.Mode) {
	for _, q := range s.Questions {
		in := loci.SearchMemories{Query: loci.Query(q.Text), Mode: mode, WorkspaceID: l.workspaces[s.Name], Limit: 10}
		found := Must(l.Service.SearchMemories(t.Context(), l.who, in))(t)
		for i := 0; i < 20 && found.Mode == loci.KeywordFallback; i++ { // the machine is busy
			found = Must(l.Service.SearchMemories(t.Context(), l.who, in))(t)
		}
		var b strings.Builder
		fmt.Fprintln(&b, found.Mode)
		for _, m := range found.Memories {
			fmt.Fprintln(&b, m.Score, l.names[m.ID])
		}
		l.answers[s.Name+", "+string(mode)+", "+q.Text] = b.String()
	}
}

// TestEveryDatabaseUnderstandsTheSame is search by meaning on real texts, by the
// real model: each database has the same ten, with the same scores, in every mode.
func TestEveryDatabaseUnderstandsTheSame(t *testing.T) {
	t.Parallel()
	sets := readSets(t, map[string]int{"docs": 80, "code": 737})
	model := &memo{MiniLM: embed.NewMiniLM(), known: map[string]func() []float32{}}
	for _, s := range sets {
		for _, q := range s.Questions { // so that none comes too late
			Must(model.Embed(t.Context(), search.Passages("", q.Text, model)))(t)
		}
	}
	var mu sync.Mutex
	engines := map[string]map[string]string{}
	t.Run("databases", func(t *testing.T) {
		storetest.Each(t, func(t *testing.T, d storetest.Database) {
			l := newLibrarian(t, d, model)
			for _, s := range sets {
				l.write(t, s)
			}
			l.settle(t)
			for _, s := range sets {
				for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeSemantic, loci.ModeHybrid, loci.ModeAuto} {
					l.ask(t, s, mode)
				}
			}
			mu.Lock()
			engines[d.Engine] = l.answers
			mu.Unlock()
		})
	})
	first := engines[store.Driver]
	for engine, answers := range engines {
		for question, answer := range answers {
			if answer != first[question] {
				t.Errorf("%s: %s finds\n%s%s\n%s", question, engine, answer, store.Driver, first[question])
			}
		}
	}
	for question, answer := range first {
		if strings.HasPrefix(answer, string(loci.KeywordFallback)) {
			t.Errorf("%s: answered by words alone", question)
		}
	}
	t.Logf("%d databases, %d answers, %d vectors", len(engines), len(first), len(model.known))
	recall(t, sets, model)
}

// recall compares what is picked by signs and weighed in int8 with what is nearest
// by the vectors as the model gives them.
func recall(t *testing.T, sets []retrieval.Set, model *memo) {
	asked := map[string]bool{}
	var queries [][]float32
	for _, s := range sets {
		for _, q := range s.Questions {
			for _, p := range search.Passages("", q.Text, model) {
				asked[p] = true
			}
			queries = append(queries, search.Mean(Must(model.Embed(t.Context(), search.Passages("", q.Text, model)))(t)))
		}
	}
	var vectors [][]float32
	var codes []search.Coded
	var changes []search.Change
	for text, f := range model.known {
		if asked[text] {
			continue
		}
		i := int64(len(vectors))
		vectors = append(vectors, f())
		codes = append(codes, search.Coded{Memory: i, Key: i, Vector: search.EncodeVector(f())})
		changes = append(changes, search.Change{Seq: i + 1, Attributes: search.Attributes{Memory: i}})
	}
	signs := Must(search.NewCodes().With(codes))(t)
	view := search.NewView(nil).With(changes)
	found := 0
	for _, q := range queries {
		exact := best(len(vectors), func(i int) float64 { return dot(q, vectors[i]) })
		probe := search.NewProbe(q)
		picked := view.Nearest(signs, probe, search.Filter{}, 200)
		near := best(len(picked), func(i int) float64 {
			return float64(Must(probe.Dot(codes[picked[i].Key].Vector))(t))
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

// best are the ten of n with the highest scores.
func best(n int, score func(i int) float64) []int {
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
