package store_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// crashed copies the files of an open database, as a crash leaves them.
func crashed(t *testing.T, d storetest.Database) storetest.Database {
	t.Helper()
	to := storetest.Database{Engine: d.Engine, Dir: t.TempDir()}
	for _, name := range []string{sqlite.FileName, sqlite.FileName + "-wal", sqlite.MarkerName} {
		text, err := os.ReadFile(filepath.Join(d.Dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to.Dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestStartReportsLostCommits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(wal string) error
		lost bool
	}{
		{"whole", func(string) error { return nil }, false},
		{"removed", os.Remove, true},
		{"emptied", func(wal string) error { return os.Truncate(wal, 0) }, true},
		{"cut", func(wal string) error { return os.Truncate(wal, 1000) }, true},
		{"header gone", func(wal string) error {
			text, err := os.ReadFile(wal)
			if err != nil {
				return err
			}
			clear(text[:32])
			return os.WriteFile(wal, text, 0o600)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
			s := d.Open(t, store.Options{})
			ann := user(t, s, "ann")
			add(t, s, ann, "", "kept in the database")
			s.Close()
			s = d.Open(t, store.Options{})
			for i := range 5 {
				add(t, s, ann, "", fmt.Sprint("acknowledged ", i))
			}
			after := crashed(t, d)
			if err := c.do(filepath.Join(after.Dir, sqlite.FileName+"-wal")); err != nil {
				t.Fatal(err)
			}
			damage := integrity.UnrepairableCount()
			for range 2 { // it is told until a repair ends that
				var log logtest.Buffer
				s = after.Open(t, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err := integrity.New(s).ReportLostCommits(ctx); err != nil {
					t.Fatal(err)
				}
				sum := checkIntegrity(t, s, false)
				if told := strings.Contains(log.String(), "acknowledged writes are gone"); told != c.lost ||
					(sum.Found > 0) != c.lost {
					t.Fatalf("%+v, and the log: %s", sum, log.String())
				}
				if c.lost && (sum.Inconsistencies[0].ID != "loci.db-wal" || integrity.UnrepairableCount() == damage) {
					t.Errorf("%+v", sum)
				}
				add(t, s, ann, "", "after the crash")
				s.Close()
			}
			s = after.Open(t, store.Options{})
			if sum := checkIntegrity(t, s, true); (sum.Found > sum.Repaired) != c.lost {
				t.Errorf("%+v", sum)
			}
			checkHealthy(t, s)
			s.Close()
			checkHealthy(t, after.Open(t, store.Options{}))
		})
	}
}

// The first commits of all are in the log alone.
func TestOpenRefusesNewDatabaseWithoutItsLog(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	s := d.Open(t, store.Options{})
	add(t, s, user(t, s, "ann"), "", "acknowledged")
	after := crashed(t, d)
	if err := os.Remove(filepath.Join(after.Dir, sqlite.FileName+"-wal")); err != nil {
		t.Fatal(err)
	}
	if _, err := after.TryOpen(store.Options{}); !loci.Is(err, loci.CodeConflict) ||
		!strings.Contains(err.Error(), "loci.created says") {
		t.Errorf("told %v", err)
	}
	if err := os.Remove(filepath.Join(after.Dir, sqlite.MarkerName)); err != nil {
		t.Fatal(err)
	}
	checkHealthy(t, after.Open(t, store.Options{}))
}
