package attachment

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/testenv"
)

const text = "0123456789"

// filesIn returns the names and contents of a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := testenv.Must(os.ReadDir(dir))(t)
	found := map[string]string{}
	for _, e := range entries {
		content := testenv.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		found[e.Name()] = string(content)
	}
	return found
}

// expectFiles compares the contents of a folder.
func expectFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	found := filesIn(t, dir)
	for name, content := range want {
		testenv.Equal(t, found[name], content, name)
	}
	testenv.Equal(t, len(found), len(want))
}

func TestBrokenDownloadContinuesByRange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newTerminal()
		id := string(d.store("a.txt", []byte(text)))
		d.breaks = []int{3, 0, 0, 4}
		if err := d.run(t.Context(), "get", id, "-o", dir); err != nil || !slices.Equal(d.offsets,
			[]int64{0, 3, 3, 3, 7}) || d.out.String() != "Saved "+filepath.Join(dir, "a.txt")+" (10 bytes)\n" {
			t.Errorf("%v %v %s", err, d.offsets, d.out.String())
		}
		d.breaks = []int{0, 0, 0, 0}
		if err := d.run(t.Context(), "get", id, "-o", "-"); err != errBroken || d.out.Len() > 0 {
			t.Errorf("broken for good: %v %s", err, d.out.String())
		}
		d.breaks = []int{2, 5}
		if err := d.run(t.Context(), "get", id, "-o", "-"); err != nil || d.out.String() != text {
			t.Errorf("to the standard output: %v %s", err, d.out.String())
		}
	})
	expectFiles(t, dir, map[string]string{"a.txt": text})
}

func TestLaterRunContinuesPart(t *testing.T) {
	t.Parallel()
	part := "a.txt." + checksum([]byte(text))[:12] + ".part"
	for name, x := range map[string]struct {
		part, etag string
		offsets    []int64
	}{
		"a beginning":    {"0123", "", []int64{0, 4}},
		"all of it":      {text, "", []int64{0}},
		"nothing":        {"", "", []int64{0}},
		"too much":       {text + text, "", []int64{0}},
		"a damaged one":  {"x123", "", []int64{0, 4, 0}},
		"all is damaged": {"x123456789", "", []int64{0, 0}},
		"a weak tag":     {"0123", "W/" + `"a"`, []int64{0}},
	} {
		dir := t.TempDir()
		d := newTerminal()
		id := d.store("a.txt", []byte(text))
		d.etag = x.etag
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, part), []byte(x.part), 0o600))
		if err := d.run(t.Context(), "get", string(id), "--memory", memoryID, "-o", dir); err != nil ||
			!slices.Equal(d.offsets, x.offsets) {
			t.Errorf("%s: %v %v", name, err, d.offsets)
		}
		expectFiles(t, dir, map[string]string{"a.txt": text})
	}
	dir := t.TempDir()
	d := newTerminal()
	id := string(d.store("a.txt", []byte(text)))
	d.breaks = []int{4}
	d.began = func() { // the file is deleted during the download
		d.list = nil
	}
	synctest.Test(t, func(t *testing.T) { // without waiting for the pauses
		if err := d.run(t.Context(), "get", id, "-o", dir); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("the file was deleted meanwhile: %v", err)
		}
	})
	expectFiles(t, dir, map[string]string{part: "0123"})
}

func TestWrongChecksumLeavesNoFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"x123456789", "012345678"} {
		dir := t.TempDir()
		d := newTerminal()
		id := d.store("a.txt", []byte(text))
		d.put(id, []byte(content))
		for _, output := range []string{dir, "-"} {
			if err := d.run(t.Context(), "get", string(id), "--memory", memoryID, "-o", output); err != errChecksum {
				t.Errorf("%s: %v", content, err)
			}
		}
		expectFiles(t, dir, nil)
	}
}

func TestChecksumThatTheStoreDoesNotTellComesFromMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newTerminal()
	d.etag = `"d41d8cd98f00b204e9800998ecf8427e"` // of a bucket
	id := string(d.store("a.txt", []byte(text)))
	if err := d.run(t.Context(), "get", id, "-o", dir); err != nil ||
		!strings.Contains(d.err.String(), "not compared") {
		t.Errorf("%v %s", err, d.err.String())
	}
	if err := d.run(t.Context(), "get", id, "-o", dir, "--memory", memoryID, "--force"); err != nil || d.err.Len() > 0 {
		t.Errorf("%v %s", err, d.err.String())
	}
	expectFiles(t, dir, map[string]string{"a.txt": text})
}

