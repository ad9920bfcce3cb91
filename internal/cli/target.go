package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/cli/version"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
)

// A target is a server, or the database on this device.
type target struct {
	url    string // of the server; empty means this device
	key    string
	tokens *profile.Tokens // of a login by browser, in place of key
	// reachesAccount means that the tokens reach everything that the person may do.
	reachesAccount bool
	// tokenSource replaces that of tokens, if not nil.
	tokenSource client.TokenSource
	account     string // names the account among those of the server; a key may do so
	plainHTTP   bool
	dir         string // of the database on this device
	reason      string
}

// resolveTarget chooses the target: the flags, else LOCI_URL with LOCI_API_KEY, else the login, else this device. A key
// is sent only to its own server, and LOCI_API_KEY without a server is an error.
func (p *program) resolveTarget() (target, error) {
	t, login, err := p.locateTarget()
	if err == nil && login != nil {
		err = t.useLogin(p.profile(), login)
	}
	return t, err
}

// locateTarget returns the target, and the login whose credential it lacks yet, or nil. It does not read the keyring.
func (p *program) locateTarget() (target, *profile.Login, error) {
	if name := p.Env(contractEnv); name != "" && !slices.Contains(service.VariantNames, name) {
		return target{reason: reasonUnknownContract}, nil, loci.Errorf(loci.CodeInvalidQuery,
			"%s must be one of %s, not %q", contractEnv, strings.Join(service.VariantNames, ", "), name)
	}
	localTarget := target{dir: p.localDir()}
	if p.local && p.server != "" {
		return target{}, nil, command.UsageError("--local and --server exclude each other")
	}
	if p.local {
		localTarget.reason = "--local"
		return localTarget, nil, localTarget.requireDir()
	}
	login, err := p.profile().Load()
	if err != nil {
		return target{}, nil, err
	}
	there := target{plainHTTP: p.plainHTTP}
	switch named := serverOf(p.Env("LOCI_URL")); {
	case p.server != "":
		there.url, there.reason = serverOf(p.server), "--server"
		if named == "" || isSameServer(named, there.url) {
			there.key = p.Env("LOCI_API_KEY")
		}
	case named != "":
		there.url, there.key, there.reason = named, p.Env("LOCI_API_KEY"), "LOCI_URL"
	case p.Env("LOCI_API_KEY") != "":
		return target{reason: reasonKeyWithoutURL}, nil, p.keyWithoutURL()
	case login != nil:
		there.url, there.reason = login.URL, "the login"
	default:
		localTarget.reason = "there is no --server, LOCI_URL or login"
		return localTarget, nil, localTarget.requireDir()
	}
	there.account = there.key
	if there.key != "" || login == nil || !isSameServer(login.URL, there.url) {
		return there, nil, nil
	}
	there.account = login.Account()
	return there, login, nil
}

// serverOf returns the address of the server of an address that may be the one of its MCP endpoint, as in the files of
// clients.
func serverOf(address string) string {
	if server, ok := strings.CutSuffix(strings.TrimRight(address, "/"), "/mcp"); ok {
		return server
	}
	return address
}

// keyWithoutURL returns the error of a key that has no server.
func (p *program) keyWithoutURL() error {
	text := "LOCI_API_KEY is set and LOCI_URL is not: set LOCI_URL to the address of the server that made the key, " +
		"name it with --server, or unset LOCI_API_KEY"
	if p.worksHere {
		text += "; --local works on this device"
	}
	return loci.Errorf(loci.CodeInvalidQuery, "%s", text)
}

// useLogin gives the target the credential of the login.
func (t *target) useLogin(s profile.Store, login *profile.Login) error {
	t.plainHTTP = t.plainHTTP || login.PlainHTTP
	if err := s.Unlock(login); err != nil {
		return err
	}
	if t.key = login.Key; login.ByBrowser() {
		t.tokens, t.reachesAccount = s.Tokens(login), login.Tokens != nil && login.Tokens.Account
	}
	return nil
}

// hasCredential reports whether the target has a key or tokens.
func (t target) hasCredential() bool { return t.key != "" || t.tokens != nil }

// checkAgent returns an error if the credential of the target cannot name an agent.
func (t target) checkAgent() error {
	switch {
	case t.url == "":
		return loci.Errorf(loci.CodeStateConflict, "A database on this device has no agents: name a server with "+
			"--server or LOCI_URL, or use loci login URL --key -")
	case t.tokens != nil && !t.reachesAccount:
		return loci.Errorf(loci.CodeForbidden, "An agent needs an API key or a login for everything, and the login "+
			"for %s is for some workspaces: run loci login %[1]s and allow everything, or create a key at %[1]s, and "+
			"run loci login %[1]s --key -, or set LOCI_URL and LOCI_API_KEY", t.url)
	}
	return nil
}

