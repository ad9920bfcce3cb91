package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func backlog(t testing.TB, s *store.Store) store.Backlog {
	t.Helper()
	b, err := store.SystemRead(ctx, s, "test", func(x *store.SystemTx) (store.Backlog, error) { return x.Backlog() })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// embedded waits until nobody waits for a vector.
func embedded(t testing.TB, s *store.Store) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); backlog(t, s).Pending > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting: %+v", backlog(t, s))
		}
	}
}

func change(t testing.TB, s *store.Store, who *loci.Actor, id, content string) {
	t.Helper()
	text := loci.Content(content)
	if _, err := serve(s).UpdateMemory(ctx, who, loci.UpdateMemory{MemoryID: id, Content: &text}); err != nil {
		t.Fatal(err)
	}
}

func TestEveryTextGetsItsVectorsAndNoneTwice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.Model{Name: "one"}
		s := d.Open(t, store.Options{Embedder: m})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		a := add(t, s, ann, "", "the blue boat")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
			add(t, s, bob, "", fmt.Sprint("another number ", i))
		}
		embedded(t, s)
		if n := m.Texts.Load(); n != 41 {
			t.Errorf("%d texts were embedded", n)
		}
		change(t, s, ann, a.ID, "the red bicycle")
		embedded(t, s)
		change(t, s, ann, a.ID, "the blue boat") // as it was
		add(t, s, ann, "", "the red bicycle", func(m *loci.Memory) { m.Title = "the blue boat" })
		add(t, s, bob, "", "the blue boat") // of another workspace: nothing is known of it there
		embedded(t, s)
		if n := m.Texts.Load(); n != 43 {
			t.Errorf("%d texts were embedded, with a change, a copy, and one elsewhere", n)
		}
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "44" {
			t.Errorf("%s vectors are stored", n)
		}
	})
}

func TestATextThatIsRefusedKeepsNoOtherWaitingAndHeals(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.Model{Name: "one", Refuses: "poison"}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "poison")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		deadline := time.Now().Add(20 * time.Second)
		for b := backlog(t, s); b.Pending != 1 || b.Failed != 1 || b.Error != "the model says no"; b = backlog(t, s) {
			if time.Now().After(deadline) {
				t.Fatalf("it is %+v", b)
			}
			time.Sleep(5 * time.Millisecond)
		}
		m.Refuse("")
		embedded(t, s)
	})
}

func TestAModelThatIsAwayLosesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.Model{Name: "one", Refuses: "*"}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		a := add(t, s, ann, "", "first")
		change(t, s, ann, a.ID, "second")
		s.Close()
		s = d.Open(t, store.Options{}) // without a model they wait
		add(t, s, ann, "", "third")
		if b := backlog(t, s); b.Pending != 2 {
			t.Errorf("%+v", b)
		}
		s.Close()
		m.Refuse("")
		s = d.Open(t, store.Options{Embedder: m})
		embedded(t, s)
		if m.Texts.Load() != 2 {
			t.Errorf("%d texts were embedded", m.Texts.Load())
		}
	})
}

func TestAVectorIsOfTheTextThatStands(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.Model{Name: "one", Gate: make(chan struct{})}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		a := add(t, s, ann, "", "before")
		m.Gate <- struct{}{} // it has taken the text, or will take it
		m.Gate = nil
		for i := range 30 {
			change(t, s, ann, a.ID, fmt.Sprint("after ", i))
		}
		embedded(t, s)
		have, err := store.Read(ctx, s, ann, func(tx *store.Tx) (store.Findings, error) {
			return tx.Find(store.Question{Meaning: []store.Meaning{{Generation: "one", Vector: storetest.VectorOf("before\nafter 29")}}}, store.Filter{}, "", 5)
		})
		if err != nil || len(have.Page) != 1 || have.Page[0].Score < .99 {
			t.Errorf("found %+v, %v", have.Page, err)
		}
	})
}

