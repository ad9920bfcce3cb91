package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// The exit code of a check is 1 until the inconsistencies are repaired.
func TestCheckFailsUntilRepaired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := adminRunner(t, dir)
	run(exitOK, "user", "create", "--email", "ada@example.org")
	run(exitOK, "check")
	storetest.Database{Dir: dir}.Exec(t, `UPDATE atlases SET memories = 7`)
	if text := run(exitFailure, "check"); !strings.Contains(text, "counters ") ||
		!strings.Contains(text, "counts other memories") || !strings.Contains(text, "--repair") {
		t.Error(text)
	}
	if text := run(exitFailure, "check", "--json"); !strings.Contains(text,
		`"found":1,"repaired":0,"inconsistencies":[{"kind":"counters"`) {
		t.Error(text)
	}
	if text := run(exitOK, "check", "--repair"); !strings.Contains(text, "(rebuilt)") {
		t.Error(text)
	}
	run(exitOK, "check")
}

func TestOperatorSetsPlanOfUser(t *testing.T) {
	t.Parallel()
	run := adminRunner(t, t.TempDir())
	run(exitOK, "user", "create", "--email", "ada@example.org")
	const email = "--email=Ada@example.org"
	if text := run(exitOK, "user", "plan", email, "--plan", "free"); text != "The plan of ada@example.org is free.\n" {
		t.Error(text)
	}
	if text := run(exitOK, "user", "plan", email, "--plan", "default", "--json"); !strings.Contains(text,
		`"plan":"default"`) || !strings.Contains(text, `"userId":"`) {
		t.Error(text)
	}
	if text := run(exitFailure, "user", "plan", email, "--plan", "gold"); !strings.Contains(text,
		"free, pro, selfhosted or default") {
		t.Error(text)
	}
	if text := run(exitUsage, "user", "plan", email); !strings.Contains(text, "--plan is required") {
		t.Error(text)
	}
	if text := run(exitUsage, "user", "plan", "--plan", "pro"); !strings.Contains(text, "--email is required") {
		t.Error(text)
	}
	if text := run(exitFailure, "user", "plan", "--email=eve@example.org", "--plan", "pro"); !strings.Contains(text,
		`no user with the address "eve@example.org"`) {
		t.Error(text)
	}
}

func TestOperatorDisablesAndShowsUsers(t *testing.T) {
	t.Parallel()
	run := adminRunner(t, t.TempDir())
	run(exitOK, "user", "create", "--email", "ada@example.org")
	run(exitOK, "user", "create", "--email", "bea@example.org", "--name", "Bea\x1b[2J")
	const email = "--email=Ada@example.org"
	if text := run(exitOK, "user", "disable", email); !strings.HasPrefix(text,
		"The user ada@example.org is disabled: ") {
		t.Error(text)
	}
	if text := run(exitOK, "user", "list"); !strings.Contains(text, "DISABLED") || strings.Contains(text, "\x1b") ||
		strings.Index(text, "ada@example.org") > strings.Index(text, "bea@example.org") {
		t.Error(text)
	}
	if text := run(exitOK, "user", "show", email); !strings.Contains(text, "\nWORKSPACES\n") ||
		!strings.Contains(text, "usage.storage.limit-bytes   unlimited\n") || !strings.Contains(text, "personal") {
		t.Error(text)
	}
	if text := run(exitOK, "user", "show", email, "--json"); !strings.HasPrefix(text, `{"user":{"id":"`) ||
		!strings.Contains(text, `"disabled":true,"plan":"selfhosted"`) || !strings.Contains(text, `"role":"owner"`) {
		t.Error(text)
	}
	if text := run(exitOK, "user", "enable", email, "--json"); !strings.Contains(text, `"disabled":false`) {
		t.Error(text)
	}
	if text := run(exitOK, "user", "list", "--json"); strings.Count(text, `"disabled":false`) != 2 {
		t.Error(text)
	}
	for _, command := range []string{"show", "enable", "disable"} {
		if text := run(exitFailure, "user", command, "--email=eve@example.org"); !strings.Contains(text,
			`no user with the address "eve@example.org"`) {
			t.Error(text)
		}
		if text := run(exitUsage, "user", command); !strings.Contains(text, "--email is required") {
			t.Error(text)
		}
	}
}

func TestOperatorDeletesUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := adminRunner(t, dir)
	run(exitOK, "user", "create", "--email", "ada@example.org")
	run(exitOK, "key", "create", "--email", "ada@example.org")
	const email = "--email=Ada@example.org"
	for verb, want := range map[string]string{
		"delete": "This would delete 1 user, 1 key, 1 membership, 1 workspace, 1 atlas.\n" +
			"loci: Nothing was deleted: add --yes to delete it for good.\n",
		"purge": "loci: Nothing was erased: add --yes to erase it for good.\n"} {
		if text := run(exitUsage, "user", verb, email); !strings.Contains(text, want) {
			t.Errorf("%s: %s", verb, text)
		}
	}
	if text := run(exitOK, "user", "delete", email, "--yes"); text !=
		"Deleted 1 user, 1 key, 1 membership, 1 workspace, 1 atlas.\n" {
		t.Error(text)
	}
	if text := run(exitFailure, "user", "delete", email, "--yes"); !strings.Contains(text,
		`no user with the address "Ada@example.org"`) {
		t.Error(text)
	}
	run(exitOK, "check")
	run(exitOK, "user", "create", "--email", "ada@example.org")
	if text := run(exitOK, "user", "delete", email, "--yes", "--json"); !strings.HasPrefix(text,
		`{"deleted":{"users":1,`) {
		t.Error(text)
	}
}

// A volume that was not mounted must not pass for an empty database.
func TestCheckRejectsEmptyDatabaseFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := adminRunner(t, dir)
	path := filepath.Join(dir, "loci.db")
	testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	if text := run(exitFailure, "check"); !strings.Contains(text, "loci.db is empty") {
		t.Error(text)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v: something was made in it", info, err)
	}
	run(exitOK, "user", "create", "--email", "ada@example.org")
	testenv.NoError(t, os.Remove(path))
	if text := run(exitFailure, "user", "create", "--email", "bob@example.org"); !strings.Contains(text,
		"loci.created says that there was a database") {
		t.Error(text)
	}
}
