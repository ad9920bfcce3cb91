package profile

import (
	"encoding/json"
	"runtime"
	"strings"

	"github.com/zalando/go-keyring"

	"github.com/loci-memory/loci/internal/oauthclient"
)

// A Keyring stores secrets for the person: the system's keyring.
type Keyring struct {
	Set    func(service, user, secret string) error
	Get    func(service, user string) (string, error)
	Delete func(service, user string) error
	// Locked reports whether Get would ask the person to unlock the keyring; nil means never.
	Locked func() bool
}

const keyringService = "loci"

// ErrNotInKeyring reports that a keyring has no such secret.
var ErrNotInKeyring = keyring.ErrNotFound

// SystemKeyring returns the keyring, or nil without one. On Linux it needs a session bus, and the library would start
// one.
func SystemKeyring(env func(string) string) *Keyring {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && env("DBUS_SESSION_BUS_ADDRESS") == "" {
		return nil
	}
	return &Keyring{keyring.Set, keyring.Get, keyring.Delete, isLocked}
}

// secret returns the credential as the keyring stores it: a key itself, tokens as JSON. Tokens are one secret, so that
// they change in one step.
func (l *Login) secret() string {
	if l.Tokens == nil {
		return l.Key
	}
	b, _ := json.Marshal(l.Tokens) // it has only texts and a time
	return string(b)
}

// setSecret sets the credential that the keyring returned; false means that it belongs to another kind of login.
func (l *Login) setSecret(secret string) bool {
	isJSON := strings.HasPrefix(secret, "{")
	if !l.ByBrowser() {
		l.Key = secret
		return secret != "" && !isJSON
	}
	var t oauthclient.Tokens
	if !isJSON || json.Unmarshal([]byte(secret), &t) != nil || t.Access == "" || t.Refresh == "" {
		return false
	}
	l.Tokens = &t
	return true
}
