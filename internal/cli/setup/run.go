package setup

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/setup"
)

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// entryPattern is what all clients accept as the name of an entry.
var entryPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkEntry(name string) error {
	if !entryPattern.MatchString(name) {
		return command.UsageError("--name takes 1 to 64 letters, digits, - and _")
	}
	return nil
}

// A result is the object that --json prints.
type result struct {
	OK         bool              `json:"ok"`
	Client     string            `json:"client"`
	Name       string            `json:"name,omitzero"` // of the entry; hooks have none
	Hooks      bool              `json:"hooks,omitzero"`
	File       string            `json:"file"`
	Target     string            `json:"target,omitzero"` // where links of the file lead
	Action     setup.Action      `json:"action"`
	DryRun     bool              `json:"dryRun,omitzero"`
	Diff       string            `json:"diff,omitzero"`
	Connection *setup.Connection `json:"connection,omitzero"`
	Automatic  *switchResult     `json:"automatic,omitzero"` // automatic memory of the workspace, after the hooks were wired
	Next       string            `json:"next,omitzero"`      // what the person does now
}

// change writes or removes the entry of a client.
func (o Options) change(ctx context.Context, c *setup.Client, f flags) error {
	change, err := o.newChange(c, f)
	if err != nil {
		return err
	}
	a, err := o.readAutomatic(ctx, f)
	if err != nil {
		return err
	}
	defer a.close()
	done, err := change.Run(ctx)
	if err != nil {
		return err
	}
	r := result{OK: true, Client: c.Name, Name: f.entry, Hooks: f.hooks, File: done.File, Target: done.Target,
		Action: done.Action, DryRun: f.dryRun, Diff: done.Diff, Connection: change.To, Next: next(c, f, change.To)}
	if f.hooks && !c.StartsAgent() {
		r.Name = ""
	}
	if r.Automatic, err = o.switchOn(ctx, c, a, f); err != nil {
		return err
	}
	return o.Console.PrintResult(r, o.text(c, r))
}

func (o Options) newChange(c *setup.Client, f flags) (change setup.Change, err error) {
	change = setup.Change{Client: c, System: o.system(), Entry: f.entry, Hooks: f.hooks, Force: f.force,
		DryRun: f.dryRun}
	if err := checkEntry(f.entry); err != nil {
		return change, err
	}
	if f.project {
		if !c.HasProject() {
			return change, command.UsageError(c.Title + " has no file in a project: leave out --project")
		}
		if change.Project, err = os.Getwd(); err != nil {
			return change, err
		}
	}
	if f.remove {
		if f.stdio || f.keyVariable != "" || f.asAgent {
			return change, command.UsageError("--remove takes neither --stdio, --key-env nor --agent: it removes " +
				"the entry of that --name")
		}
	} else {
		to, err := o.started(c, f)
		if err != nil {
			return change, err
		}
		change.To = &to
	}
	if f.dryRun {
		return change, nil
	}
	dir, err := o.DataDir()
	change.Lock = filepath.Join(dir, "setup.lock")
	return change, err
}

// started returns what the entry or the hooks of a client shall name.
func (o Options) started(c *setup.Client, f flags) (setup.Connection, error) {
	if f.hooks {
		return o.hook(c, f)
	}
	return o.connection(c, f)
}

// next tells the person what remains to do.
func next(c *setup.Client, f flags, to *setup.Connection) string {
	switch {
	case f.remove || f.dryRun:
		return ""
	case f.hooks:
		return c.HooksHint()
	case to.URL == "":
		return ""
	case to.KeyVariable != "":
		return "set " + to.KeyVariable + " in the environment in which " + c.Title + " starts"
	}
	return "sign in: " + c.SignInHint(f.entry)
}

// text tells a person what was done.
func (o Options) text(c *setup.Client, r result) string {
	if r.Diff != "" {
		return format.StripControl(r.Diff, true)
	}
	text := o.describe(c, r)
	if r.Automatic != nil {
		text += "\n" + r.Automatic.text()
	}
	if r.Next != "" {
		text += "\nNext: " + r.Next + "."
	}
	return format.StripControl(text, true) + "\n"
}

// describe tells what was done to the file.
func (o Options) describe(c *setup.Client, r result) string {
	if r.Hooks {
		return o.describeHooks(c, r)
	}
	text := map[setup.Action]string{
		setup.Added:     "%s is connected, by the entry %q in %s.",
		setup.Updated:   "%s is connected anew, by the entry %q in %s.",
		setup.Unchanged: "%s was connected already, by the entry %q in %s. Nothing was changed.",
		setup.Removed:   "%s is no longer connected: the entry %q was removed from %s.",
		setup.Absent:    "%s was not connected: there is no entry %q in %s. Nothing was changed.",
	}[r.Action]
	text = fmt.Sprintf(text, c.Title, r.Name, o.file(r))
	if r.Connection != nil {
		text += "\nIt uses " + r.Connection.String() + whoseMemories(*r.Connection) + "."
	}
	return text
}

// file names the file of a result, and where its links lead.
func (o Options) file(r result) string {
	if r.Target == "" {
		return o.short(r.File)
	}
	return o.short(r.File) + " (which links lead to " + o.short(r.Target) + ")"
}

// whoseMemories names the memories that loci mcp serves, unless its flags do.
func whoseMemories(c setup.Connection) string {
	if len(c.Args) != 1 {
		return ""
	}
	return ": the memories of the server of loci login, or without a login those of this device"
}
