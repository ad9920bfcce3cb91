package embeddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestWorkerStaysOnStandbyAfterItsGenerationIsDeleted(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		two := &storetest.FakeEmbedder{Name: "two", Rejects: "*"}
		standby := newWorker(s, two)
		if err := embeddb.RunRound(ctx, standby.Worker); err == nil {
			t.Fatal("the second model is active in the workspace: the test shows nothing")
		}
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t) // deletes the generation of two
		newWorker(s, &storetest.FakeEmbedder{Name: "three"}).round(t)
		two.RejectTexts("")
		add(t, s, ann, "", "the red bicycle")
		if standby.round(t); two.Embedded.Load() != 0 {
			t.Error("the vectors of one model are stored as those of another")
		}
	})
}

func TestWorkerEndsItsStandbyWhenItsGenerationWasCreatedAgain(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		one := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
		one.round(t)
		two := newWorker(s, &storetest.FakeEmbedder{Name: "two"})
		for range 3 {
			two.round(t) // deletes the generation of one
		}
		one.round(t)
		if n := d.Query(t, `SELECT count(*) FROM generations`)[0]; n != "1" ||
			one.AcceptsVector(storetest.VectorOf("boat")) {
			t.Fatalf("there are %s generations: the test shows nothing", n)
		}
		embeddb.RunRound(ctx, newWorker(s, &storetest.FakeEmbedder{Name: "one"}).Worker) // and stops
		add(t, s, ann, "", "the red bicycle")
		for range 3 {
			one.round(t)
		}
		checkQueue(t, d, 2, 0)
		if !one.AcceptsVector(storetest.VectorOf("boat")) || !one.ServesGeneration("one") {
			t.Error("the worker is still on standby")
		}
	})
}

func TestWorkerKeepsItsGenerationWhenAnotherModelDeletesIt(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t) // SQLite has one writer
	s := d.Open(t, store.Options{})
	w := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
	d.Exec(t, `INSERT INTO generations (name) VALUES ('one/`+vector.ChunkVersion+`'), ('two')`)
	d.Exec(t, `INSERT INTO metadata (name, value) VALUES ('model', 'two')`)
	tx, err := d.DB(t).Begin() // that of a worker of the second model
	if err == nil {
		_, err = tx.Exec(`SELECT value FROM metadata WHERE name = 'model' FOR SHARE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() { opened <- embeddb.RunRound(ctx, w.Worker) }()
	waittest.Until(t, func() bool {
		return len(opened) > 0 || d.Query(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`)[0] != "0"
	})
	if _, err = tx.Exec(`DELETE FROM generations WHERE name <> 'two'`); err == nil {
		err = tx.Commit()
	}
	if err = errors.Join(err, <-opened); err != nil {
		t.Fatal(err)
	}
	add(t, s, user(t, s, "ann"), "", "the blue boat")
	w.round(t)
	checkQueue(t, d, 1, 0)
}

func TestWorkerIsNotReadyWhenItsGenerationsCannotBeRead(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		w := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
		w.db.failRead = 2 // after that of the dimensions
		if err := embeddb.RunRound(ctx, w.Worker); !errors.Is(err, errFault) || w.Ready() {
			t.Errorf("the worker is ready after %v", err)
		}
		if w.round(t); !w.Ready() || !w.ServesGeneration("one") {
			t.Error("the worker does not know the generations in use")
		}
	})
}

func TestNewModelTriesTheTextsThatTheOldOneRefused(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		add(t, s, ann, "", "poison")
		d.Exec(t, fmt.Sprint(`UPDATE embedding_queue SET attempts = 9, error = 'refused', due = `,
			time.Now().Add(time.Hour).UnixMicro()))
		two := newWorker(s, &storetest.FakeEmbedder{Name: "two"})
		two.round(t)
		two.round(t)
		testenv.Equal(t, d.Query(t, `SELECT count(*) FROM vectors v JOIN generations g ON g.row_id = v.generation
			WHERE g.name LIKE 'two/%'`)[0], "2", "texts have vectors of the new model")
	})
}

func TestWorkspaceKeepsItsVectorsWhileTheNewModelIsUnreachable(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		m := &hookedEmbedder{FakeEmbedder: storetest.FakeEmbedder{Name: "two", Rejects: "*"}}
		calls := 0
		m.before = func() { calls++ }
		two := newWorker(s, m)
		if err := embeddb.RunRound(ctx, two.Worker); err == nil || calls != 1 {
			t.Errorf("a round calls the model %d times, %v", calls, err)
		}
		fail := func(due time.Time) {
			d.Exec(t, fmt.Sprint(`UPDATE embedding_queue SET attempts = 9, due = `, due.UnixMicro()))
		}
		fail(time.Now().Add(time.Hour))
		for range 3 {
			two.round(t)
		}
		if two.ServesGeneration("two") || !two.ServesGeneration("one") {
			t.Error("the workspace has switched to a model without vectors")
		}
		m.RejectTexts("")
		fail(time.Now().Add(-time.Hour))
		for range 3 {
			two.round(t)
		}
		if !two.ServesGeneration("two") {
			t.Error("the workspace has not switched to the vectors of the new model")
		}
	})
}

func TestWorkerEndsItsStandbyWhenItsModelIsActiveAgain(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		w := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
		w.round(t)
		w.round(t) // switches
		d.Exec(t, `INSERT INTO generations (name) VALUES ('two')`)
		d.Exec(t, `UPDATE keyword_indexes SET generation = (SELECT row_id FROM generations WHERE name = 'two')`)
		d.Exec(t, `UPDATE metadata SET value = 'two' WHERE name = 'model'`)
		if w.round(t); w.AcceptsVector(storetest.VectorOf("boat")) {
			t.Error("a worker on standby accepts vectors that no workspace answers to")
		}
		d.Exec(t, `UPDATE metadata SET value = 'one/`+vector.ChunkVersion+`' WHERE name = 'model'`)
		if w.round(t); !w.AcceptsVector(storetest.VectorOf("boat")) || !w.ServesGeneration("one") {
			t.Error("the worker is still on standby")
		}
	})
}

func TestStartDeletesNoVectorsWithoutAnotherGeneration(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		w := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
		w.db.DB = &deletionDB{DB: w.db.DB, t: t}
		add(t, s, ann, "", "the blue boat")
		w.round(t)
		w.round(t)
		checkQueue(t, d, 1, 0)
	})
}

// A deletionDB fails a test that deletes vectors of other generations, a search through all vectors.
type deletionDB struct {
	sqldb.DB
	t *testing.T
}

type deletionConn struct {
	sqldb.Conn
	t *testing.T
}

func (d *deletionDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Write(ctx, user, func(c sqldb.Conn) error { return f(deletionConn{c, d.t}) })
}

func (c deletionConn) Exec(q string, args []any) (int64, error) {
	if strings.HasPrefix(q, "DELETE FROM vectors WHERE row_id IN") {
		c.t.Error(q)
	}
	return c.Conn.Exec(q, args)
}
