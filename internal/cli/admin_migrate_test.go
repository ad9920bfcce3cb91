package cli

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
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
		if code := p.run(context.Background(), append([]string{"admin"},
			append(args, "--data", dir)...)); code != want {
			t.Errorf("%v ended with %d, not %d: %s%s", args, code, want, &out, &errs)
		}
		return out.String() + errs.String()
	}
}

func TestMigrateUpgradesSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := adminRunner(t, dir)
	run(exitOK, "user", "create", "--email", "ada@example.org")
	if text := run(exitOK, "migrate"); !strings.Contains(text, "the newest one") {
		t.Error(text)
	}
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
	// No schema precedes the first one: a negative number stands for it.
	_ = testenv.Must(db.Exec(`PRAGMA user_version = -1`))(t)
	for range 2 {
		if text := run(exitOK, "migrate", "--dry-run", "--json"); !strings.Contains(text, `{"schema":-1,"newest":`) ||
			!strings.Contains(text, `"pending":["00001_schema"`) || !strings.Contains(text, `"migrated":false`) {
			t.Error(text)
		}
	}
	server := flock.New(filepath.Join(dir, "serve.lock"))
	if ok, err := server.TryLock(); !ok {
		t.Fatal(err)
	}
	if text := run(exitFailure, "migrate"); !strings.Contains(text, "another server runs") {
		t.Error(text)
	}
	server.Unlock()
	if text := run(exitOK, "migrate"); !strings.Contains(text, "The schema was -1 and is") ||
		!strings.Contains(text, "00001_schema") {
		t.Error(text)
	}
	run(exitOK, "check")
	if text := run(exitOK, "migrate", "--json"); !strings.Contains(text, `"pending":[],"migrated":false`) {
		t.Error(text)
	}
}
