package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/zalando/go-keyring"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server"
)

// A profile is the login, as it is kept. Key is empty where the keyring holds it.
type profile struct {
	URL       string `json:"url"`
	Key       string `json:"key,omitzero"`
	PlainHTTP bool   `json:"plainHttp,omitzero"`
}

// A ring keeps secrets for the person: the system's keyring.
type ring struct {
	set    func(service, user, secret string) error
	get    func(service, user string) (string, error)
	delete func(service, user string) error
}

const ringService = "loci"

// systemRing returns the keyring, or nil where there is none to ask: on Linux
// it hangs on the session bus, and without one the library would start one.
func systemRing(env func(string) string) *ring {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && env("DBUS_SESSION_BUS_ADDRESS") == "" {
		return nil
	}
	return &ring{keyring.Set, keyring.Get, keyring.Delete}
}

// profilePath is the file of the login, empty where nobody knows a home: then
// there is none.
func (p *program) profilePath() string {
	dir := server.Base(p.env, "XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "login.json")
}

// profile returns the login without its secret, or nil.
func (p *program) profile() (*profile, error) {
	b, err := os.ReadFile(p.profilePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l profile
	if err := json.Unmarshal(b, &l); err != nil || l.URL == "" {
		return nil, loci.Fail(loci.InvalidQuery, "%s is damaged: loci logout removes it", p.profilePath())
	}
	return &l, nil
}

// secret returns the key of the login.
func (p *program) secret(l *profile) (string, error) {
	if l.Key != "" {
		return l.Key, nil
	}
	if p.ring != nil {
		if key, err := p.ring.get(ringService, l.URL); err == nil {
			return key, nil
		}
	}
	return "", loci.Fail(loci.MissingAPIKey, "The keyring does not give the key of %s: unlock it, or use loci login again.", l.URL)
}

// keep stores the login and says where the key lies now.
func (p *program) keep(l profile) (where string, err error) {
	if where = p.profilePath(); where == "" {
		return "", loci.Fail(loci.InvalidQuery, "%s", homeless)
	}
	if p.ring != nil && p.ring.set(ringService, l.URL, l.Key) == nil {
		l.Key, where = "", "the keyring"
	}
	b, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	return where, replace(p.profilePath(), b)
}

// forget removes the login; false means that there was none.
func (p *program) forget() (bool, error) {
	l, _ := p.profile() // a damaged one is removed all the same
	if l != nil && l.Key == "" && p.ring != nil {
		if err := p.ring.delete(ringService, l.URL); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return false, err
		}
	}
	err := os.Remove(p.profilePath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// replace writes a file of mode 0600 in one step.
func replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".login-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone where all went well
	if _, err := f.Write(append(b, '\n')); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
