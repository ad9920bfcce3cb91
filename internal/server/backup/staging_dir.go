package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// stagingDir makes a private folder for incomplete files, and removes those of earlier, killed runs. Without a parent
// it is in the temporary folder, where nothing is removed: other users may own those files.
func stagingDir(parent, prefix string) (dir string, remove func(), err error) {
	if parent == "" {
		if dir, err = os.MkdirTemp("", "loci-backup-*"); err != nil {
			return "", nil, err
		}
		return dir, func() { os.RemoveAll(dir) }, nil
	}
	if err := removeStaleStaging(parent, prefix); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(parent, prefix+"*"+stagingSuffix); err != nil {
		return "", nil, err
	}
	l := flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow))
	err = os.Chmod(dir, 0o700) // independent of the umask
	if err == nil {
		_, err = l.TryLock()
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, func() { l.Unlock(); os.RemoveAll(dir) }, nil
}

const stagingSuffix = ".partial"

// restorePrefix begins the name of the folder in a data folder in which a restore prepares a database.
const restorePrefix = ".restore."

// PartialRestore matches the names of these folders.
const PartialRestore = restorePrefix + "*" + stagingSuffix

// removeStaleStaging removes the folders of earlier runs with a prefix, where no run holds their lock. It does not
// touch links or foreign files, and creates nothing.
func removeStaleStaging(parent, prefix string) error {
	list, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, entry := range list {
		rest, ours := strings.CutPrefix(entry.Name(), prefix)
		number, whole := strings.CutSuffix(rest, stagingSuffix)
		if !ours || !whole || strings.Trim(number, "0123456789") != "" {
			continue
		}
		old := filepath.Join(parent, entry.Name())
		if info, err := os.Lstat(old); err != nil || !info.IsDir() || !isOwnedByUser(info) {
			continue
		}
		lock := filepath.Join(old, "lock")
		info, err := os.Lstat(lock)
		if errors.Is(err, fs.ErrNotExist) {
			os.Remove(old) // killed before it made its lock: it is empty
			continue
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		l := flock.New(lock, flock.SetFlag(os.O_RDWR|noFollow))
		if ok, err := l.TryLock(); err == nil && ok {
			os.RemoveAll(old)
			l.Unlock()
		}
	}
	return nil
}
