package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/complete"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/server"
)

// completion completes the values of commands in a shell.
func (p *program) completion() complete.Options {
	dir := p.Env("XDG_RUNTIME_DIR")
	if local := p.localDir(); dir == "" && local != "" {
		dir = filepath.Dir(local)
	}
	if dir != "" {
		dir = filepath.Join(dir, "loci-completion")
	}
	return complete.Options{Open: p.openCompletion, CacheDir: dir}
}

// errNoDatabase ends a completion on a device that has no memories yet.
var errNoDatabase = errors.New("this device has no memories")

// openCompletion opens the target silently.
func (p *program) openCompletion(ctx context.Context) (r records.Reader, name string, end func() error, err error) {
	t, err := p.resolveTarget()
	if err != nil {
		return r, "", nil, err
	}
	if t.url == "" && !server.HasLocal(t.dir) {
		return r, "", nil, errNoDatabase
	}
	caller, end, err := p.openCaller(ctx, t, true)
	name = strings.Join([]string{t.url, t.account, t.dir}, "\n")
	return records.Reader{Caller: caller, Table: p.table}, name, end, err
}

// flagResources are the resources of the flags of handwritten commands.
var flagResources = map[string]string{"workspace-id": "workspace", "workspace": "workspace", "atlas": "atlas",
	"memory": "memory"}

// completeHandwritten completes the ids and names of the commands below one that have no completion of their own.
func (p *program) completeHandwritten(c *cobra.Command) {
	for _, sub := range c.Commands() {
		p.completeHandwritten(sub)
	}
	values := p.completion()
	for name, resource := range flagResources {
		if c.LocalFlags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, values.Values(resource)) // fails where the flag has one already
		}
	}
	_, word, _ := strings.Cut(c.Use, "<")
	if resource, _, found := strings.Cut(word, "-id>"); found && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = values.Values(resource)
	}
}
