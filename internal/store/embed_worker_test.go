package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

func changeContent(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, content string) {
	t.Helper()
	text := loci.Content(content)
	if _, err := newService(s).UpdateMemory(ctx, actor,
		loci.UpdateMemory{MemoryID: id, Content: &text}); err != nil {
		t.Fatal(err)
	}
}

func TestWorkersEmbedEachTextOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one"}
		s := d.Open(t, store.Options{Embedder: m})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		a := add(t, s, ann, "", "the blue boat")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
			add(t, s, bob, "", fmt.Sprint("another number ", i))
		}
		waitForEmbeddings(t, s)
		if n := m.Embedded.Load(); n != 41 {
			t.Errorf("%d texts were embedded", n)
		}
		changeContent(t, s, ann, a.ID, "the red bicycle")
		waitForEmbeddings(t, s)
		changeContent(t, s, ann, a.ID, "the blue boat") // as it was
		add(t, s, ann, "", "the red bicycle")
		add(t, s, bob, "", "the blue boat") // of another workspace: nothing is known of it there
		waitForEmbeddings(t, s)
		if n := m.Embedded.Load(); n != 43 {
			t.Errorf("%d texts were embedded, with a change, a copy, and one elsewhere", n)
		}
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "44" {
			t.Errorf("%s vectors are stored", n)
		}
	})
}

func TestRefusedTextDelaysNoOtherAndIsRetried(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one", Rejects: "poison"}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "poison")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		waittest.Until(t, func() bool {
			b := storetest.Backlog(t, s)
			return b.Pending == 1 && b.Failed == 1 && b.LastError == "the model says no"
		})
		m.RejectTexts("")
		waitForEmbeddings(t, s)
	})
}

func TestUnreachableModelLosesNoMemory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one", Rejects: "*"}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		a := add(t, s, ann, "", "first")
		changeContent(t, s, ann, a.ID, "second")
		s.Close()
		s = d.Open(t, store.Options{}) // without a model they wait
		add(t, s, ann, "", "third")
		if b := storetest.Backlog(t, s); b.Pending != 2 {
			t.Errorf("%+v", b)
		}
		s.Close()
		m.RejectTexts("")
		s = d.Open(t, store.Options{Embedder: m})
		waitForEmbeddings(t, s)
		if m.Embedded.Load() != 2 {
			t.Errorf("%d texts were embedded", m.Embedded.Load())
		}
	})
}

func TestVectorsAreOfCurrentText(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		a := add(t, s, ann, "", "before")
		m.Gate <- struct{}{} // it has taken the text, or will take it
		m.Gate = nil
		for i := range 30 {
			changeContent(t, s, ann, a.ID, fmt.Sprint("after ", i))
		}
		waitForEmbeddings(t, s)
		have, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
			return storetest.Search(tx, retrieve.Query{Embeddings: []retrieve.Embedding{{Generation: "one",
				Vector: storetest.VectorOf("after 29\nafter 29")}}}, loci.MemoryFilter{}, "", 5)
		})
		if err != nil || len(have.Hits) != 1 || have.Hits[0].Score < .99 {
			t.Errorf("found %+v, %v", have.Hits, err)
		}
	})
}

func TestSearchUsesOldGenerationUntilNewOneIsComplete(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann := user(t, s, "ann")
		for i := range 30 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		waitForEmbeddings(t, s)
		s.Close()
		two := &storetest.FakeEmbedder{Name: "two", Rejects: "number 7"}
		s = d.Open(t, store.Options{Embedder: two})
		waittest.Until(t, func() bool { return two.Embedded.Load() >= 29 })
		answers := func() string {
			return strings.Join(d.Query(t,
				`SELECT g.name FROM keyword_indexes x JOIN generations g ON g.row_id = x.generation`), " ")
		}
		if got := answers(); !strings.HasPrefix(got, "one/") || !s.Embedder().ServesGeneration("one") {
			t.Errorf("%s answers while one is missing", got)
		}
		for name, n := range map[string]int{"one": 5, "two": 0} {
			q := retrieve.Query{Embeddings: []retrieve.Embedding{{Generation: name,
				Vector: storetest.VectorOf("memory number 7")}}}
			f, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, q, loci.MemoryFilter{}, "", 5)
			})
			if err != nil || len(f.Hits) != n {
				t.Errorf("by the vectors of %s %d are found: %v", name, len(f.Hits), err)
			}
		}
		two.RejectTexts("")
		waitForEmbeddings(t, s)
		waittest.Until(t, func() bool {
			return strings.HasPrefix(answers(), "two/") && d.Query(t, `SELECT count(*) FROM generations`)[0] == "1"
		})
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "30" {
			t.Errorf("%s vectors are left", n)
		}
	})
}

func TestSeveralProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one"}
		stores := []*store.Store{d.Open(t, store.Options{Embedder: m}), d.Open(t, store.Options{Embedder: m}),
			d.Open(t, store.Options{Embedder: m})}
		for _, s := range stores {
			waitForEmbedder(t, s)
		}
		ann := user(t, stores[0], "ann")
		runConcurrently(60, func(i int) error {
			_, err := tryAdd(stores[i%3], ann, "", fmt.Sprint("memory number ", i))
			return err
		})
		waitForEmbeddings(t, stores[0])
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "60" || m.Embedded.Load() != 60 {
			t.Errorf("%s vectors of %d texts", n, m.Embedded.Load())
		}
	})
}

func TestVectorsThatAreMissingOrFalseAreFoundAndMade(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann := user(t, s, "ann")
		lost, other, whole := add(t, s, ann, "", "lost words"), add(t, s, ann, "", "false words"),
			add(t, s, ann, "", "whole words")
		waitForEmbeddings(t, s)
		if sum := checkIntegrity(t, s, true); sum.Found != 0 {
			t.Fatalf("found %v", sum.Inconsistencies)
		}
		d.Exec(t, `DELETE FROM vectors WHERE memory = (SELECT row_id FROM memories WHERE id = '`+string(lost.ID)+`')`)
		d.Exec(t,
			`UPDATE vectors SET text_hash = text_hash + 1 WHERE memory = (SELECT row_id FROM memories WHERE id = '`+
				string(other.ID)+`')`)
		sum := checkIntegrity(t, s, true)
		if sum.Found != 1 || sum.Repaired != 1 || sum.Inconsistencies[0].Kind != integrity.InconsistentVectors {
			t.Fatalf("found %v", sum.Inconsistencies)
		}
		waitForEmbeddings(t, s)
		if sum := checkIntegrity(t, s, false); sum.Found != 0 {
			t.Errorf("left is %v", sum.Inconsistencies)
		}
		if n := d.Query(t, `SELECT count(*) FROM vectors v JOIN memories e ON e.row_id = v.memory WHERE e.id <> '`+
			string(whole.ID)+`'`)[0]; n != "2" {
			t.Errorf("%s vectors of the two", n)
		}
	})
}

func TestSimilarFindsTheSameMeaning(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		a := add(t, s, ann, "", "the harbour lies beyond the old town wall today")
		b := add(t, s, ann, "", "wall town old the beyond lies harbour the today")
		gone := add(t, s, ann, "", "today harbour wall beyond town the old lies the")
		add(t, s, ann, "", "nothing of all this")
		add(t, s, bob, "", "wall town old the beyond lies harbour the today")
		waitForEmbeddings(t, s)
		if _, err := newService(s).ArchiveMemory(ctx, ann, loci.ArchiveMemory{MemoryID: gone.ID}); err != nil {
			t.Fatal(err)
		}
		like, err := store.Read(ctx, s, ann, func(tx *store.Tx) ([]loci.Similarity, error) {
			return storetest.Similar(tx, a.ID)
		})
		if err != nil || len(like) != 1 || like[0].ID != b.ID || like[0].Score < .9 {
			t.Errorf("similar are %v, %v", like, err)
		}
	})
}
