package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// addUpdate adds memory.update, which fails with an error, and returns the last input and entity tag.
func addUpdate(t *op.Table, fail *error) *loci.UpdateMemory {
	var got loci.UpdateMemory
	op.Add(t, "memory.update", "PATCH /v1/memories/{memoryId}", "Change.", op.Account, op.ToolCore,
		func(_ *fakeService, _ context.Context, actor *identity.Actor,
			in loci.UpdateMemory) (out loci.OneMemory, err error) {
			if *fail != nil {
				return out, *fail
			}
			if actor.IfMatch == "" {
				return out, loci.NewError(loci.CodeConflict)
			}
			got = in
			out.Memory = fakeMemory(string(*in.Content))
			return out, nil
		}, op.IfMatch)
	return &got
}

// TestEditStoresTheTextOfTheEditor edits with programs, and keeps the file where its text cannot be stored.
func TestEditStoresTheTextOfTheEditor(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := func() (texts []string) {
		t.Helper()
		paths := testenv.Must(filepath.Glob(filepath.Join(os.TempDir(), "loci-memory-*.md")))(t)
		for _, path := range paths {
			texts = append(texts, string(testenv.Must(os.ReadFile(path))(t)))
			testenv.NoError(t, os.Remove(path))
		}
		return texts
	}
	const edited = "# Rock\nHard <b>\x1b[31m.\nMore.\n"
	for _, c := range []struct {
		name, editor, answer string
		fail                 error
		code                 int
		says, kept           string
		stored               bool
	}{
		{"stored", "echo More. >>", "y", nil, 0, "+More.\n", "", true},
		{"declined", "echo More. >>", "n", nil, 1, "nothing was done", "", false},
		{"unchanged", "true", "", nil, 0, "Nothing was changed.", "", false},
		{"the editor fails", "false", "", nil, 1, "the editor ended with status 1: nothing was changed", "", false},
		{"there is no editor", "no-such-editor", "", nil, 1, "set EDITOR", "", false},
		{"empty", "echo >", "", nil, 1, "the text is empty: nothing was changed", "", false},
		{"the editor fails late", "sh -c 'echo More. >> $1; exit 3' x", "", nil, 1, "status 3: nothing", "", false},
		{"the store fails", "echo More. >>", "y", loci.NewError(loci.CodeUnavailable), 1, "the text is in ", edited,
			false},
		{"changed meanwhile", "echo More. >>", "y", loci.NewError(loci.CodeConflict), 1, "the text is in ", edited,
			false},
	} {
		d := newTestTerminal(t, "PATH="+os.Getenv("PATH"), "EDITOR="+c.editor)
		got := addUpdate(d.table, &c.fail)
		d.in = typed(t, c.answer+"\n")
		code := d.run("memory", "edit", fakeID)
		if kept := strings.Join(left(), "|"); code != c.code || !strings.Contains(d.err.String(), c.says) ||
			kept != c.kept || (got.Content != nil) != c.stored {
			t.Errorf("%s: %d, kept %q, stored %v: %s%s", c.name, code, kept, got.Content, d.out.String(),
				d.err.String())
		}
	}
	d := newTestTerminal(t, "PATH="+os.Getenv("PATH"), "EDITOR=false", "VISUAL=echo More. >>")
	var fail error
	got := addUpdate(d.table, &fail)
	d.expectRun(t, exitUsage, "add --yes", "memory", "edit", fakeID)
	d.expectRun(t, exitOK, "+More.", "memory", "edit", fakeID, "--yes")
	testenv.Equal(t, string(*got.Content), "# Rock\nHard <b>\x1b[31m.\nMore.")
	testenv.EqualSlices(t, left(), nil)
}
