package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/cli/setup"
)

// setup connects the clients of other makers.
func (p *program) setup() *cobra.Command {
	return setup.Command(setup.Options{Console: &p.Console, DataDir: p.privateDir, Target: p.setupTarget,
		Automatic: p.automatic})
}

// setupTarget returns the target as a client will find it. Flags count alone, so that no key is looked up for them.
func (p *program) setupTarget() (t setup.Target, err error) {
	t.PlainHTTP, t.Local = p.plainHTTP, p.local
	switch {
	case p.local && p.server != "":
		return t, command.UsageError("--local and --server exclude each other")
	case p.server != "":
		t.Server, t.Named = p.server, true
		return t, nil
	case p.local:
		return t, nil
	}
	if t.Server = p.Env("LOCI_URL"); t.Server != "" {
		return t, nil
	}
	login, err := p.profile().Load()
	if login != nil {
		t.Server, t.PlainHTTP = login.URL, t.PlainHTTP || login.PlainHTTP
		t.ByBrowser = login.ByBrowser()
	}
	return t, err
}

// targetFlags returns the flags with which another command has the target of this one.
func (p *program) targetFlags() []string { return setup.CommandFlags(p.setupTarget) }

// privateDir makes the folder of Loci in the home of the person.
func (p *program) privateDir() (string, error) {
	local := p.localDir()
	if local == "" {
		return "", profile.ErrNoHome
	}
	dir := filepath.Dir(local)
	return dir, ensurePrivateDir(dir)
}
