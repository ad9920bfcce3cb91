package transfer

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// A Session is the open database of this device, locked for one push or pull, and a server.
type Session struct {
	Local, Remote op.Caller
	Ledger        func(account loci.ID) replica.Ledger
	Server        string // its address
	Close         func() error
}

// A transfer is the command push or pull.
type transfer struct {
	*console.Console
	open          func(ctx context.Context) (*Session, error)
	name          string
	options       replica.Options
	mine, theirs  bool
	withoutAsking bool
}

// Commands returns the commands push and pull. The function opens both sides.
func Commands(c *console.Console, open func(ctx context.Context) (*Session, error)) []*cobra.Command {
	push := &transfer{Console: c, open: open, name: "push", options: replica.Options{To: pairdb.There}}
	pull := &transfer{Console: c, open: open, name: "pull", options: replica.Options{To: pairdb.Here}}
	return []*cobra.Command{
		push.command("Copy the memories of this device to a server",
			"Copies new and changed memories of this device to the server of the login, of LOCI_URL or of --server.\n"+
				"A repeated or interrupted push never makes a second memory.\n"+shared,
			"loci push --dry-run\nloci push --workspace Team --atlas Website\nloci push --mine"),
		pull.command("Copy memories of a server to this device",
			"Copies new and changed memories of the server of the login, of LOCI_URL or of --server to this device.\n"+
				"A repeated or interrupted pull never makes a second memory.\n"+shared,
			"loci pull --dry-run\nloci pull --workspace Team\nloci pull --theirs --delete"),
	}
}

// shared is the part of the help that both commands share.
const shared = "Atlases correspond by their names; a missing one is created. A memory that changed on both sides is\n" +
	"listed and left, unless --mine or --theirs decides. A memory that was deleted on one side is listed and\n" +
	"left on the other, unless --delete is given. The exit code is 1 if memories were refused or conflicts are left."

func (t *transfer) command(short, long, example string) *cobra.Command {
	cmd := &cobra.Command{Use: t.name, Short: short, Long: long, Example: example, Args: command.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context()) }}
	f := cmd.Flags()
	f.StringVar(&t.options.Workspace, "workspace", "", "Name or id of the workspace on the server (default: your "+
		"personal one)")
	f.StringVar(&t.options.Atlas, "atlas", "", "Copy only the memories of the atlas of this name")
	f.BoolVar(&t.mine, "mine", false, "Where both sides changed, keep the memory of this device")
	f.BoolVar(&t.theirs, "theirs", false, "Where both sides changed, keep the memory of the server")
	f.BoolVar(&t.options.Delete, "delete", false, "Delete what was deleted on the other side; "+
		"asks first, and cannot be undone")
	f.BoolVar(&t.options.DryRun, "dry-run", false, "Show what would be done, and change nothing")
	f.BoolVar(&t.withoutAsking, "yes", false, "Do not ask before deletions")
	return cmd
}

func (t *transfer) run(ctx context.Context) error {
	if err := t.setWinner(); err != nil {
		return err
	}
	if t.options.Delete && !t.options.DryRun && !t.withoutAsking {
		if err := t.RequireTerminal("loci " + t.name + " --delete"); err != nil {
			return err
		}
	}
	s, err := t.open(ctx)
	if err != nil {
		return err
	}
	report, err := t.transfer(ctx, s)
	closed := t.CloseSlowly(s.Close, "done; texts are still being embedded for semantic search")
	if err = cmp.Or(err, closed); err != nil {
		t.printWritten(report)
		return err
	}
	if err := t.print(report); err != nil {
		return err
	}
	if !report.OK {
		return command.ErrReported
	}
	return nil
}

// setWinner sets the winner of conflicts by the flags.
func (t *transfer) setWinner() error {
	switch {
	case t.mine && t.theirs:
		return command.UsageError("--mine and --theirs exclude each other")
	case t.mine:
		t.options.Winner = replica.Mine
	case t.theirs:
		t.options.Winner = replica.Theirs
	}
	return nil
}

// printWritten prints what a run wrote before its error.
func (t *transfer) printWritten(r replica.Report) {
	if n := len(r.Changes); n > 0 {
		t.PrintMessage(fmt.Sprintf("%s before this error: run loci %s again to continue",
			format.Plural(int64(n), "memory was written", "memories were written"), t.name))
	}
}

// transfer runs the transfer with a progress bar.
func (t *transfer) transfer(ctx context.Context, s *Session) (replica.Report, error) {
	o := t.options
	o.Local, o.Remote, o.Ledger = s.Local, s.Remote, s.Ledger
	progress := t.Progress("memories")
	o.Progress = progress.Update
	if !t.withoutAsking {
		o.Confirm = func(ctx context.Context, n int) error {
			return t.Console.Confirm(ctx, "Delete "+format.Plural(int64(n), "memory", "memories"))
		}
	}
	report, err := replica.Run(ctx, o)
	progress.Clear()
	report.Direction, report.Server = t.name, s.Server
	return report, err
}
