package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// waitForEmbedder waits until the process knows its model, and would embed.
func waitForEmbedder(t *testing.T, s *store.Store) {
	t.Helper()
	waittest.Until(t, s.Embedder().Ready)
}

func TestReadingCommandEmbedsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "left by another")
		m := &storetest.FakeEmbedder{Name: "one"}
		reader := d.Open(t, store.Options{Embedder: m, OneShot: true})
		waitForEmbedder(t, reader)
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		if n := m.Embedded.Load(); n != 0 {
			t.Errorf("%d texts were embedded", n)
		}
		writer := d.Open(t, store.Options{Embedder: m, OneShot: true})
		add(t, writer, ann, "", "and one more")
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if b := storetest.Backlog(t, s); b.Pending != 0 || m.Embedded.Load() != 2 {
			t.Errorf("%+v, and %d texts were embedded", b, m.Embedded.Load())
		}
	})
}

func TestCommandFinishesItsLongText(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Dir: t.TempDir()} // the wait is the same on each
	s := d.Open(t, store.Options{})
	ann := user(t, s, "ann")
	m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
	writer := d.Open(t, store.Options{Embedder: m, OneShot: true})
	add(t, writer, ann, "", "takes its time")
	time.AfterFunc(2500*time.Millisecond, func() { close(m.Gate) }) // texts are begun for two seconds only
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if b := storetest.Backlog(t, s); b.Pending != 0 {
		t.Errorf("%+v", b)
	}
}

// Nor does one command take from another what that is at.
func TestConcurrentOneShotProcessesEmbedATextOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		slow, quick := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})},
			&storetest.FakeEmbedder{Name: "one"}
		s := d.Open(t, store.Options{Embedder: slow, OneShot: true})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "the one is at it")
		waittest.Until(t, func() bool {
			return d.Query(t, `SELECT count(*) FROM embedding_queue WHERE attempts = 1`)[0] == "1"
		})
		other := d.Open(t, store.Options{Embedder: quick, OneShot: true})
		add(t, other, ann, "", "the other has its own")
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		close(slow.Gate)
		waitForEmbeddings(t, s)
		if slow.Embedded.Load() != 1 || quick.Embedded.Load() != 1 {
			t.Errorf("%d and %d texts were embedded", slow.Embedded.Load(), quick.Embedded.Load())
		}
	})
}

func TestInterruptedCommandRequeuesItsLongText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := &storetest.FakeEmbedder{Name: "one", Gate: make(chan struct{})}
	interrupted, interrupt := context.WithCancel(t.Context())
	s, err := store.OpenSQLite(interrupted, dir, store.Options{Embedder: m, OneShot: true})
	if err != nil {
		t.Fatal(err)
	}
	ann := user(t, s, "ann")
	add(t, s, ann, "", "takes its time")
	time.AfterFunc(50*time.Millisecond, interrupt)
	began := time.Now()
	if err := s.Close(); err != nil || time.Since(began) > 20*time.Second { // a minute otherwise
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if s, err = store.OpenSQLite(t.Context(), dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b := storetest.Backlog(t, s); b.Pending != 1 || b.Failed != 0 {
		t.Errorf("%+v", b)
	}
}
