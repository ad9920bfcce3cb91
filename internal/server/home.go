package server

import (
	"os"
	"os/user"
	"path/filepath"
)

// Base returns a base folder of the XDG Base Directory Specification: what the
// variable says, else the usual one below the home folder. An address that is
// not absolute does not count, and of a user without $HOME the user database
// knows the home. The folder is empty where nobody knows one.
func Base(env func(string) string, variable, usual string) string {
	return base(env, variable, usual, user.Current)
}

func base(env func(string) string, variable, usual string, current func() (*user.User, error)) string {
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
	return filepath.Join(home, usual)
}

// defaultData is where a server keeps its data, empty where nobody knows a home.
func defaultData() string {
	dir := Base(os.Getenv, "XDG_DATA_HOME", filepath.Join(".local", "share"))
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "server")
}
