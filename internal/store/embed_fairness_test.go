package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// longText has about a chunk for each paragraph, all of them different.
func longText(name string, paragraphs int) string {
	var b strings.Builder
	for i := range paragraphs {
		fmt.Fprintf(&b, "%s %d%s\n\n", name, i, strings.Repeat(" words of a paragraph", 25))
	}
	return b.String()
}

// isQueued reports whether a memory waits for its vectors.
func isQueued(t *testing.T, d storetest.Database, m loci.Memory) bool {
	t.Helper()
	return d.Query(t, `SELECT count(*) FROM embedding_queue w JOIN memories e ON e.row_id = w.memory WHERE e.id = '`+
		string(m.ID)+`'`)[0] != "0"
}

// callsUntil admits calls of a gated model until a memory has its vectors, and returns their number.
func callsUntil(t *testing.T, d storetest.Database, m *storetest.FakeEmbedder, of loci.Memory) (calls int) {
	t.Helper()
	waittest.Until(t, func() bool {
		select {
		case m.Gate <- struct{}{}:
			calls++
		default:
		}
		return !isQueued(t, d, of)
	})
	return calls
}

func TestEmbeddingTakesTurnsByOwner(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		for i := range 12 { // workspaces cost nothing
			w, err := newService(s).CreateWorkspace(ctx, ann,
				loci.CreateWorkspace{Name: loci.Name(fmt.Sprint("team ", i))})
			if err != nil {
				t.Fatal(err)
			}
			add(t, s, ann, w.Workspace.ID, longText(fmt.Sprint("long ", i), 100))
			add(t, s, ann, w.Workspace.ID, longText(fmt.Sprint("short ", i), 20))
		}
		note := add(t, s, bob, "", "the blue boat")
		s.Close()
		m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
		d.Open(t, store.Options{Embedder: m})
		if calls := callsUntil(t, d, m, note); calls > 3 {
			t.Errorf("the note of another owner took %d calls of the model", calls)
		}
		close(m.Gate)
	})
}

func TestEmbeddingGivesAnOwnerAtMostOneTurnOfChunks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		var long []loci.Memory
		for i := range 3 {
			long = append(long, add(t, s, ann, "", longText(fmt.Sprint("long ", i), 400)))
		}
		s.Close()
		m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
		s = d.Open(t, store.Options{Embedder: m})
		m.Gate <- struct{}{} // the first slice is under way
		for i := range 3 {
			before := m.Embedded.Load()
			note := add(t, s, bob, "", fmt.Sprint("note ", i))
			if calls := callsUntil(t, d, m, note); calls > 4 {
				t.Errorf("note %d took %d calls beside a long text", i, calls)
			}
			if n := m.Embedded.Load() - before; n > 3*32+1 { // a slice under way, one more, and the batch
				t.Errorf("%d chunks were embedded before note %d", n, i)
			}
		}
		own := add(t, s, ann, "", "a short one of the same owner")
		if calls := callsUntil(t, d, m, own); calls > 4 {
			t.Errorf("a short text took %d calls beside a long one of its owner", calls)
		}
		if !isQueued(t, d, long[0]) || !isQueued(t, d, long[2]) {
			t.Error("a long text is done already: the test shows nothing")
		}
		close(m.Gate)
		waitForEmbeddings(t, s)
		chunks := d.Query(t, `SELECT count(*) FROM vectors v JOIN memories e ON e.row_id = v.memory WHERE e.id = '`+
			string(long[0].ID)+`'`)[0]
		if sum := checkIntegrity(t, s, true); sum.Found != 0 || len(chunks) < 2 {
			t.Errorf("a long text has %s vectors: %v", chunks, sum.Inconsistencies)
		}
	})
}

func TestEmbeddingDropsALongTextThatChanges(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		a := add(t, s, ann, "", longText("before", 150))
		m.Gate <- struct{}{}
		changeContent(t, s, ann, a.ID, "after")
		close(m.Gate)
		waitForEmbeddings(t, s)
		if sum := checkIntegrity(t, s, true); sum.Found != 0 {
			t.Errorf("%v", sum.Inconsistencies)
		}
		if n := d.Query(t, `SELECT count(*) FROM vectors`)[0]; n != "1" {
			t.Errorf("%s vectors are stored for the short text that stands", n)
		}
	})
}

func TestEmbeddingGivesALongTextBackWhenTheProcessEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
		s := d.Open(t, store.Options{Embedder: m})
		ann := user(t, s, "ann")
		a := add(t, s, ann, "", longText("long", 150))
		m.Gate <- struct{}{}
		m.Gate <- struct{}{}
		s.Close()
		s = d.Open(t, store.Options{})
		if b := storetest.Backlog(t, s); b.Pending != 1 || b.Failed != 0 {
			t.Errorf("%+v", b)
		}
		if due := d.Query(t, fmt.Sprintf(`SELECT count(*) FROM embedding_queue WHERE due <= %d AND attempts = 0`,
			time.Now().Add(time.Second).UnixMicro()))[0]; due != "1" {
			t.Error("the memory is not due at once")
		}
		s.Close()
		s = d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		waitForEmbeddings(t, s)
		if sum := checkIntegrity(t, s, true); sum.Found != 0 || isQueued(t, d, a) {
			t.Errorf("%v", sum.Inconsistencies)
		}
	})
}
