package hook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/op"
)

// A Target is the server, or the database on this device, that events are delivered to.
type Target struct {
	Folder  string // name of its spool
	AsAgent bool   // calls name an agent
	// Flags returns the flags with which a command of the person has this target. It may read the login.
	Flags func() []string
	// Open returns the caller of its operations. It is called within the time of a delivery.
	Open func(context.Context) (op.Caller, error)
	// ByName returns a caller that takes names of workspaces for their ids.
	ByName func(op.Caller) op.Caller
	// Wait returns once no sign-in is being renewed: the end of the process would lose it. It may be nil.
	Wait func()
}

// Options are what the command needs from the program.
type Options struct {
	Console *console.Console
	// StateDir is the folder for the spool and the log, or "" without a home folder.
	StateDir string
	// Target returns the target, or nil if nothing is to be done there.
	Target func() (*Target, error)
	// CallTime bounds the calls of a run. Tests that need an answer have more than the constant.
	CallTime time.Duration
}

// Command returns loci hook.
func Command(o Options) *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use:   "hook <" + strings.Join(capture.Agents(), "|") + "> [payload]",
		Short: "Take an event of a coding agent's session, for automatic memory",
		Long: "Agents call this; loci setup <client> --hooks connects them. It reads the JSON object of a hook from\n" +
			"the standard input, or from the argument that Codex passes to its notify program. It keeps the\n" +
			"prompt and the last answer of a turn, removes credentials, and delivers them if automatic memory is\n" +
			"on (loci auto get). What cannot be delivered at once waits on this device, at most 16 MiB, and only\n" +
			"once that policy was read; loci doctor reports how much. At the start of a session of Claude Code,\n" +
			"Codex or WorkBuddy it prints what is known, and how many candidates wait for a review. The exit code\n" +
			"is always 0, so that the agent does not stop: a mistake in the arguments is reported on the standard\n" +
			"error.",
		Example: "loci hook claude < payload.json\n" +
			`loci hook codex '{"type": "agent-turn-complete", ...}'` + "\n" +
			"loci hook pi --workspace-id Crew < payload.json\n" +
			"loci doctor",
		Args:      cobra.ArbitraryArgs,
		ValidArgs: capture.Agents(),
		Run: func(cmd *cobra.Command, args []string) {
			asks := o.Console.IsInteractive() && len(args) < 2
			if asks || len(args) == 0 || !slices.Contains(capture.Agents(), args[0]) {
				o.Console.PrintMessage(argsProblem(args))
			}
			if asks {
				return
			}
			r := newRun(o, args)
			r.workspace = loci.ID(workspace)
			r.start(cmd.Context())
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		o.Console.PrintMessage(command.FlagError(cmd, err).Error())
		newRun(o, nil).log.add("", "", errFlags)
		return nil // an exit code of 2 would stop an agent
	})
	cmd.Flags().StringVar(&workspace, "workspace-id", "", "The workspace of policy and sessions (default: your "+
		"personal one)")
	return cmd
}

// argsProblem returns the message for wrong arguments, or for a person at a terminal.
func argsProblem(args []string) string {
	if len(args) == 0 || !slices.Contains(capture.Agents(), args[0]) {
		return "loci hook needs the name of an agent: " + strings.Join(capture.Agents(), ", ")
	}
	return fmt.Sprintf("loci hook reads an event of the agent from the standard input: connect the "+
		"agent with loci setup %s --hooks", args[0])
}
