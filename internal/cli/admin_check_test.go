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
	dir, run := newAdmin(t)
	run(exitOK, "check")
	storetest.Database{Dir: dir}.Exec(t, `UPDATE atlases SET memories = 7`)
	expectText(t, run(exitFailure, "check"), "counters ", "counts other memories", "--repair")
	expectText(t, run(exitFailure, "check", "--json"), `"found":1,"repaired":0,"inconsistencies":[{"kind":"counters"`)
	expectText(t, run(exitOK, "check", "--repair"), "(rebuilt)")
	run(exitOK, "check")
}

// A damaged row that no backup has is accepted as it is.
func TestCheckAcceptsDamagedRow(t *testing.T) {
	t.Parallel()
	dir, run := newAdmin(t)
	d := storetest.Database{Dir: dir}
	d.Exec(t, `UPDATE users SET name = 'Somebody'`)
	id := d.Query(t, `SELECT id FROM users`)[0]
	expectText(t, run(exitFailure, "check", "--repair", "--accept", "users"), "rows "+id, "restore it from a backup")
	expectText(t, run(exitUsage, "check", "--accept", id), "needs --repair")
	expectText(t, run(exitOK, "check", "--repair", "--accept", "users,"+id), "(accepted it as it is)")
	run(exitOK, "check")
	testenv.EqualSlices(t, d.Query(t, `SELECT name FROM users`), []string{"Somebody"})
}

func TestOperatorSetsPlanOfUser(t *testing.T) {
	t.Parallel()
	_, run := newAdmin(t)
	const email = "--email=Ada@example.org"
	testenv.Equal(t, run(exitOK, "user", "plan", email, "--plan", "free"), "The plan of ada@example.org is free.\n")
	expectText(t, run(exitOK, "user", "plan", email, "--plan", "default", "--json"), `"plan":"default"`, `"userId":"`)
	expectText(t, run(exitFailure, "user", "plan", email, "--plan", "gold"), "free, pro, selfhosted or default")
	expectText(t, run(exitUsage, "user", "plan", email), "--plan is required")
	expectText(t, run(exitUsage, "user", "plan", "--plan", "pro"), "--email is required")
	expectText(t, run(exitFailure, "user", "plan", "--email=eve@example.org", "--plan", "pro"),
		`no user with the address "eve@example.org"`)
}

func TestOperatorDisablesAndShowsUsers(t *testing.T) {
	t.Parallel()
	_, run := newAdmin(t)
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
	expectText(t, run(exitOK, "user", "show", email), "\nWORKSPACES\n", "usage.storage.limit-bytes   unlimited\n",
		"personal")
	if text := run(exitOK, "user", "show", email, "--json"); !strings.HasPrefix(text, `{"ok":true,"user":{"id":"`) ||
		!strings.Contains(text, `"disabled":true,"plan":"selfhosted"`) || !strings.Contains(text, `"role":"owner"`) {
		t.Error(text)
	}
	expectText(t, run(exitOK, "user", "enable", email, "--json"), `"disabled":false`)
	if text := run(exitOK, "user", "list", "--json"); strings.Count(text, `"disabled":false`) != 2 {
		t.Error(text)
	}
	for _, command := range []string{"show", "enable", "disable"} {
		expectText(t, run(exitFailure, "user", command, "--email=eve@example.org"),
			`no user with the address "eve@example.org"`)
		expectText(t, run(exitUsage, "user", command), "--email is required")
	}
}

func TestOperatorDeletesUser(t *testing.T) {
	t.Parallel()
	_, run := newAdmin(t)
	run(exitOK, "key", "create", "--email", "ada@example.org")
	const email = "--email=Ada@example.org"
	for verb, want := range map[string]string{
		"delete": "This would delete 1 user, 1 key, 1 membership, 1 workspace, 1 atlas.\n" +
			"loci: Nothing was deleted: add --yes to delete it for good.\n",
		"purge": "loci: Nothing was erased: add --yes to erase it for good.\n"} {
		expectText(t, run(exitUsage, "user", verb, email), want)
	}
	testenv.Equal(t, run(exitOK, "user", "delete", email, "--yes"),
		"Deleted 1 user, 1 key, 1 membership, 1 workspace, 1 atlas.\n")
	expectText(t, run(exitFailure, "user", "delete", email, "--yes"), `no user with the address "Ada@example.org"`)
	run(exitOK, "check")
	run(exitOK, "user", "create", "--email", "ada@example.org")
	if text := run(exitOK, "user", "delete", email, "--yes", "--json"); !strings.HasPrefix(text,
		`{"ok":true,"deleted":{"users":1,`) {
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
	expectText(t, run(exitFailure, "check"), "loci.db is empty")
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v: something was made in it", info, err)
	}
	run(exitOK, "user", "create", "--email", "ada@example.org")
	testenv.NoError(t, os.Remove(path))
	expectText(t, run(exitFailure, "user", "create", "--email", "bob@example.org"),
		"loci.created says that there was a database")
}
