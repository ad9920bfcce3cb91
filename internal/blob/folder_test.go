package blob

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// paths lists the files in a folder with their modes.
func paths(t *testing.T, dir string) (list []string) {
	t.Helper()
	testenv.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, path)
		list = append(list, info.Mode().String()+" "+filepath.ToSlash(rel))
		return err
	}))
	return list
}

func TestFolderKeepsFilesOfTheOwnerInTwoLevels(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "files")
	f := testenv.Must(OpenFolder(dir))(t)
	id := string(put(t, f, "text"))
	want := "-rw------- " + id[34:] + "/" + id[32:34] + "/" + id
	if got := paths(t, dir); runtime.GOOS != "windows" && (len(got) != 1 || got[0] != want) {
		t.Errorf("the files %v, want %s", got, want)
	}
	info, err := os.Stat(filepath.Join(dir, id[34:]))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestFolderDeletesWhatOldUploadsHaveLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := testenv.Must(OpenFolder(dir))(t)
	for name, age := range map[string]time.Duration{"old": uploadTime + time.Hour, "running": uploadTime / 2} {
		testenv.NoError(t, os.MkdirAll(f.uploads(), 0o700))
		path := filepath.Join(f.uploads(), name)
		testenv.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		testenv.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	testenv.Must(OpenFolder(dir))(t)
	if got := strings.Join(paths(t, dir), " "); !strings.HasSuffix(got, "uploads/running") ||
		strings.Contains(got, "old") {
		t.Errorf("the files %s", got)
	}
	if got := list(t, f); len(got) > 0 {
		t.Errorf("unfinished files are the objects %v", got)
	}
}
