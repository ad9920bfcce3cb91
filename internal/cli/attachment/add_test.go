package attachment

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/testenv"
)

// writeFile writes a file in a folder of its own, and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testenv.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestBrokenUploadIsRepeatedWhole(t *testing.T) {
	t.Parallel()
	stored := func(d *terminal) func(loci.Upload, io.Reader) error { // the response is lost
		return func(u loci.Upload, body io.Reader) error {
			if err := d.receive(u, body); err != nil {
				return err
			}
			return errBroken
		}
	}
	running := func(loci.Upload, io.Reader) error {
		return &loci.Error{Code: loci.CodeStateConflict, RetryAfter: 10 * time.Second, Message: "Another upload runs."}
	}
	refused := func(loci.Upload, io.Reader) error { return loci.NewError(loci.CodeForbidden) }
	type put = func(loci.Upload, io.Reader) error
	for name, x := range map[string]struct {
		puts  func(d *terminal) []put
		took  time.Duration
		fails loci.Code
	}{
		"unbroken":        {func(*terminal) []put { return nil }, 0, ""},
		"broken twice":    {func(*terminal) []put { return []put{breakAfter(0), breakAfter(3)} }, 6 * time.Second, ""},
		"a lost response": {func(d *terminal) []put { return []put{stored(d)} }, time.Second, ""},
		"the first one is running": {func(*terminal) []put { return []put{breakAfter(2), running} }, 11 * time.Second,
			""},
		"broken for good": {func(*terminal) []put { return slices.Repeat([]put{breakAfter(1)}, 4) },
			21 * time.Second, loci.CodeUnavailable},
		"refused": {func(*terminal) []put { return []put{refused} }, 0, loci.CodeForbidden},
	} {
		path := writeFile(t, "a.txt", "0123456789")
		synctest.Test(t, func(t *testing.T) {
			d := newTerminal()
			d.puts = x.puts(d)
			began := time.Now()
			err := d.run(t.Context(), "add", path, "--memory", memoryID, "--json")
			var report addReport
			if e := json.Unmarshal(d.out.Bytes(), &report); e != nil {
				t.Fatal(e, d.out.String())
			}
			testenv.Equal(t, time.Since(began), x.took)
			if x.fails != "" {
				if err != command.ErrReported || len(report.Errors) != 1 || report.Errors[0].Code != x.fails ||
					report.Errors[0].File != path || report.OK || len(d.deleted) != 1 {
					t.Errorf("%s: %v %s, deleted %v", name, err, d.out.String(), d.deleted)
				}
				return
			}
			if err != nil || !report.OK || len(report.Attachments) != 1 || report.Attachments[0].FileName != "a.txt" ||
				report.Attachments[0].Status != loci.AttachmentActive || d.deleted != nil ||
				string(d.content[report.Attachments[0].ID]) != "0123456789" {
				t.Errorf("%s: %v %s", name, err, d.out.String())
			}
		})
	}
}

func TestChangedFileIsNotUploaded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"longer":  func(path string) error { return os.WriteFile(path, []byte("0123456789ab"), 0o600) },
		"shorter": func(path string) error { return os.Truncate(path, 5) },
		"changed": func(path string) error { return os.WriteFile(path, []byte("012345678x"), 0o600) },
	} {
		path := writeFile(t, "a.txt", "0123456789")
		d := newTerminal()
		arrived := 0
		d.puts = []func(loci.Upload, io.Reader) error{func(_ loci.Upload, body io.Reader) error {
			if err := change(path); err != nil {
				t.Error(err)
			}
			content, err := io.ReadAll(body)
			arrived = len(content)
			return errors.Join(errBroken, err)
		}}
		err := d.run(t.Context(), "add", path, "--memory", memoryID)
		if err != command.ErrReported || !strings.Contains(d.err.String(), "changes while it is read") ||
			arrived == 10 || len(d.deleted) != 1 || d.out.Len() > 0 {
			t.Errorf("%s: %v %s, %d bytes arrived", name, err, d.err.String(), arrived)
		}
	}
}

func TestInterruptedUploadIsWithdrawn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := newTerminal()
	d.puts = []func(loci.Upload, io.Reader) error{func(loci.Upload, io.Reader) error {
		cancel()
		return ctx.Err()
	}}
	err := d.run(ctx, "add", writeFile(t, "a.txt", "x"), writeFile(t, "b.txt", "x"), "--memory", memoryID, "--json")
	if !errors.Is(err, context.Canceled) || len(d.deleted) != 1 || len(d.list) != 1 || d.out.Len() > 0 {
		t.Errorf("%v, deleted %v, announced %d, %s", err, d.deleted, len(d.list), d.out.String())
	}
}

func TestAddContinuesAfterFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "missing"), dir, writeFile(t, "a.txt", "a"), os.DevNull,
		writeFile(t, "\xff.txt", "b"), writeFile(t, "c.PNG", "")}
	want := []string{"no such file", "a folder", "not a regular file", "not UTF-8"}
	if os.Getuid() != 0 { // root reads every file
		files = append(files, writeFile(t, "secret", "x"))
		testenv.NoError(t, os.Chmod(files[len(files)-1], 0))
		want = append(want, "permission denied")
	}
	d := newTerminal()
	line := append([]string{"add", "--memory", memoryID[:23]}, files...)
	if err := d.run(t.Context(), append(line, "--json")...); err != command.ErrReported {
		t.Error(err)
	}
	var report addReport
	if err := json.Unmarshal(d.out.Bytes(), &report); err != nil || len(report.Errors) != len(want) ||
		len(report.Attachments) != 2 || len(d.list) != 2 || report.OK {
		t.Fatalf("%v %s", err, d.out.String())
	}
	for i, text := range want {
		if e := report.Errors[i]; !strings.Contains(e.Message, text) || e.Code != loci.CodeInvalidQuery {
			t.Errorf("%+v, want %s", e, text)
		}
	}
	if a := report.Attachments; !strings.HasPrefix(a[0].MIMEType, "text/plain") || a[1].MIMEType != "image/png" ||
		a[1].FileName != "c.PNG" || a[1].Size != 0 {
		t.Errorf("%+v", a)
	}
	err := d.run(t.Context(), line...)
	if err != command.ErrReported || strings.Count(d.out.String(), "\n") != 2 ||
		strings.Count(d.err.String(), "\n") != len(want) || !strings.Contains(d.out.String(), "a.txt (1 byte)") {
		t.Errorf("%v %s%s", err, d.out.String(), d.err.String())
	}
}

func TestAddEndsWithRefusedCredential(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.refusal = loci.NewError(loci.CodeInvalidKey)
	err := d.run(t.Context(), "add", writeFile(t, "a", "a"), writeFile(t, "b", "b"), "--memory", memoryID, "--json")
	if !loci.Is(err, loci.CodeInvalidKey) || d.out.Len() > 0 {
		t.Errorf("%v %s", err, d.out.String())
	}
}

func TestStreamIsSpooledAndNamed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	d := newTerminal()
	d.in = io.MultiReader(strings.NewReader("01234"), readerFunc(func([]byte) (int, error) {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 { // nothing is left even after a kill
			t.Errorf("%v %v", entries, err)
		}
		return 0, io.EOF
	}))
	if err := d.run(t.Context(), "add", "-", "--memory", memoryID, "--name", "dump.sql", "--type", "a/b"); err != nil ||
		len(d.list) != 1 || d.list[0].FileName != "dump.sql" || d.list[0].MIMEType != "a/b" ||
		string(d.content[d.list[0].ID]) != "01234" {
		t.Errorf("%v %+v", err, d.list)
	}
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	d.in = readerFunc(func([]byte) (int, error) {
		cancel()
		<-release
		return 0, io.EOF
	})
	if err := d.run(ctx, "add", "-", "--memory", memoryID, "--name", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream without an end: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 || len(d.list) != 1 {
		t.Errorf("%v %v %+v", entries, err, d.list)
	}
}

// A readerFunc is a function that reads.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestIncompleteCommandLineIsUsageError(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.expectUsageError(t, "FILE is required", "add", "--memory", memoryID)
	d.expectUsageError(t, "--memory is required", "add", "a")
	d.expectUsageError(t, "standard input is read once", "add", "-", "-", "--memory", memoryID)
	d.expectUsageError(t, "--name is the name of one file", "add", "a", "b", "--name", "c", "--memory", memoryID)
	d.expectUsageError(t, "give it one with --name", "add", "-", "--memory", memoryID)
	d.expectUsageError(t, "<attachment-id> is required", "remove")
	d.expectUsageError(t, "add --yes", "remove", memoryID)
	d.expectUsageError(t, "<attachment-id> is required", "get")
	d.expectUsageError(t, "exclude each other", "get", memoryID, "-o", "-", "--json")
	if d.list != nil || d.deleted != nil || d.offsets != nil {
		t.Errorf("%+v", d.fakeServer)
	}
}
