package setup

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folderMode is the mode of the folders that a change makes.
func folderMode(private bool) fs.FileMode {
	if private {
		return 0o700
	}
	return 0o755
}

// removeFolders removes the folder of a removed file, and those above it, as far as they are empty and a change could
// have made them.
func (c Change) removeFolders(dir string) {
	for c.couldMake(dir) && os.Remove(dir) == nil { // it fails unless the folder is empty
		dir = filepath.Dir(dir)
	}
}

// couldMake reports whether a change could have made a folder: one below the home folder or the project, which no
// variable names, and whose mode is that of such folders.
func (c Change) couldMake(dir string) bool {
	kept := c.keptFolders()
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&^folderMode(c.Project == "") == 0 &&
		!slices.Contains(kept, dir) && slices.ContainsFunc(kept, func(top string) bool {
		return strings.HasPrefix(dir, top+string(filepath.Separator))
	})
}

// keptFolders returns the folders that a change never removes, but below which it makes others.
func (c Change) keptFolders() []string {
	kept := []string{c.Project}
	if c.Project == "" {
		kept = []string{c.System.home(), c.System.Env("XDG_CONFIG_HOME"), c.System.Env("APPDATA")}
		l, _ := c.location()
		for _, dir := range l.dirs {
			if name, ok := strings.CutPrefix(dir, "$"); ok {
				name, _, _ = strings.Cut(name, "/")
				kept = append(kept, c.System.Env(name))
			}
		}
	}
	kept = slices.DeleteFunc(kept, func(dir string) bool { return !filepath.IsAbs(dir) })
	for i, dir := range kept {
		kept[i] = filepath.Clean(dir)
	}
	return kept
}
