package cli

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture/acp"
	"github.com/loci-memory/loci/internal/capture/relay"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/hook"
)

// The exit codes of a program that cannot be started, as in a shell.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

func (p *program) acp() *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use:   "acp [flags] -- <command> [argument]...",
		Short: "Run an agent for an editor, and remember its sessions (Agent Client Protocol)",
		Long: "Runs an agent for an editor, and copies their messages unchanged. The user's prompts and the agent's\n" +
			"final answers become events of automatic memory, if its policy is on (loci auto set). Nothing\n" +
			"else is kept: no reasoning, no tools, no files. Write `loci acp --` before the command of the\n" +
			"agent in the settings of the editor. The exit code is that of the agent.",
		Example: "loci acp -- opencode acp\nloci acp -- npx -y @agentclientprotocol/claude-agent-acp",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Missing(c, "the command of the agent")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.relayAgent(cmd.Context(), loci.ID(workspace), args)
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace-id", "",
		"The workspace of policy and sessions (default: your personal one)")
	cmd.Flags().SetInterspersed(false) // flags of the agent need no --
	return cmd
}

// relayAgent runs the agent until it ends. Its exit code is the error. A failure of automatic memory changes nothing in
// the conversation: it is a line in the log of hooks.
func (p *program) relayAgent(ctx context.Context, workspace loci.ID, args []string) error {
	c := hook.NewCollector(ctx, "acp", workspace, p.hookOptions())
	tap := relay.NewTap(&observer{acp.NewReader(c.Add), c})
	r := relay.Relay{Args: args, Environ: p.Environ, In: p.In, Out: p.Out, Err: p.Err, Tap: tap}
	code, err := r.Run()
	tap.Close()
	c.End(tap.Done())
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		p.PrintMessage("The agent " + format.StripControl(args[0], false) +
			" was not found: install it, or give its path")
		return command.ExitCode(exitNotFound)
	case err != nil:
		p.PrintMessage("The agent cannot be started: " + format.StripControl(err.Error(), false))
		return command.ExitCode(exitCannotRun)
	case code != exitOK:
		return command.ExitCode(code)
	}
	return nil
}

// An observer reads the conversation, and notes its gaps in the log of hooks.
type observer struct {
	*acp.Reader
	collector *hook.Collector
}

// Lost notes a gap.
func (o *observer) Lost() {
	o.Reader.Lost()
	o.collector.Missed()
}
