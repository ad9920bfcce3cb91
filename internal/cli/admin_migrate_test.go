package cli

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/testenv"
)

// adminRunner returns a function that runs an operator's command in a folder, and returns its output.
func adminRunner(t *testing.T, dir string) func(want int, args ...string) string {
	return func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		p := &program{Console: console.Console{In: strings.NewReader(""), Out: &out, Err: &errs,
			Environ: []string{"HOME=" + dir}},
			deps: defaultDeps}
		args = slices.Concat([]string{"admin"}, args, []string{"--data", dir})
		testenv.Equal(t, p.run(t.Context(), args), want, args, &out, &errs)
		return out.String() + errs.String()
	}
}

// newAdmin returns a folder with a database of the user ada, and the runner of commands there.
func newAdmin(t *testing.T) (dir string, run func(want int, args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	run = adminRunner(t, dir)
	expectText(t, run(exitOK, "user", "create", "--email", "ada@example.org"),
		"loci admin user reset --email ada@example.org prints a link")
	return dir, run
}

// expectText fails unless a text has all parts.
func expectText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		testenv.Contains(t, text, part)
	}
}

func TestMigrateUpgradesSchema(t *testing.T) {
	t.Parallel()
	dir, run := newAdmin(t)
	expectText(t, run(exitOK, "migrate"), "the newest one")
	db := testenv.Must(sql.Open(sqlite.SQLName, "file:"+filepath.Join(dir, "loci.db")))(t)
	defer db.Close()
	for version, want := range map[int]string{999: "use a newer loci", -1: "run loci admin migrate"} {
		_ = testenv.Must(db.Exec(fmt.Sprint(`PRAGMA user_version = `, version)))(t)
		for _, args := range [][]string{{"check"}, {"check", "--repair"},
			{"key", "create", "--email", "ada@example.org"}, {"user", "create", "--email", "bob@example.org"}} {
			text := run(exitFailure, args...)
			if !strings.Contains(text, fmt.Sprint("schema ", version)) || !strings.Contains(text, want) {
				t.Errorf("%v: %s", args, text)
			}
		}
	}
	_ = testenv.Must(db.Exec(`PRAGMA user_version = 999`))(t)
	for _, args := range [][]string{{"migrate"}, {"migrate", "--dry-run"}, {"migrate", "--json"}} {
		expectText(t, run(exitFailure, args...), "schema 999", "use a newer loci")
	}
	// No schema precedes the first one: a negative number stands for it.
	_ = testenv.Must(db.Exec(`PRAGMA user_version = -1`))(t)
	for range 2 {
		expectText(t, run(exitOK, "migrate", "--dry-run", "--json"), `{"ok":true,"schema":-1,"newest":`,
			`"pending":["00001_schema"`, `"migrated":false`)
	}
	server := flock.New(filepath.Join(dir, "serve.lock"))
	if ok, err := server.TryLock(); !ok {
		t.Fatal(err)
	}
	expectText(t, run(exitFailure, "migrate"), "another server runs")
	server.Unlock()
	expectText(t, run(exitOK, "migrate"), "The schema was -1 and is", "00001_schema")
	run(exitOK, "check")
	expectText(t, run(exitOK, "migrate", "--json"), `"pending":[],"migrated":false`)
	_ = testenv.Must(db.Exec(`DROP TABLE attachments`))(t)
	expectText(t, run(exitFailure, "migrate", "--dry-run"), "lacks tables of its schema: attachments")
}
