package store_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestWriteFailsWhenDatabaseFileIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(path string) error
		back func(path string) error
	}{
		{"removed", os.Remove, nil},
		{"log removed", func(path string) error { return os.Remove(path + "-wal") }, nil},
		{"shared memory removed", func(path string) error { return os.Remove(path + "-shm") }, nil},
		{"log cut", func(path string) error {
			info, err := os.Stat(path + "-wal")
			if err != nil {
				return err
			}
			return os.Truncate(path+"-wal", info.Size()-1)
		}, nil},
		{"replaced", func(path string) error {
			if err := os.WriteFile(path+".other", []byte("something else"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".other", path)
		}, nil},
		{"moved", func(path string) error { return os.Rename(path, path+".away") }, func(path string) error {
			return os.Rename(path+".away", path)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log logtest.Buffer
			d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
			s := d.Open(t, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			ann := user(t, s, "ann")
			add(t, s, ann, "", "written before")
			if err := s.Ping(ctx); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(d.Dir, sqlite.FileName)
			if err := c.do(path); err != nil {
				t.Fatal(err)
			}
			if _, err := tryAdd(s, ann, "", "written afterwards"); !loci.Is(err, loci.CodeUnavailable) ||
				!strings.Contains(err.Error(), "removed or replaced") {
				t.Errorf("a write is told %v", err)
			}
			if err := s.Ping(ctx); !loci.Is(err, loci.CodeUnavailable) {
				t.Errorf("a check is told %v", err)
			}
			if r := searchKeywords(t, s, ann, "written", loci.MemoryFilter{}); r.KeywordCandidates != 1 {
				t.Errorf("a search finds %d", r.KeywordCandidates)
			}
			if n := strings.Count(log.String(), "the database is gone"); n != 1 {
				t.Errorf("it is logged %d times: %s", n, log.String())
			}
			if c.back == nil {
				return
			}
			if err := c.back(path); err != nil {
				t.Fatal(err)
			}
			add(t, s, ann, "", "written again")
			checkHealthy(t, s)
		})
	}
}

// The log says it within seconds, also where nobody writes.
func TestIdleServerLogsMissingDatabase(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	d.Open(t, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.Remove(filepath.Join(d.Dir, sqlite.FileName)); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, func() bool { return strings.Contains(log.String(), "loci.db was removed") })
}

func TestOpenCreatesNoDatabaseInPlaceOfLostOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(path string) error
		new  bool
	}{
		{"removed", func(path string) error { return os.Remove(path) }, false},
		{"emptied", func(path string) error { return os.Truncate(path, 0) }, false},
		{"all but the log removed", func(path string) error {
			return firstError(os.Remove(path), os.Remove(filepath.Join(filepath.Dir(path), sqlite.MarkerName)),
				os.WriteFile(path+"-wal", []byte("commits"), 0o600))
		}, false},
		{"removed with the marker", func(path string) error {
			return firstError(os.Remove(path), os.Remove(filepath.Join(filepath.Dir(path), sqlite.MarkerName)))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
			d.Open(t, store.Options{}).Close()
			path := filepath.Join(d.Dir, sqlite.FileName)
			if err := c.do(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s, err := d.TryOpen(store.Options{})
				if err == nil {
					s.Close()
				}
				if c.new != (err == nil) || err != nil && (!loci.Is(err, loci.CodeConflict) ||
					!strings.Contains(err.Error(), "restore a backup")) {
					t.Errorf("told %v", err)
				}
			}
		})
	}
}

// A start that was cut off before it made anything is made up for.
func TestOpenFillsEmptyFile(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	for _, name := range []string{sqlite.FileName, sqlite.FileName + ".lock", "serve.lock"} {
		if err := os.WriteFile(filepath.Join(d.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkHealthy(t, d.Open(t, store.Options{}))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
