package profile

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/atomicfile"
	"github.com/loci-memory/loci/internal/oauthclient"
)

// A Login is a stored login. It has a key, or the tokens of a sign-in by browser; Load leaves out those that the
// keyring has.
type Login struct {
	URL       string              `json:"url"`
	PlainHTTP bool                `json:"plainHttp,omitzero"`
	Key       string              `json:"key,omitzero"`
	Client    *oauthclient.Client `json:"client,omitzero"` // a login by browser has one
	Tokens    *oauthclient.Tokens `json:"tokens,omitzero"`
	UserID    loci.ID             `json:"userId,omitzero"` // of its account
}

// Account names the account of the login. A login of an older version has no user: its key or client names it.
func (l *Login) Account() string {
	switch {
	case l.UserID != "":
		return string(l.UserID)
	case l.Client != nil:
		return l.Client.ID
	}
	return l.Key
}

// ByBrowser reports whether the login has tokens in place of a key.
func (l *Login) ByBrowser() bool { return l.Client != nil }

// inKeyring reports whether the file lacks the credential.
func (l *Login) inKeyring() bool { return l.Key == "" && l.Tokens == nil }

// A Store is the place of the login. Its path is "" without a home folder: then there is no login.
type Store struct {
	Path    string
	Keyring *Keyring // nil where the system has none
}

// ErrNoHome reports that a login cannot be stored.
var ErrNoHome = loci.Errorf(loci.CodeInvalidQuery,
	"there is no home folder: set HOME, or XDG_DATA_HOME and XDG_CONFIG_HOME")

// Load returns the login without a credential that the keyring has, or nil.
func (s Store) Load() (*Login, error) {
	b, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l Login
	if err := json.Unmarshal(b, &l); err != nil || l.URL == "" {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "%s is damaged: remove it with loci logout", s.Path)
	}
	return &l, nil
}

// Unlock reads the credential of the login from the keyring, if the keyring has it.
func (s Store) Unlock(l *Login) error {
	if !l.inKeyring() {
		return nil
	}
	if s.Keyring != nil {
		if secret, err := s.Keyring.Get(keyringService, l.URL); err == nil && l.setSecret(secret) {
			return nil
		}
	}
	return loci.Errorf(loci.CodeMissingAPIKey,
		"The keyring does not return the login for %s: unlock it, or use loci login again.", l.URL)
}

// WouldAsk reports whether Unlock would ask the person to unlock the keyring.
func (s Store) WouldAsk(l *Login) bool {
	return l.inKeyring() && s.Keyring != nil && s.Keyring.Locked != nil && s.Keyring.Locked()
}

// Save stores a login and returns the place of its credential. It also returns the login that it replaces, with its
// credential if the keyring returns it, or nil.
func (s Store) Save(ctx context.Context, l Login) (where string, old *Login, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	old, _ = s.Load() // a damaged one is replaced all the same
	wasInKeyring := old != nil && old.inKeyring()
	if old != nil {
		_ = s.Unlock(old) // the new login works all the same
	}
	where, err = s.write(l)
	if err == nil && wasInKeyring && s.Keyring != nil && (old.URL != l.URL || where == s.Path) {
		_ = s.Keyring.Delete(keyringService, old.URL) // the new login works all the same
	}
	return where, old, err
}

// write stores the credential in the keyring, or without one in the file, and then the file.
func (s Store) write(l Login) (where string, err error) {
	where = s.Path
	if s.Keyring != nil && s.Keyring.Set(keyringService, l.URL, l.secret()) == nil {
		l.Key, l.Tokens, where = "", nil, "the keyring"
	}
	b, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	return where, atomicfile.Write(s.Path, append(b, '\n'), 0o600, nil)
}

// Delete removes the login and reports whether there was one. It calls before, if not nil, with the login that it
// removes; no process refreshes the tokens meanwhile.
func (s Store) Delete(ctx context.Context, before func(*Login)) (bool, error) {
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	l, _ := s.Load() // a damaged one is removed all the same
	if l != nil {
		wasInKeyring := l.inKeyring()
		_ = s.Unlock(l) // it is removed all the same
		if before != nil {
			before(l)
		}
		if wasInKeyring && s.Keyring != nil {
			if err := s.Keyring.Delete(keyringService, l.URL); err != nil && !errors.Is(err, ErrNotInKeyring) {
				return false, err
			}
		}
	}
	err = os.Remove(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
