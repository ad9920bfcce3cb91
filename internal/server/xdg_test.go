package server

import (
	"errors"
	"os/user"
	"strings"
	"testing"
)

func TestXDGDirFallsBackToUserDatabase(t *testing.T) {
	t.Parallel()
	listed := func() (*user.User, error) { return &user.User{HomeDir: "/home/ann"}, nil }
	homeless := func() (*user.User, error) { return &user.User{}, nil }
	unknown := func() (*user.User, error) { return nil, errors.New("nobody") }
	for _, c := range []struct {
		variable, home string
		current        func() (*user.User, error)
		want           string
	}{
		{"/data", "/root", listed, "/data"},
		{"data", "/root", listed, "/root/share"},
		{"", "", listed, "/home/ann/share"},
		{"", "here", listed, "/home/ann/share"},
		{"", "", homeless, ""},
		{"here", "", unknown, ""},
		{"/data", "", unknown, "/data"},
	} {
		env := func(name string) string { return map[string]string{"XDG": c.variable, "HOME": c.home}[name] }
		if got := xdgDir(env, "XDG", "share", c.current); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestLoadRejectsMissingDataDir(t *testing.T) {
	t.Parallel()
	var s Settings
	if err := s.validate(); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Error(err)
	}
	s.DB = "postgres://ann@localhost/loci"
	if err := s.validate(); err != nil {
		t.Error(err)
	}
}
