package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
)

// A target is where commands run: a server, or the database on this device.
type target struct {
	url   string // of the server; empty is this device
	key   string
	plain bool
	dir   string // of the database on this device
	why   string
}

// target chooses: the flags, else LOCI_URL with LOCI_API_KEY, else the login,
// else this device. A key goes only to the server that it was given for, and
// LOCI_API_KEY without a server is refused.
func (p *program) target() (target, error) {
	here := target{dir: p.localDir()}
	if p.local && p.server != "" {
		return target{}, misuse("--local and --server exclude each other")
	}
	if p.local {
		here.why = "--local"
		return here, here.homed()
	}
	login, err := p.profile()
	if err != nil {
		return target{}, err
	}
	there := target{plain: p.plain}
	switch named := p.env("LOCI_URL"); {
	case p.server != "":
		there.url, there.why = p.server, "--server"
		if named == "" || same(named, p.server) {
			there.key = p.env("LOCI_API_KEY")
		}
	case named != "":
		there.url, there.key, there.why = named, p.env("LOCI_API_KEY"), "LOCI_URL"
	case p.env("LOCI_API_KEY") != "":
		return target{why: keyAlone}, loci.Fail(loci.InvalidQuery,
			"LOCI_API_KEY is set and LOCI_URL is not: set LOCI_URL to the address of the "+
				"server that made the key, name it with --server, or unset LOCI_API_KEY; --local works on this device")
	case login != nil:
		there.url, there.why = login.URL, "the login"
	default:
		here.why = "there is no --server, LOCI_URL or login"
		return here, here.homed()
	}
	if there.key == "" && login != nil && same(login.URL, there.url) {
		there.plain = there.plain || login.PlainHTTP
		there.key, err = p.secret(login)
	}
	return there, err
}

// keyAlone is the reason of a target that has a key and no server.
const keyAlone = "LOCI_API_KEY without LOCI_URL"

// homed refuses this device where it has no place for memories: the working
// folder is none.
func (t target) homed() error {
	if t.dir == "" {
		return loci.Fail(loci.InvalidQuery, "%s", homeless)
	}
	return nil
}

const homeless = "there is no home folder: set HOME, or XDG_DATA_HOME and XDG_CONFIG_HOME"

// same reports whether two addresses name one server.
func same(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && strings.EqualFold(u.Scheme, v.Scheme) && strings.EqualFold(u.Host, v.Host) &&
		strings.TrimRight(u.Path, "/") == strings.TrimRight(v.Path, "/")
}

// open returns the target's Caller and what ends it; brief is for one call.
func (p *program) open(ctx context.Context, t target, brief bool) (op.Caller, func() error, error) {
	if t.url == "" {
		if err := private(t.dir); err != nil {
			return nil, nil, err
		}
		return p.openLocal(ctx, t.dir, brief)
	}
	c, err := t.client()
	if err != nil {
		return nil, nil, err
	}
	return remote{c}, func() error { return nil }, nil
}

// client returns a client of the target's server.
func (t target) client(more ...client.Option) (*client.Client, error) {
	options := append([]client.Option{client.WithKey(t.key), client.WithUserAgent("loci/" + version().Version)}, more...)
	if t.plain {
		options = append(options, client.WithPlainHTTP())
	}
	c, err := client.New(t.url, options...)
	if e := loci.AsError(err); err != nil && strings.Contains(e.Message, "use https") {
		return nil, loci.Fail(e.Code, "%s, or allow it with --plain-http", e.Message)
	}
	return c, err
}

// private makes a folder that nobody else can enter.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("no folder for the memories of this device: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// localDir is the folder of the database on this device, empty where nobody
// knows a home.
func (p *program) localDir() string {
	dir := server.Base(p.env, "XDG_DATA_HOME", ".local/share")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "loci", "local")
}

// maxStdin is more than any input takes.
const maxStdin = 1 << 20

// stdin reads the standard input, which can be done once.
func (p *program) stdin() (string, error) {
	if p.read {
		return "", misuse("only one value can be -")
	}
	p.read = true
	b, err := io.ReadAll(io.LimitReader(p.in, maxStdin+1))
	if len(b) > maxStdin {
		return "", loci.Fail(loci.PayloadTooLarge, "the standard input holds more than 1 MiB")
	}
	return string(b), err
}