func TestNamesStayInTheFolder(t *testing.T) {
	t.Parallel()
	emoji := strings.Repeat("\U0001f600", 60)
	for name, want := range map[string]string{"../x": "_x", "..": "_", "CON": "_CON", "/etc/passwd": "_etc_passwd",
		emoji: emoji, `C:\a.txt`: "C__a.txt", "a\u202egnp.exe": "a_gnp.exe",
		"con." + strings.Repeat("é", 125): "_con." + strings.Repeat("é", 125), "b.part": "b.part"} {
		dir := t.TempDir()
		d := newTerminal()
		id := d.store(name, []byte(text))
		if err := d.run(t.Context(), "get", string(id), "-o", dir, "--json"); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expectFiles(t, dir, map[string]string{want: text})
		var saved savedFile
		if err := json.Unmarshal(d.out.Bytes(), &saved); err != nil || saved != (savedFile{id, name,
			filepath.Join(dir, want), 10, checksum([]byte(text))}) {
			t.Errorf("%v %s", err, d.out.String())
		}
	}
}

func TestGetReplacesNoFileWithoutForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "own")
	d := newTerminal()
	id := string(d.store("a.txt", []byte(text)))
	testenv.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	if err := d.run(t.Context(), "get", id, "-o", path); !loci.Is(err, loci.CodeStateConflict) ||
		!strings.Contains(err.Error(), "--force") {
		t.Errorf("%v", err)
	}
	expectFiles(t, dir, map[string]string{"own": "mine"})
	testenv.NoError(t, d.run(t.Context(), "get", id, "-o", path, "--force"))
	expectFiles(t, dir, map[string]string{"own": text})
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "a.txt"), 0o700))
	if err := d.run(t.Context(), "get", id, "-o", dir, "--force"); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("a folder of that name: %v", err)
	}
	if err := d.run(t.Context(), "get", id, "-o", filepath.Join(dir, "none", "x")); !loci.Is(err,
		loci.CodeInvalidQuery) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestPlaceReplacesNoFileThatAppearedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	part, path := filepath.Join(dir, "a.part"), filepath.Join(dir, "a")
	for _, p := range []string{part, path} {
		testenv.NoError(t, os.WriteFile(p, []byte(filepath.Base(p)), 0o600))
	}
	if err := place(part, path, false); !loci.Is(err, loci.CodeStateConflict) {
		t.Errorf("%v", err)
	}
	expectFiles(t, dir, map[string]string{"a": "a", "a.part": "a.part"})
	testenv.NoError(t, place(part, path, true))
	expectFiles(t, dir, map[string]string{"a": "a.part"})
}

func TestPartFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newTerminal()
	id := string(d.store("a.txt", []byte(text)))
	own := writeFile(t, "own", "mine")
	if err := os.Symlink(own, filepath.Join(dir, "a.txt."+checksum([]byte(text))[:12]+".part")); err != nil {
		t.Skip(err)
	}
	if err := d.run(t.Context(), "get", id, "-o", dir); !loci.Is(err, loci.CodeStateConflict) {
		t.Errorf("%v", err)
	}
	if content, err := os.ReadFile(own); err != nil || string(content) != "mine" {
		t.Errorf("%q %v", content, err)
	}
}

func TestAttachmentIsFoundByPrefixInItsMemory(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	id := string(d.store("a\x1b.txt", []byte(text)))
	twin := d.list[0]
	twin.ID = loci.ID(id[:len(id)-1] + map[bool]string{true: "0", false: "1"}[!strings.HasSuffix(id, "0")])
	d.list = append(d.list, twin)
	for start, want := range map[string]string{id[:7]: "at least the first or last 8 characters",
		id[:20]:    "2 attachment records answer to",
		"00000000": "No attachment has an id that begins or ends with 00000000", strings.ToUpper(id): ""} {
		err := d.run(t.Context(), "get", start, "--memory", memoryID, "-o", "-")
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: %v", start, err)
		}
	}
	if err := d.run(t.Context(), "get", id[:20], "-o", "-"); !loci.Is(err, loci.CodeInvalidQuery) ||
		!strings.Contains(err.Error(), "--memory") {
		t.Errorf("without a memory: %v", err)
	}
}

func TestListAndRemove(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	id := string(d.store("a.txt", []byte(text)))
	if err := d.run(t.Context(), "list", memoryID[:23]); err != nil || !strings.Contains(d.out.String(), "FILE NAME") ||
		!strings.Contains(d.out.String(), "a.txt") {
		t.Errorf("%v %s", err, d.out.String())
	}
	var list attachmentList
	if err := d.run(t.Context(), "list", memoryID, "--json"); err != nil ||
		json.Unmarshal(d.out.Bytes(), &list) != nil || len(list.Attachments) != 1 || !bytes.HasPrefix(d.out.Bytes(), []byte(`{"ok":true,"attachments":[`)) {
		t.Errorf("%v %s", err, d.out.String())
	}
	if err := d.run(t.Context(), "remove", id, memoryID, "--yes"); err != command.ErrReported ||
		!slices.Equal(d.deleted, []loci.ID{loci.ID(id), memoryID}) ||
		!strings.Contains(d.err.String(), "1 of 2 failed") {
		t.Errorf("%v %v %s%s", err, d.deleted, d.out.String(), d.err.String())
	}
	testenv.Equal(t, question(d.list), `Delete the file "a.txt" (`+id+`)`)
	testenv.Equal(t, question([]loci.Attachment{{ID: "a"}, {ID: "b"}}), "Delete 2 files: a, b")
}