func TestTheOldGenerationAnswersUntilTheNewOneIsWhole(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.Model{Name: "one"}})
		ann := user(t, s, "ann")
		for i := range 30 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		embedded(t, s)
		s.Close()
		two := &storetest.Model{Name: "two", Refuses: "number 7"}
		s = d.Open(t, store.Options{Embedder: two})
		for two.Texts.Load() < 29 {
			time.Sleep(5 * time.Millisecond)
		}
		answers := func() string {
			return strings.Join(d.Query(t, `SELECT g.name FROM indexes x JOIN generations g ON g.rid = x.generation`), " ")
		}
		if got := answers(); !strings.HasPrefix(got, "one/") || !s.Answers("one") {
			t.Errorf("%s answers while one is missing", got)
		}
		for name, n := range map[string]int{"one": 5, "two": 0} {
			q := store.Question{Meaning: []store.Meaning{{Generation: name, Vector: storetest.VectorOf("memory number 7")}}}
			f, err := store.Read(ctx, s, ann, func(tx *store.Tx) (store.Findings, error) { return tx.Find(q, store.Filter{}, "", 5) })
			if err != nil || len(f.Page) != n {
				t.Errorf("by the vectors of %s %d are found: %v", name, len(f.Page), err)
			}
		}
		two.Refuse("")
		embedded(t, s)
		for end := time.Now().Add(20 * time.Second); !strings.HasPrefix(answers(), "two/") || d.Query(t, `SELECT count(*) FROM generations`)[0] != "1"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s answers", answers())
			}
		}
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "30" {
			t.Errorf("%s vectors are left", n)
		}
	})
}

func TestSeveralProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.Model{Name: "one"}
		stores := []*store.Store{d.Open(t, store.Options{Embedder: m}), d.Open(t, store.Options{Embedder: m}), d.Open(t, store.Options{Embedder: m})}
		for _, s := range stores {
			for !store.Embeds(s) {
				time.Sleep(time.Millisecond)
			}
		}
		ann := user(t, stores[0], "ann")
		together(60, func(i int) error {
			_, err := tryAdd(stores[i%3], ann, "", fmt.Sprint("memory number ", i))
			return err
		})
		embedded(t, stores[0])
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "60" || m.Texts.Load() != 60 {
			t.Errorf("%s vectors of %d texts", n, m.Texts.Load())
		}
	})
}

func TestVectorsThatAreMissingOrFalseAreFoundAndMade(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.Model{Name: "one"}})
		ann := user(t, s, "ann")
		lost, other, whole := add(t, s, ann, "", "lost words"), add(t, s, ann, "", "false words"), add(t, s, ann, "", "whole words")
		embedded(t, s)
		if sum := inspect(t, s, true); sum.Found != 0 {
			t.Fatalf("found %v", sum.Flaws)
		}
		d.Exec(t, `DELETE FROM vectors WHERE memory = (SELECT rid FROM memories WHERE id = '`+lost.ID+`')`)
		d.Exec(t, `UPDATE vectors SET text = text + 1 WHERE memory = (SELECT rid FROM memories WHERE id = '`+other.ID+`')`)
		sum := inspect(t, s, true)
		if sum.Found != 2 || sum.Repaired != 2 || sum.Flaws[0].Kind != store.FlawVectors {
			t.Fatalf("found %v", sum.Flaws)
		}
		embedded(t, s)
		if sum := inspect(t, s, false); sum.Found != 0 {
			t.Errorf("left is %v", sum.Flaws)
		}
		if n := d.Query(t, `SELECT count(*) FROM vectors v JOIN memories e ON e.rid = v.memory WHERE e.id <> '`+whole.ID+`'`)[0]; n != "2" {
			t.Errorf("%s vectors of the two", n)
		}
	})
}

func TestWhatMeansTheSameIsSimilar(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.Model{Name: "one"}})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		a := add(t, s, ann, "", "the harbour lies beyond the old town wall today")
		b := add(t, s, ann, "", "wall town old the beyond lies harbour the today")
		gone := add(t, s, ann, "", "today harbour wall beyond town the old lies the")
		add(t, s, ann, "", "nothing of all this")
		add(t, s, bob, "", "wall town old the beyond lies harbour the today")
		embedded(t, s)
		if _, err := serve(s).ArchiveMemory(ctx, ann, loci.ArchiveMemory{MemoryID: gone.ID}); err != nil {
			t.Fatal(err)
		}
		like, err := store.Read(ctx, s, ann, func(tx *store.Tx) ([]loci.Alike, error) { return tx.AlikeTo(a.ID) })
		if err != nil || len(like) != 1 || like[0].ID != b.ID || like[0].Score < .9 {
			t.Errorf("similar are %v, %v", like, err)
		}
	})
}
