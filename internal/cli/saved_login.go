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

// A savedLogin is a stored login. Key is empty where the keyring has it.
type savedLogin struct {
	URL       string `json:"url"`
	Key       string `json:"key,omitzero"`
	PlainHTTP bool   `json:"plainHttp,omitzero"`
}

// A secretStore stores secrets for the person: the system's keyring.
type secretStore struct {
	set    func(service, user, secret string) error
	get    func(service, user string) (string, error)
	delete func(service, user string) error
}

const keyringService = "loci"

// systemKeyring returns the keyring, or nil without one. On Linux it needs a session bus, and the library would start
// one.
func systemKeyring(env func(string) string) *secretStore {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && env("DBUS_SESSION_BUS_ADDRESS") == "" {
		return nil
	}
	return &secretStore{keyring.Set, keyring.Get, keyring.Delete}
}

// loginPath returns the file of the login, or "" without a home folder: then there is no login.
func (p *program) loginPath() string {
	dir := server.XDGDir(p.Env, "XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "login.json")
}

// loadLogin returns the login without its secret, or nil.
func (p *program) loadLogin() (*savedLogin, error) {
	b, err := os.ReadFile(p.loginPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l savedLogin
	if err := json.Unmarshal(b, &l); err != nil || l.URL == "" {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "%s is damaged: remove it with loci logout", p.loginPath())
	}
	return &l, nil
}

// loadKey returns the key of the login.
func (p *program) loadKey(l *savedLogin) (string, error) {
	if l.Key != "" {
		return l.Key, nil
	}
	if p.keyring != nil {
		if key, err := p.keyring.get(keyringService, l.URL); err == nil {
			return key, nil
		}
	}
	return "", loci.Errorf(loci.CodeMissingAPIKey,
		"The keyring does not return the key of %s: unlock it, or use loci login again.", l.URL)
}

// saveLogin stores the login and returns the place of the key. It deletes the key of the login that it replaces.
func (p *program) saveLogin(l savedLogin) (where string, err error) {
	if where = p.loginPath(); where == "" {
		return "", loci.Errorf(loci.CodeInvalidQuery, "%s", noHomeMessage)
	}
	old, _ := p.loadLogin() // a damaged one is replaced all the same
	if p.keyring != nil && p.keyring.set(keyringService, l.URL, l.Key) == nil {
		l.Key, where = "", "the keyring"
	}
	b, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	if err := writeFileAtomic(p.loginPath(), b); err != nil {
		return "", err
	}
	if old != nil && old.Key == "" && p.keyring != nil && (old.URL != l.URL || l.Key != "") {
		_ = p.keyring.delete(keyringService, old.URL) // the new login works all the same
	}
	return where, nil
}

// deleteLogin removes the login; false means that there was none.
func (p *program) deleteLogin() (bool, error) {
	l, _ := p.loadLogin() // a damaged one is removed all the same
	if l != nil && l.Key == "" && p.keyring != nil {
		if err := p.keyring.delete(keyringService, l.URL); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return false, err
		}
	}
	err := os.Remove(p.loginPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// writeFileAtomic writes a file of mode 0600 in one step.
func writeFileAtomic(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".login-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // renamed unless writing failed
	if _, err := f.Write(append(b, '\n')); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
