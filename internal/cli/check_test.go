package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store"
)

// The exit code of a check is 1 until what is wrong is repaired.
func TestCheckEndsWithOneUntilAllIsRepaired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := operate(t, dir)
	run(done, "user", "create", "--email", "ada@example.org")
	run(done, "check")
	db, err := sql.Open(store.SQLDriver, "file:"+filepath.Join(dir, "loci.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE atlases SET memories = 7`); err != nil {
		t.Fatal(err)
	}
	if text := run(refused, "check"); !strings.Contains(text, "counters ") || !strings.Contains(text, "the atlas counts 7 memories") || !strings.Contains(text, "--repair") {
		t.Error(text)
	}
	if text := run(refused, "check", "--json"); !strings.Contains(text, `"found":1,"repaired":0,"flaws":[{"kind":"counters"`) {
		t.Error(text)
	}
	if text := run(done, "check", "--repair"); !strings.Contains(text, "(counted anew)") {
		t.Error(text)
	}
	run(done, "check")
}

// A volume that was not mounted is no healthy database without memories.
func TestCheckRefusesAnEmptyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := operate(t, dir)
	path := filepath.Join(dir, "loci.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text := run(refused, "check"); !strings.Contains(text, "loci.db is empty") {
		t.Error(text)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v: something was made in it", info, err)
	}
	run(done, "user", "create", "--email", "ada@example.org")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if text := run(refused, "user", "create", "--email", "bob@example.org"); !strings.Contains(text,
		"loci.created says that there was a database") {
		t.Error(text)
	}
}
