package setup

import (
	"path"
	"strings"
)

// A location is a list of files, of which the first that exists counts.
type location struct {
	// dirs are folders; the first counts whose variables are set. "~" is the home folder, {config} the XDG folder of
	// settings, {apps} that of the settings of applications, $NAME a variable. A prefix names the only system of a
	// folder.
	dirs     []string
	files    []string // in the folder, or in the project
	fresh    string   // the file that is made where none exists, if it is not the first
	variable string   // names the file itself, if it is set
}

// A System has what decides where clients keep their files.
type System struct {
	OS   string // as runtime.GOOS
	Env  func(string) string
	Self string // the file of this program, which entries may start
}

// home returns the home folder, or "".
func (s System) home() string {
	if s.OS == "windows" {
		return s.Env("USERPROFILE")
	}
	return s.Env("HOME")
}

// join joins a folder and a path with slashes.
func (s System) join(dir, file string) string {
	if dir == "" {
		return ""
	}
	if s.OS == "windows" {
		return strings.TrimRight(dir, `\/`) + `\` + strings.ReplaceAll(file, "/", `\`)
	}
	return path.Join(dir, file)
}

// config returns the XDG folder of settings.
func (s System) config() string {
	if dir := s.Env("XDG_CONFIG_HOME"); path.IsAbs(dir) {
		return dir
	}
	return s.join(s.home(), ".config")
}

// apps returns the folder of the settings of applications.
func (s System) apps() string {
	switch s.OS {
	case "windows":
		if dir := s.Env("APPDATA"); dir != "" {
			return dir
		}
		return s.join(s.home(), "AppData/Roaming")
	case "darwin":
		return s.join(s.home(), "Library/Application Support")
	}
	return s.config()
}

// expand returns a folder of a location, or "" where it does not exist on the system.
func (s System) expand(dir string) string {
	if system, rest, only := strings.Cut(dir, ":"); only {
		if system != s.OS {
			return ""
		}
		dir = rest
	}
	root, rest, _ := strings.Cut(dir, "/")
	switch {
	case root == "~":
		root = s.home()
	case root == "{config}":
		root = s.config()
	case root == "{apps}":
		root = s.apps()
	case strings.HasPrefix(root, "$"):
		root = s.Env(root[1:])
	}
	if rest == "" {
		return root
	}
	return s.join(root, rest)
}

// dir returns the folder of a location, or "" without a home folder.
func (s System) dir(l location) string {
	for _, d := range l.dirs {
		if dir := s.expand(d); dir != "" {
			return dir
		}
	}
	return ""
}

// paths returns the files of a location in a folder, the preferred one first.
func (s System) paths(l location, dir string) (paths []string) {
	if l.variable != "" && s.Env(l.variable) != "" {
		return []string{s.Env(l.variable)}
	}
	if dir == "" {
		return nil
	}
	for _, f := range l.files {
		paths = append(paths, s.join(dir, f))
	}
	return paths
}

// freshPath returns the file that is made where none of the paths exists.
func (s System) freshPath(l location, dir string, paths []string) string {
	if l.fresh != "" && dir != "" {
		return s.join(dir, l.fresh)
	}
	return paths[0]
}
