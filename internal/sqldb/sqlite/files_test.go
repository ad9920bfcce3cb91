package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A log that was emptied or overwritten must not reach the database when the server ends.
func TestCloseKeepsDatabaseFromDamagedLog(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, *database){
		"emptied": func(t *testing.T, d *database) {
			if err := os.Truncate(d.path+"-wal", 0); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := d.Write(ctx, "", insertNote("after")); !loci.Is(err, loci.CodeUnavailable) {
					t.Errorf("a write is told %v", err)
				}
			}
		},
		"overwritten": func(t *testing.T, d *database) {
			// os.WriteFile keeps the file.
			if err := os.WriteFile(d.path+"-wal", make([]byte, fileSize(d.path+"-wal")), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := d.Read(ctx, "", func(c sqldb.Conn) error {
				if _, err := c.Exec(`PRAGMA shrink_memory`, nil); err != nil {
					return err
				}
				return c.QueryRow(`SELECT count(*) FROM notes`, nil, []any{new(int)})
			}); !isCorrupt(err) {
				t.Errorf("a read is told %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openFile(t, sqldb.Options{})
			d := s.db.(*database)
			if err := d.Write(ctx, "", insertNote("before")); err != nil {
				t.Fatal(err)
			}
			if busy, err := d.writer.conn.checkpoint(); busy || err != nil {
				t.Fatal(busy, err)
			}
			for range 20 {
				if err := d.Write(ctx, "", insertNote("in the log")); err != nil {
					t.Fatal(err)
				}
			}
			damage(t, d)
			_ = s.Close() // it may report the damage
			s, err := openTestDB(ctx, filepath.Dir(d.path), sqldb.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if n := countNotes(t, s); n != 1 {
				t.Errorf("%d notes", n)
			}
		})
	}
}

// Other processes truncate the log too, as a purge does.
func TestCheckpointOfAnotherConnectionIsNoDamage(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	d := s.db.(*database)
	for range 3 {
		for range 20 {
			if err := d.Write(ctx, "", insertNote("text")); err != nil {
				t.Fatal(err)
			}
		}
		if err := withFile(filepath.Dir(d.path), func(c *conn) error {
			busy, err := c.checkpoint()
			if busy || fileSize(d.path+"-wal") != 0 {
				t.Error("the log was not truncated")
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(ctx, "", insertNote("text")); err != nil {
		t.Error(err)
	}
	if n := countNotes(t, s); n != 61 {
		t.Errorf("%d notes", n)
	}
}
