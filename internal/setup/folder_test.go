package setup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// TestRemovalLeavesNoFolder connects each client in an empty home and an empty project, and disconnects it.
func TestRemovalLeavesNoFolder(t *testing.T) {
	t.Parallel()
	for _, client := range connectable() {
		w := newWorld(t)
		for _, project := range []string{"", w.project} {
			c := w.change(client, &connections[0].to)
			if c.Project = project; project != "" && !c.Client.HasProject() {
				continue
			}
			c.Lock = filepath.Join(t.TempDir(), "lock")
			w.run(c)
			c.To = nil
			if out := w.run(c); out.Action != Removed {
				t.Errorf("%s: %+v", client, out)
			}
			for _, dir := range []string{w.home, w.project} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%s: %v is left in %s (%v)", client, left, dir, err)
				}
			}
		}
	}
}

// TestRemovalKeepsFoldersOfOthers checks folders that are not empty, that others could have made, or that a variable
// names.
func TestRemovalKeepsFoldersOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variable, dir, file, want string
		mode                      os.FileMode
	}{
		"another file":  {dir: ".pi", mode: 0o700, file: "note", want: ".pi/note"},
		"another mode":  {dir: ".pi", mode: 0o755, want: ".pi"},
		"a named one":   {variable: "PI_CODING_AGENT_DIR", dir: "mine", mode: 0o700, want: "mine"},
		"a named above": {variable: "XDG_CONFIG_HOME", dir: "mine", mode: 0o700, want: "mine"},
	} {
		w := newWorld(t)
		dir := filepath.Join(w.home, c.dir)
		testenv.NoError(t, errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, c.mode)))
		if c.file != "" {
			testenv.NoError(t, os.WriteFile(filepath.Join(dir, c.file), nil, 0o600))
		}
		home := w.system.Env
		w.system.Env = func(name string) string {
			if name == c.variable {
				return dir
			}
			return home(name)
		}
		client := "pi"
		if c.variable == "XDG_CONFIG_HOME" {
			client = "opencode"
		}
		for _, to := range []*Connection{&connections[0].to, nil} {
			change := w.change(client, to)
			change.Lock = filepath.Join(t.TempDir(), "lock")
			w.run(change)
		}
		var left []string
		err := filepath.WalkDir(w.home, func(path string, entry os.DirEntry, err error) error {
			if entries, _ := os.ReadDir(path); err == nil && len(entries) == 0 {
				path, _ = filepath.Rel(w.home, path)
				left = append(left, path)
			}
			return err
		})
		if err != nil || !slices.Equal(left, []string{c.want}) {
			t.Errorf("%s: %v is left, want %s (%v)", name, left, c.want, err)
		}
	}
}

// TestRemovalKeepsLinkedFolder checks that a folder which is a link to another one stays.
func TestRemovalKeepsLinkedFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target, link := filepath.Join(w.home, "dotfiles"), filepath.Join(w.home, ".cursor")
	testenv.NoError(t, os.Mkdir(target, 0o700))
	testenv.NoError(t, os.Symlink(target, link))
	w.run(w.change("cursor", &connections[0].to))
	w.run(w.change("cursor", nil))
	for _, path := range []string{target, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
