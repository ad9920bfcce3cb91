package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "6") // each is long; the flag sets another number
	goleak.VerifyTestMain(m)
}

var ctx = context.Background()

// openFile opens a database in a folder of its own, with a table for notes.
func openFile(t testing.TB, o sqldb.Options) *testDB {
	t.Helper()
	s, err := openTestDB(ctx, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.db.Write(ctx, "", func(c sqldb.Conn) error {
		_, err := c.Exec(
			`CREATE TABLE notes (text TEXT NOT NULL, workspace BIGINT
				REFERENCES workspaces (row_id) DEFERRABLE INITIALLY DEFERRED)`, nil)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A testDB is a database that can be closed more than once.
type testDB struct {
	db    sqldb.DB
	Close func() error
}

func (d *testDB) Ping(ctx context.Context) error {
	return d.db.Read(ctx, "", func(c sqldb.Conn) error { return c.QueryRow(`SELECT 1`, nil, []any{new(int)}) })
}

func openTestDB(ctx context.Context, dir string, o sqldb.Options) (*testDB, error) {
	db, err := Open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	return &testDB{db, sync.OnceValue(db.Close)}, nil
}

// insertNote returns a closure that writes a text.
func insertNote(text string) func(sqldb.Conn) error {
	return func(c sqldb.Conn) error {
		_, err := c.Exec(`INSERT INTO notes (text) VALUES (?1)`, []any{text})
		return err
	}
}

func countNotes(t testing.TB, s *testDB) (n int) {
	t.Helper()
	if err := s.db.Read(ctx, "", func(c sqldb.Conn) error {
		return c.QueryRow(`SELECT count(*) FROM notes`, nil, []any{&n})
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// submitBatch runs closures in one commit, in their order. They queue behind one that holds the writer meanwhile, whose
// result comes last.
func submitBatch(t testing.TB, s *testDB, closures ...func(sqldb.Conn) error) []error {
	t.Helper()
	w := s.db.(*database).writer
	errs := make([]error, len(closures)+1)
	entered, free := make(chan bool), make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		errs[len(closures)] = s.db.Write(ctx, "", func(sqldb.Conn) error {
			close(entered)
			<-free
			return nil
		})
	})
	<-entered
	for i, f := range closures {
		all.Go(func() { errs[i] = s.db.Write(ctx, "", f) })
		waittest.Until(t, func() bool { return w.queued() > i })
	}
	close(free)
	all.Wait()
	return errs
}

// countCommits counts the commit frames of the write-ahead log. Without a checkpoint it holds all since the database
// was opened (https://sqlite.org/fileformat2.html#walformat).
func countCommits(t testing.TB, s *testDB) (n int) {
	t.Helper()
	wal, err := os.ReadFile(s.db.(*database).path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	frame := 24 + int(binary.BigEndian.Uint32(wal[8:]))
	for at := 32; at+frame <= len(wal); at += frame {
		if binary.BigEndian.Uint32(wal[at+4:]) > 0 {
			n++
		}
	}
	return n
}

func TestManyWritersShareACommit(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	s.db.(*database).writer.conn.Exec(`PRAGMA wal_autocheckpoint = 0`, nil)
	before := countCommits(t, s)
	const writers = 2 * maxBatch
	var writes []func(sqldb.Conn) error
	for i := range writers {
		writes = append(writes, insertNote(fmt.Sprint(i)))
	}
	if err := errors.Join(submitBatch(t, s, writes...)...); err != nil {
		t.Fatal(err)
	}
	commits := countCommits(t, s) - before
	if n := countNotes(t, s); n != writers || commits > 3 || commits == 0 { // the first one holds the writer
		t.Errorf("%d notes of %d in %d commits", n, writers, commits)
	}
}

func TestCommitHasAtMost64Jobs(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	before := countCommits(t, s)
	var closures []func(sqldb.Conn) error
	for i := range maxBatch {
		closures = append(closures, insertNote(fmt.Sprint(i)))
	}
	for _, err := range submitBatch(t, s, closures...) {
		if err != nil {
			t.Error(err)
		}
	}
	if n := countCommits(t, s) - before; n != 2 {
		t.Errorf("%d closures took %d commits, want 2", maxBatch+1, n)
	}
}

func TestFailedJobRollsBackAlone(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		bad  func(sqldb.Conn) error
		want func(error) bool
	}{
		"error": {func(c sqldb.Conn) error { return errors.Join(insertNote("bad")(c), boom) }, func(err error) bool {
			return errors.Is(err, boom)
		}},
		"panic": {func(c sqldb.Conn) error { insertNote("bad")(c); panic("boom") }, func(err error) bool {
			return err != nil
		}},
		"statement": {func(c sqldb.Conn) error {
			insertNote("bad")(c)
			_, err := c.Exec(`INSERT INTO notes (text) VALUES (NULL)`, nil)
			return err
		},
			func(err error) bool { return extendedCode(err)&0xff == codeConstraint }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openFile(t, sqldb.Options{})
			before := countCommits(t, s)
			errs := submitBatch(t, s, insertNote("a"), c.bad, insertNote("b"))
			if errs[0] != nil || !c.want(errs[1]) || errs[2] != nil || errs[3] != nil {
				t.Errorf("answers %v", errs)
			}
			if n := countNotes(t, s); n != 2 || countCommits(t, s)-before != 1 {
				t.Errorf("%d notes in %d commits, want 2 in 1", n, countCommits(t, s)-before)
			}
		})
	}
}

func TestFailedCommitFailsAllItsJobs(t *testing.T) {
	t.Parallel()
	orphan := func(c sqldb.Conn) error {
		_, err := c.Exec(`INSERT INTO notes (text, workspace) VALUES ('orphan', 99)`, nil) // seen at the commit only
		return err
	}
	vanish := func(c sqldb.Conn) error { // as a full disk does
		_, err := c.Exec(`ROLLBACK`, nil)
		return errors.Join(err, errors.New("gone"))
	}
	for name, bad := range map[string]func(sqldb.Conn) error{"constraint": orphan, "lost transaction": vanish,
		"lost in silence": func(c sqldb.Conn) error { vanish(c); return nil }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openFile(t, sqldb.Options{})
			errs := submitBatch(t, s, insertNote("a"), bad)
			for i, err := range errs {
				if err == nil {
					t.Errorf("closure %d was answered as if it were stored", i)
				}
			}
			if name != "constraint" && !loci.Is(errs[0], loci.CodeUnavailable) {
				t.Errorf("a closure that did not fail was answered with %v", errs[0])
			}
			if n := countNotes(t, s); n != 0 {
				t.Errorf("%d notes are there", n)
			}
			if err := s.db.Write(ctx, "", insertNote("next")); err != nil || countNotes(t, s) != 1 {
				t.Errorf("the next write: %v, %d notes", err, countNotes(t, s))
			}
		})
	}
}

func TestWriteReturnsAfterCommit(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 20 {
				text := fmt.Sprint(i, "/", j)
				if err := s.db.Write(ctx, "", insertNote(text)); err != nil {
					t.Error(err)
				}
				var one int
				if err := s.db.Read(ctx, "", func(c sqldb.Conn) error {
					return c.QueryRow(`SELECT 1 FROM notes WHERE text = ?1`, []any{text}, []any{&one})
				}); err != nil {
					t.Errorf("%s was acknowledged and another connection does not see it: %v", text, err)
				}
			}
		})
	}
	all.Wait()
}

