package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofrs/flock"
)

func listDir(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

// Foreign folders beside a backup are neither followed nor removed, and get no file.
func TestStagingDirRemovesOnlyOwnLeftovers(t *testing.T) {
	t.Parallel()
	parent, elsewhere := t.TempDir(), t.TempDir()
	const prefix = ".[l]oci*.tar."
	folder := func(name string, mode os.FileMode, lock bool) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if lock {
			if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	folder(prefix+"1.partial", 0o700, true)
	folder(prefix+"2.partial", 0o700, false) // killed before it made its lock
	held := flock.New(filepath.Join(folder(prefix+"3.partial", 0o700, true), "lock"))
	if ok, err := held.TryLock(); !ok || err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	folder(prefix+"4.partial", 0o777, true)
	folder(".loci1.tar.5.partial", 0o700, true) // the name is no pattern
	folder(prefix+"mine.partial", 0o700, true)
	linked := folder(prefix+"6.partial", 0o700, false)
	for from, to := range map[string]string{
		filepath.Join(parent, prefix+"7.partial"): elsewhere,
		filepath.Join(linked, "lock"):             filepath.Join(elsewhere, "planted"),
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	dir, remove, err := stagingDir(parent, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	remove()
	want := []string{prefix + "3.partial", prefix + "4.partial", prefix + "6.partial", prefix + "7.partial",
		prefix + "mine.partial",
		".loci1.tar.5.partial"}
	slices.Sort(want)
	if got := listDir(t, parent); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if got := listDir(t, elsewhere); len(got) > 0 {
		t.Errorf("behind the links there are %q", got)
	}
}

// The temporary folder is shared: nothing in it is removed.
func TestStagingDirLeavesTempDirAlone(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", parent)
	if err := os.Symlink(elsewhere, filepath.Join(parent, ".-.1.partial")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(parent, "loci-backup-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir, remove, err := stagingDir("", ".-.")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(dir) != parent {
		t.Errorf("%s: %v, %v", dir, info, err)
	}
	remove()
	if got := listDir(t, parent); !slices.Equal(got, []string{".-.1.partial", "loci-backup-1"}) ||
		len(listDir(t, elsewhere)) > 0 {
		t.Errorf("there are %q, behind the link %q", got, listDir(t, elsewhere))
	}
}
