package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oauthclient"
	"github.com/loci-memory/loci/internal/testenv"
)

const address = "https://loci.example.org"

// newStore returns an empty store.
func newStore(t *testing.T) Store {
	return Store{Path: filepath.Join(t.TempDir(), "config", "login.json")}
}

// byBrowser returns a login with tokens that end after some time.
func byBrowser(url string, life time.Duration) Login {
	return Login{URL: url, Client: &oauthclient.Client{ID: "c", Issuer: url, Token: url + "/oauth/token"},
		Tokens: &oauthclient.Tokens{Access: "access", Refresh: "refresh",
			ExpiresAt: time.Now().Add(life).UTC().Round(0)}}
}

// memoryKeyring returns a keyring in memory, which refuses everything while locked.
func memoryKeyring(held map[string]string, locked *bool) *Keyring {
	refused := errors.New("the keyring is locked")
	return &Keyring{
		Set: func(_, user, secret string) error {
			if *locked {
				return refused
			}
			held[user] = secret
			return nil
		},
		Get: func(_, user string) (string, error) {
			if s, ok := held[user]; ok && !*locked {
				return s, nil
			}
			return "", refused
		},
		Delete: func(_, user string) error { delete(held, user); return nil },
	}
}

func TestSaveStoresLoginInKeyringOrFile(t *testing.T) {
	t.Parallel()
	logins := map[string]Login{"key": {URL: address, Key: "k"}, "tokens": byBrowser(address, time.Hour)}
	for name, login := range logins {
		for _, locked := range []bool{true, false} {
			s, held := newStore(t), map[string]string{}
			s.Keyring = memoryKeyring(held, &locked)
			where, old, err := s.Save(t.Context(), login)
			if err != nil || old != nil || (where == "the keyring") == locked || (len(held) == 0) != locked {
				t.Fatalf("%s: %q %v %v", name, where, old, err)
			}
			info, err := os.Stat(s.Path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", name, info, err)
			}
			l, err := s.Load()
			if err != nil || l.inKeyring() == locked {
				t.Errorf("%s: %+v %v", name, l, err)
			}
			if err := s.Unlock(l); err != nil || l.Key != login.Key || l.ByBrowser() && *l.Tokens != *login.Tokens {
				t.Errorf("%s: %+v %v", name, l, err)
			}
			if was, err := s.Delete(t.Context(), nil); !was || err != nil || len(held) != 0 {
				t.Errorf("%s: %v %v %v", name, was, err, held)
			}
			if l, err := s.Load(); l != nil || err != nil {
				t.Errorf("%s: %v %v", name, l, err)
			}
		}
	}
}

func TestSaveReturnsReplacedLogin(t *testing.T) {
	t.Parallel()
	s, held, locked := newStore(t), map[string]string{}, false
	s.Keyring = memoryKeyring(held, &locked)
	first := byBrowser(address, time.Hour)
	for _, l := range []Login{first, {URL: "https://other.example.org", Key: "k"}} {
		_, old, err := s.Save(t.Context(), l)
		if err != nil || (l.Key == "") != (old == nil) || old != nil && *old.Tokens != *first.Tokens {
			t.Errorf("%+v %v", old, err)
		}
	}
	if len(held) != 1 || held["https://other.example.org"] != "k" {
		t.Errorf("the keyring holds %v", held)
	}
	locked = true
	if where, _, err := s.Save(t.Context(), first); where != s.Path || err != nil || len(held) != 0 {
		t.Errorf("a locked keyring: %q %v %v", where, err, held)
	}
}

func TestUnlockRejectsSecretOfAnotherKind(t *testing.T) {
	t.Parallel()
	s, held, locked := newStore(t), map[string]string{}, false
	s.Keyring = memoryKeyring(held, &locked)
	tokens := byBrowser(address, time.Hour)
	for secret, login := range map[string]Login{tokens.secret(): {URL: address}, "": {URL: address},
		"k": {URL: address, Client: tokens.Client}, "{}": {URL: address, Client: tokens.Client},
		"{": {URL: address, Client: tokens.Client}} {
		held[address] = secret
		if err := s.Unlock(&login); !loci.Is(err, loci.CodeMissingAPIKey) || !strings.Contains(err.Error(), address) {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

func TestStoreReportsDamageAndMissingHome(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	testenv.NoError(t, errors.Join(os.Mkdir(filepath.Dir(s.Path), 0o700), os.WriteFile(s.Path, []byte("{"), 0o600)))
	if _, err := s.Load(); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Error(err)
	}
	if was, err := s.Delete(t.Context(), func(*Login) { t.Error("a damaged login has no grant") }); !was || err != nil {
		t.Errorf("%v %v", was, err)
	}
	if _, err := os.Stat(s.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := (Store{}).Save(t.Context(), Login{URL: address, Key: "k"}); !errors.Is(err, ErrNoHome) {
		t.Error(err)
	}
	if was, err := (Store{}).Delete(t.Context(), nil); was || err != nil {
		t.Errorf("%v %v", was, err)
	}
}
