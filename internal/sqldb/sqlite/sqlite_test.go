package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

func pragma(t testing.TB, c sqldb.Conn, name string) (value string) {
	t.Helper()
	if c.QueryRow(`PRAGMA `+name, nil, []any{&value}) == nil {
		return value
	}
	var number int
	if err := c.QueryRow(`PRAGMA `+name, nil, []any{&number}); err != nil {
		t.Error(err)
	}
	return strconv.Itoa(number)
}

func TestConnectionsAreDurableCheckedAndPatient(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	for pragmas, on := range map[*map[string]string]func(context.Context, string, func(sqldb.Conn) error) error{
		{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000",
			"query_only": "0", "fullfsync": "1", "mmap_size": "1073741824"}: s.db.Write,
		{"journal_mode": "wal", "busy_timeout": "10000", "query_only": "1"}: s.db.Read,
	} {
		if err := on(ctx, "", func(c sqldb.Conn) error {
			for name, want := range *pragmas {
				if got := pragma(t, c, name); got != want {
					t.Errorf("%s is %s, want %s", name, got, want)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestCommandsMapNoFile(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{OneShot: true})
	for name, run := range map[string]func(func(sqldb.Conn) error) error{
		"writer": func(f func(sqldb.Conn) error) error { return s.db.Write(ctx, "", f) },
		"reader": func(f func(sqldb.Conn) error) error { return s.db.Read(ctx, "", f) },
		"maintenance": func(f func(sqldb.Conn) error) error {
			return withFile(filepath.Dir(s.db.(*database).path), func(c *conn) error { return f(c) })
		},
	} {
		if err := run(func(c sqldb.Conn) error {
			if got := pragma(t, c, "mmap_size"); got != "0" {
				t.Errorf("the %s maps %s bytes", name, got)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// openWhileLocked opens a database that somebody else has locked, and returns the result once it is unlocked.
func openWhileLocked(t *testing.T, dir string) <-chan error {
	t.Helper()
	opened := make(chan error, 1)
	go func() {
		s, err := openTestDB(t.Context(), dir, sqldb.Options{})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("opened while somebody else makes it: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	return opened
}

func TestOpenWaitsForTheProcessThatCreatesTheDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "loci.db")
	l := flock.New(path + ".lock")
	// The log of the other process is not copied into the file yet.
	if err := errors.Join(l.Lock(), os.WriteFile(path, nil, 0o600),
		os.WriteFile(path+"-wal", []byte("commits"), 0o600)); err != nil {
		t.Fatal(err)
	}
	opened := openWhileLocked(t, dir)
	if err := errors.Join(os.Remove(path+"-wal"), l.Unlock(), <-opened); err != nil {
		t.Error(err)
	}
}

// SQLite does not wait for another writer while it switches a file to WAL. The lock beside the file must keep them
// apart.
func TestOpenWaitsForFileLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "loci.db")
	l := flock.New(path + ".lock")
	if err := l.Lock(); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open(SQLName, "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{`CREATE TABLE first (a)`, `BEGIN IMMEDIATE`, `DROP TABLE first`} {
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	opened := openWhileLocked(t, dir)
	if _, err := c.ExecContext(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), l.Unlock()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestReaderCannotWrite(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	if err := s.db.Read(ctx, "", insertNote("smuggled")); err == nil {
		t.Error("a reader wrote")
	}
	if n := countNotes(t, s); n != 0 {
		t.Errorf("%d notes", n)
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := openTestDB(ctx, dir, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]fs.FileMode{"": 0o700, "loci.db": 0o600, "loci.db-wal": 0o600,
		"loci.db-shm": 0o600, "loci.db.lock": 0o600} {
		i, err := os.Stat(filepath.Join(dir, name))
		if err != nil || i.Mode().Perm() != want {
			t.Errorf("%q: %v, %v", name, i, err)
		}
	}
}

func TestReaderIsReusedAfterFailures(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	left, leave := context.WithCancel(ctx)
	leave()
	all := func(c sqldb.Conn) error {
		return c.Query(
			`WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n`, nil,
			func(r sqldb.Row) error { var i int; return r.Scan(&i) })
	}
	calls := map[string]func() error{
		"panic": func() (err error) {
			defer func() { recover() }()
			return s.db.Read(ctx, "", func(c sqldb.Conn) error { panic("boom") })
		},
		"error": func() error { return s.db.Read(ctx, "", func(c sqldb.Conn) error { return errors.New("boom") }) },
		"bad query": func() error {
			return s.db.Read(ctx, "", func(c sqldb.Conn) error {
				return c.QueryRow(`SELECT`, nil, nil)
			})
		},
		"left":         func() error { return s.db.Read(left, "", all) },
		"left halfway": func() error { return s.db.Read(cancelledSoon(), "", all) },
		"transaction": func() error {
			return s.db.Read(ctx, "", func(c sqldb.Conn) error { _, err := c.Exec(`COMMIT`, nil); return err })
		},
	}
	n := s.db.(*database).readers.Total()
	var running sync.WaitGroup
	for name, call := range calls {
		running.Go(func() {
			for range 3 * n { // each reader meets each mishap
				if call(); s.Ping(ctx) != nil || s.db.Read(ctx, "", all) != nil {
					t.Errorf("after %s: %v, %v", name, s.Ping(ctx), s.db.Read(ctx, "", all))
				}
			}
		})
	}
	running.Wait()
	if inUse := s.db.(*database).readers.InUse(); inUse != 0 {
		t.Errorf("%d readers of %d did not come back", inUse, n)
	}
}

func cancelledSoon() context.Context {
	c, cancel := context.WithCancel(ctx)
	time.AfterFunc(20*time.Microsecond, cancel)
	return c
}

func TestWriteReturnsUnavailableAfterBusyTimeout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var stores [2]*testDB
	for i := range stores {
		var err error
		if stores[i], err = openTestDB(ctx, dir, sqldb.Options{BusyTimeout: 500 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		defer stores[i].Close()
	}
	entered, free := make(chan bool), make(chan bool)
	var holder sync.WaitGroup
	holder.Go(func() {
		err := stores[0].db.Write(ctx, "", func(sqldb.Conn) error { close(entered); <-free; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	for name, s := range map[string]*testDB{"this process": stores[0], "another process": stores[1]} {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				err := s.db.Write(ctx, "", func(sqldb.Conn) error { t.Error("two write at once"); return nil })
				e, _ := errors.AsType[*loci.Error](err)
				if e == nil || e.Code != loci.CodeUnavailable || e.RetryAfter == 0 {
					t.Errorf("%s is told %v", name, err)
				}
			})
		}
		all.Wait()
		if err := s.Ping(ctx); err != nil {
			t.Errorf("%s reads meanwhile: %v", name, err)
		}
	}
	close(free)
	holder.Wait()
	for _, s := range stores {
		if err := s.db.Write(ctx, "", func(sqldb.Conn) error { return nil }); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

func TestLongQueryIsInterrupted(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{BusyTimeout: 200 * time.Millisecond})
	calling, leave := context.WithCancel(ctx) // as every caller's from outside
	defer leave()
	if err := s.db.Read(calling, "", func(c sqldb.Conn) error {
		return c.Query(`WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0`,
			nil, func(sqldb.Row) error { return nil })
	}); !loci.Is(err, loci.CodeUnavailable) {
		t.Errorf("told %v", err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestOneReaderAfterAnotherIsTheSame(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	var first sqldb.Conn
	for range 20 {
		if err := s.db.Read(ctx, "", func(c sqldb.Conn) error {
			if first == nil {
				first = c
			}
			if c != first {
				t.Error("another connection reads, though the first is free")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
