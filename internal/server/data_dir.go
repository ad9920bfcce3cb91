package server

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
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

// isLociFile reports whether Loci has a file of that name in its data folder.
func isLociFile(name string) bool {
	return strings.HasPrefix(name, "loci.") || name == lockFile
}