func TestWriterDropsJobWhenCallerLeavesBeforeItsTurn(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	entered, free := make(chan bool), make(chan bool)
	var first sync.WaitGroup
	first.Go(func() {
		if err := s.db.Write(ctx, "", func(c sqldb.Conn) error {
			close(entered)
			<-free
			return insertNote("first")(c)
		}); err != nil {
			t.Error(err)
		}
	})
	<-entered
	leaving, leave := context.WithCancel(ctx)
	told := make(chan error, 1)
	go func() { told <- s.db.Write(leaving, "", insertNote("never")) }()
	waittest.Until(t, func() bool { return s.db.(*database).writer.queued() > 0 })
	leave()
	if err := <-told; !errors.Is(err, context.Canceled) { // while the writer is held
		t.Errorf("who left is told %v", err)
	}
	close(free)
	first.Wait()
	if err := s.db.Write(ctx, "", insertNote("last")); err != nil || countNotes(t, s) != 2 {
		t.Errorf("%v; %d notes, want 2", err, countNotes(t, s))
	}
}

func TestWriterFinishesJobWhenCallerLeavesDuringItsTurn(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	leaving, leave := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := s.db.Write(ctx, "", insertNote(fmt.Sprint(i))); err != nil {
				t.Errorf("a neighbour: %v", err)
			}
		})
	}
	err := s.db.Write(leaving, "", func(c sqldb.Conn) error {
		leave()
		if err := insertNote("mine")(c); err != nil {
			return err
		}
		return c.Query(`SELECT text FROM notes`, nil, func(r sqldb.Row) error { var s string; return r.Scan(&s) })
	})
	all.Wait()
	if n := countNotes(t, s); err != nil || n != 9 {
		t.Errorf("%v; %d notes, want 9", err, n)
	}
}

func TestAfterCloseEverybodyIsToldUnavailable(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	var all sync.WaitGroup
	var written atomic.Int64
	for range 8 {
		all.Go(func() {
			for {
				err := s.db.Write(ctx, "", insertNote("x"))
				if err == nil {
					written.Add(1)
					err = s.Ping(ctx)
				}
				if err != nil {
					if !loci.Is(err, loci.CodeUnavailable) {
						t.Errorf("told %v", err)
					}
					return
				}
			}
		})
	}
	waittest.Until(t, func() bool { return written.Load() > 50 })
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if left, _ := filepath.Glob(s.db.(*database).path + "-*"); len(left) > 0 {
		t.Errorf("connections were left open: %v", left)
	}
}

// TestUsersTakeTurnsInACommit holds the writer. Meanwhile it queues more closures of one user than a commit holds, and
// then one of another user.
func TestUsersTakeTurnsInACommit(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	w := s.db.(*database).writer
	var all sync.WaitGroup
	var order []string // of the closures, which run one after another
	entered, free := make(chan bool), make(chan bool)
	write := func(ctx context.Context, user string, f func()) {
		n := w.queued()
		all.Go(func() {
			err := s.db.Write(ctx, user, func(c sqldb.Conn) error {
				f()
				order = append(order, user)
				return insertNote(user)(c)
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
		waittest.Until(t, func() bool { return w.queued() != n || user == "first" })
	}
	nothing := func() {}
	write(ctx, "first", func() { close(entered); <-free })
	<-entered
	leaving, leave := context.WithCancel(ctx)
	write(leaving, "left", nothing)
	const many = 2 * maxBatch
	for range many {
		write(ctx, "many", nothing)
	}
	write(ctx, "one", nothing)
	write(ctx, "one", nothing)
	write(ctx, "", nothing)
	leave()
	waittest.Until(t, func() bool { return w.queued() <= many+3 })
	close(free)
	all.Wait()
	if want := []string{"first", "", "many", "one", "many", "one", "many"}; !slices.Equal(order[:len(want)], want) {
		t.Errorf("%q, want %q", order[:len(want)], want)
	}
	if len(order) != many+4 || w.queued() != 0 {
		t.Errorf("%d closures ran, %d wait", len(order), w.queued())
	}
}
