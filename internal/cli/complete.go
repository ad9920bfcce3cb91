package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/complete"
	"github.com/loci-memory/loci/internal/cli/format"
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
		if c.ValidArgsFunction = values.Values(resource); resource == "attachment" {
			c.ValidArgsFunction = p.completeAttachment
		}
	}
}

// completeAttachment completes the id of a file of the memory that the command names. No list has the files of all.
func (p *program) completeAttachment(cmd *cobra.Command, _ []string,
	typed string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	memory, _ := cmd.Flags().GetString("memory")
	if memory == "" {
		return cobra.AppendActiveHelp(nil, "Name the memory of the file first: --memory ID"), none
	}
	r, _, end, err := p.openCompletion(cmd.Context())
	if err != nil {
		return nil, none
	}
	defer end() //nolint:errcheck // nobody reads the errors of a completion
	m, _ := records.Do[loci.MemoryDetail](cmd.Context(), r, "memory.get", loci.GetMemory{MemoryID: loci.ID(memory)})
	for _, a := range m.Attachments {
		id := string(a.ID)
		if short := format.ShortID(id, format.MinShortID); strings.HasPrefix(short, typed) {
			id = short
		}
		if strings.HasPrefix(id, typed) {
			ids = append(ids, cobra.CompletionWithDesc(id, format.StripControl(a.FileName, false)))
		}
	}
	return ids, none
}
