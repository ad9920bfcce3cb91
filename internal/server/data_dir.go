package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/atomicfile"
	"github.com/loci-memory/loci/internal/server/backup"
)

// ensurePrivateDir makes the data folder with mode 0700. It restricts an existing folder that other users may enter if
// it contains only files of Loci. Otherwise that could lock other users out of their files, so it returns a warning.
func ensurePrivateDir(dir string) (warning string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return "", err
	}
	warning = fmt.Sprintf("other users of this machine may enter the data folder (mode %04o): chmod 700 %s",
		info.Mode().Perm(), dir)
	entries, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !isLociFile(e.Name()) }) {
		return warning, nil
	}
	if os.Chmod(dir, info.Mode()&^0o077) != nil {
		return warning, nil
	}
	return "", nil
}

// ownFiles match the names that Loci has in a data folder. The empty file system root of a volume has lost+found.
var ownFiles = []string{"loci.*", backup.LockFile, backup.FilesFolder, backup.PartialRestore, "lost+found"}

// isLociFile reports whether Loci has a file or folder of that name in its data folder.
func isLociFile(name string) bool {
	return slices.ContainsFunc(ownFiles, func(pattern string) bool {
		matches, _ := path.Match(pattern, name) // the patterns are valid
		return matches
	})
}

// IdentityPath returns the file of the identity, or "" where there is no data folder or no PostgreSQL database.
func (s Settings) IdentityPath() string {
	if s.DB == "" || s.Data == "" {
		return ""
	}
	return filepath.Join(s.Data, backup.IdentityFile)
}

// readIdentity returns the identity of the database that the server used last, or "".
func (s Settings) readIdentity() (string, error) {
	path := s.IdentityPath()
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	id := strings.TrimSpace(string(text))
	if err == nil && id == "" {
		err = loci.Errorf(loci.CodeConflict, "%s is empty: delete it, if LOCI_DB names the right database", path)
	}
	return id, err
}

// saveIdentity writes the identity of a database at the first start.
func (s Settings) saveIdentity(id string) error {
	path := s.IdentityPath()
	if known, err := s.readIdentity(); path == "" || known == id || err != nil {
		return err
	}
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(id+"\n"), 0o600, nil)
}

// XDGDir returns a base folder of the XDG Base Directory Specification: the variable's value, else the usual folder
// below the home folder. Relative paths are ignored, and without $HOME the user database names the home. The result is
// empty where no home is known.
func XDGDir(env func(string) string, variable, fallback string) string {
	return xdgDir(env, variable, fallback, user.Current)
}

func xdgDir(env func(string) string, variable, fallback string, current func() (*user.User, error)) string {
	if dir := env(variable); filepath.IsAbs(dir) {
		return dir
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		u, err := current()
		if err != nil || !filepath.IsAbs(u.HomeDir) {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, fallback)
}

// defaultDataDir returns the data folder of a server, or "" without a home folder.
func defaultDataDir() string {
	dir := XDGDir(os.Getenv, "XDG_DATA_HOME", filepath.Join(".local", "share"))
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "server")
}
