package server

import (
	"os"
	"os/user"
	"path/filepath"
)

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