// profile returns the place of the login.
func (p *program) profile() profile.Store {
	s := profile.Store{Keyring: p.keyring}
	if dir := server.XDGDir(p.Env, "XDG_CONFIG_HOME", ".config"); dir != "" {
		s.Path = filepath.Join(dir, "loci", "login.json")
	}
	return s
}

// contractEnv names the variant of the contract. Commands lack what the variant lacks.
const contractEnv = "LOCI_CONTRACT"

// reasonUnknownContract is the reason of a target that no command may use.
const reasonUnknownContract = contractEnv + " is not known"

// reasonKeyWithoutURL is the reason of a target that has a key and no server.
const reasonKeyWithoutURL = "LOCI_API_KEY without LOCI_URL"

// requireDir returns an error where this device has no folder for memories: the working folder must not be used.
func (t target) requireDir() error {
	if t.dir == "" {
		return profile.ErrNoHome
	}
	return nil
}

// isSameServer reports whether two addresses name one server.
func isSameServer(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && httpapi.OriginOf(u) == httpapi.OriginOf(v) &&
		strings.TrimRight(u.Path, "/") == strings.TrimRight(v.Path, "/")
}

// openCaller returns the target's Caller and its close function; oneShot is for a single call.
func (p *program) openCaller(ctx context.Context, t target, oneShot bool) (op.Caller, func() error, error) {
	if t.url == "" {
		if err := ensurePrivateDir(t.dir); err != nil {
			return nil, nil, err
		}
		return p.openLocal(ctx, t.dir, oneShot)
	}
	c, err := t.newClient()
	if err != nil {
		return nil, nil, err
	}
	return remote{c}, func() error { return nil }, nil
}

// useTarget makes a target that of the command. On a terminal it is named on the standard error where the last command
// had another one.
func (p *program) useTarget(t target) {
	p.currentTarget = t
	name := t.name()
	if width, _ := p.Terminal(p.Err); width > 0 && p.profile().ChangeTarget(name) {
		p.PrintMessage("on " + format.StripControl(name, false))
	}
}

// name names the target for people.
func (t target) name() string { return cmp.Or(t.url, "this device") }

// openRecords opens the target of a command that reads and writes records.
func (p *program) openRecords(ctx context.Context) (r records.Reader, end func() error, err error) {
	t, err := p.resolveTarget()
	if err != nil {
		return r, nil, err
	}
	p.useTarget(t)
	caller, end, err := p.openCaller(ctx, t, true)
	return records.Reader{Caller: caller, Table: p.table}, end, err
}

// checkFiles returns an error if the credential of the target cannot be exchanged for a token for files.
func (t target) checkFiles() error {
	if t.tokens == nil || t.reachesAccount {
		return nil
	}
	return loci.Errorf(loci.CodeForbidden, "The login for %s reaches only the workspaces that you chose, and no "+
		"files: run loci login %[1]s and allow everything that you may do", t.url)
}

// newClient returns a client of the target's server.
func (t target) newClient(more ...client.Option) (*client.Client, error) {
	options := append([]client.Option{client.WithKey(t.key), client.WithUserAgent("loci/" + version.Get().Version)},
		more...)
	switch {
	case t.tokenSource != nil:
		options = append(options, client.WithTokenSource(t.tokenSource))
	case t.tokens != nil:
		options = append(options, client.WithTokenSource(t.tokens.Token))
	}
	if t.plainHTTP {
		options = append(options, client.WithPlainHTTP())
	}
	c, err := client.New(t.url, options...)
	if e := loci.AsError(err); err != nil && strings.Contains(e.Message, "use https") {
		return nil, loci.Errorf(e.Code, "%s, or allow it with --plain-http", e.Message)
	}
	return c, err
}

// ensurePrivateDir makes a folder that only its owner can enter.
func ensurePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the folder for the memories of this device cannot be made: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// localDir returns the folder of the database on this device, or "" without a home folder.
func (p *program) localDir() string {
	dir := server.XDGDir(p.Env, "XDG_DATA_HOME", ".local/share")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "local")
}

// A remote runs operations on a server.
type remote struct{ client *client.Client }

// Call checks the input as the server will, and sends it.
func (r remote) Call(ctx context.Context, o *op.Op, c *op.Call, a op.Args) ([]byte, error) {
	in, err := o.Canonical(a)
	if err != nil {
		return nil, err
	}
	var answer http.Header
	options := []client.CallOption{client.IdempotencyKey(c.IdempotencyKey), client.IfMatch(c.IfMatch),
		client.RequestID(c.RequestID), client.WithResponseHeader(&answer)}
	if c.ActorHeader == op.ActorAgent {
		options = append(options, client.AsAgent())
	}
	raw, err := r.client.Do(ctx, o.Method, o.Pattern, in, options...)
	c.ETag = answer.Get("ETag")
	c.Replayed = answer.Get("Idempotency-Replayed") == "true"
	return raw, err
}
