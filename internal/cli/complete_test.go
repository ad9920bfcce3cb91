package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// completions returns what a shell is offered for the last word of a line.
func (d *testTerminal) completions(t *testing.T, line string) string {
	t.Helper()
	if code := d.run(append([]string{"__complete"}, strings.Split(line, " ")...)...); code != 0 {
		t.Errorf("%s: %d %s", line, code, d.err.String())
	}
	offered, _, _ := strings.Cut(d.out.String(), ":")
	return strings.TrimSpace(strings.ReplaceAll(offered, "\n", " | "))
}

func TestShellIsOfferedValuesOfTheTarget(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.service.pages = 1
	testenv.Equal(t, d.completions(t, "memory get "), "") // no database is made
	testenv.Equal(t, d.openCount, 0)
	local := filepath.Join(d.home, ".local/share/loci/local")
	testenv.NoError(t, os.MkdirAll(local, 0o700))
	testenv.NoError(t, os.WriteFile(filepath.Join(local, "loci.db"), nil, 0o600))
	var deeds []string
	addTeamOperations(d.table, &deeds)
	op.Add(d.table, "workspace.update", "PATCH /v1/workspaces/{workspaceId}", "Rename.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.UpdateWorkspace) (out loci.OneWorkspace, err error) {
			return out, nil
		})
	const two = "00000001\tOne | 00000002\t日本語 two |"
	for line, want := range map[string]string{
		"memory get ": two, "memory get 0000000": two,
		"memory get 01890000-0000-7000-8001": fakeTwinID + "\t日本語 two |",
		"memory get 9":                       "", "memory delete x ": two,
		"memory get x ": "", "memory list --tags ": "a | b |",
		"memory list --tags a,":   "a,a | a,b |",
		"memory create --type ":   "fact | decision | preference | task | architecture | note |",
		"memory create --type de": "decision |",
		"memory list --type fact,task,note,": "fact,task,note,decision | fact,task,note,preference | " +
			"fact,task,note,architecture |",
		"memory list --type task,fact,d":     "task,fact,decision |",
		"memory create --type fact,":         "",
		"member remove x ":                   "cid@example.org\tCid␛ |",
		"workspace transfer x --user-id CID": "cid@example.org\tCid␛ |",
		"memory create --title ":             "",
	} {
		if got := d.completions(t, line); strings.TrimSuffix(got, " |") != strings.TrimSuffix(want, " |") {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestValuesAreCachedForSeconds reads values that are as old as their file.
func TestValuesAreCachedForSeconds(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.service.pages = 1
	server := newFakeServer(t, d.service)
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL, "LOCI_API_KEY="+fakeKey)
	d.completions(t, "memory get ")
	files := testenv.Must(filepath.Glob(filepath.Join(d.home, ".local/share/loci/loci-completion/*.json")))(t)
	testenv.Equal(t, len(files), 1)
	server.Close()
	testenv.NoError(t, os.Chtimes(files[0], time.Time{}, time.Now().Add(time.Hour)))
	testenv.Contains(t, d.completions(t, "memory get "), "00000001\tOne")
	testenv.NoError(t, os.Chtimes(files[0], time.Time{}, time.Now().Add(-time.Hour)))
	testenv.Equal(t, d.completions(t, "memory get "), "") // the server is away
	d.run("__complete", "memory", "get", "")
	if text := d.err.String(); strings.Contains(text, server.URL) {
		t.Errorf("a completion reports an error: %s", text)
	}
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("old values are left on the disk")
	}
}
