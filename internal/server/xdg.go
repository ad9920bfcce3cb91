package server

import (
	"os"
	"os/user"
	"path/filepath"
)

// XDGDir returns a base folder of the XDG Base Directory Specification: what the
// variable says, else the usual one below the home folder. An address that is
// not absolute does not count, and of a user without $HOME the user database
// knows the home. The folder is empty where nobody knows one.
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

// defaultDataDir is where a server keeps its data, empty where nobody knows a home.
func defaultDataDir() string {
	dir := XDGDir(os.Getenv, "XDG_DATA_HOME", filepath.Join(".local", "share"))
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "server")
}
