package server

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

func TestOpenTellsWhatToDoWithUnusableFile(t *testing.T) {
	t.Parallel()
	execute := func(q string) func(path string) error {
		return func(path string) error {
			db, err := sql.Open(sqlite.SQLName, "file:"+path)
			if err != nil {
				return err
			}
			defer db.Close()
			_, err = db.Exec(q)
			return err
		}
	}
	for name, c := range map[string]struct {
		made bool // by Loci
		do   func(path string) error
		says string
	}{
		"damaged": {true, func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600)
		}, "copy loci.db and loci.db-wal"},
		"of another program": {false, execute(`CREATE TABLE foo (a)`), "belongs to another program"},
		"without its schema": {true, execute(`PRAGMA user_version = 0`), "restore a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.made {
				l, err := OpenLocal(t.Context(), dir, true)
				if err != nil {
					t.Fatal(err)
				}
				createMemory(t, l, "The bridge stands on basalt.")
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.do(filepath.Join(dir, sqlite.FileName)); err != nil {
				t.Fatal(err)
			}
			l, err := OpenLocal(t.Context(), dir, true)
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "is empty") {
				t.Errorf("told %v", err)
			}
		})
	}
}

func TestBackupRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLocal(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(sqlite.SQLName, "file:"+filepath.Join(dir, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`PRAGMA user_version = 99`); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.tar")
	_, err = Settings{Data: dir}.Backup(t.Context(), file, false, io.Discard, func(int64, int64) {})
	if err == nil || !strings.Contains(err.Error(), "use a newer loci") {
		t.Errorf("told %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a backup was written")
	}
}
