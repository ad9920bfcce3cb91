package profile

import (
	"os"
	"path/filepath"

	"github.com/loci-memory/loci/internal/atomicfile"
)

// ChangeTarget stores the target of a command, and reports whether the last command had another one. A target that
// cannot be stored counts as another one.
func (s Store) ChangeTarget(name string) bool {
	if s.Path == "" {
		return true
	}
	path := filepath.Join(filepath.Dir(s.Path), "last-target")
	if last, err := os.ReadFile(path); err == nil && string(last) == name {
		return false
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = atomicfile.Write(path, []byte(name), 0o600, nil) // the next command names its target again
	}
	return true
}
