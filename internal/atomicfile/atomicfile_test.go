package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// names returns the names in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func checkFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%q %v, want %q", got, err, text)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != mode && runtime.GOOS != "windows" {
		t.Errorf("mode %v, want %v", info.Mode(), mode)
	}
}

func TestWriteCreatesAndReplacesWithMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, step := range []struct {
		text string
		mode fs.FileMode
	}{{"a long text", 0o600}, {"short", 0o666}, {"", 0o640}} {
		if err := Write(path, []byte(step.text), step.mode, nil); err != nil {
			t.Fatal(err)
		}
		checkFile(t, path, step.text, step.mode)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"file"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestWriteReplacesLinkAndNotTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	checkFile(t, target, "old", 0o600)
	checkFile(t, link, "new", 0o600)
}

func TestWriteChecksCompleteTemporaryFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	err := Write(path, []byte("new"), 0o640, func() error {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) == 1 {
			checkFile(t, left[0], "new", 0o640)
		} else {
			t.Errorf("temporary files: %q", left)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file exists before the check: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFailedWriteLeavesFolderAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("the file was changed")
	if err := Write(path, []byte("new"), 0o644, func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a failed check: %v", err)
	}
	if err := Write(folder, []byte("new"), 0o644, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if err := Write(filepath.Join(dir, "missing", "file"), nil, 0o644, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	checkFile(t, path, "old", 0o600)
	if got := names(t, dir); !slices.Equal(got, []string{"file", "folder"}) {
		t.Errorf("the folder holds %q", got)
	}
}

// TestReaderSeesWholeFile reads a file while it is replaced.
func TestReaderSeesWholeFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
	if err := Write(path, texts[0], 0o600, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for i := range 30 {
			err = errors.Join(err, Write(path, texts[i%2], 0o600, nil))
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, texts[0]) && !bytes.Equal(got, texts[1]) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

func TestSyncDirReportsMissingFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
