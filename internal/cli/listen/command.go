package listen

import (
	"context"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
)

// Options are what the command needs from the program.
type Options struct {
	Console *console.Console
	// Open returns a client of the server with the key of the agent, and the id for a workspace or a part of its
	// id, or "".
	Open func(ctx context.Context, workspace string) (*client.Client, loci.ID, error)
}

const help = "" +
	"Follows the messages to the agent of your API key, and prints each as one line of JSON: first those\n" +
	"that are unread, then new ones as they arrive. After a lost connection it connects again by itself,\n" +
	"and continues after the last message. Notes for people go to the standard error. Ctrl-C ends it.\n" +
	"It acknowledges nothing, so the next run prints unread messages again.\n\n" +
	"With --exec it prints nothing, and runs a command for each message, one at a time and in order, with\n" +
	"the message as JSON on its standard input. If the command succeeds the message is acknowledged. If it\n" +
	"fails the message stays unread, and the next run of loci agent listen has it again. The command is\n" +
	"split into words by the quotes of a shell, but no shell runs it: nothing is expanded, and nothing of\n" +
	"a message can become part of a command line. Arguments after -- are added unchanged.\n" +
	"Ctrl-C lets a running command end first; a second one ends it."

// Command returns loci agent listen.
func Command(o Options) *cobra.Command {
	var workspace, line string
	cmd := &cobra.Command{
		Use:   "listen [flags] [-- argument...]",
		Short: "Follow the messages that you receive, and run a command for each",
		Long:  help,
		Example: "loci agent listen\n" +
			"loci agent listen --exec ./handle-message\n" +
			`loci agent listen --exec "python3 handle.py --quiet"` + "\n" +
			"loci agent listen --exec ./handle-message -- --mode 'a b'",
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := programOf(cmd, line, args)
			if err != nil {
				return err
			}
			c, id, err := o.Open(cmd.Context(), workspace)
			if err != nil {
				return err
			}
			l := &listener{console: o.Console, client: c, workspace: id, program: words}
			return l.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace-id", "", "Only messages of this workspace (default: all)")
	cmd.Flags().StringVar(&line, "exec", "", "Run this `command` for each message")
	return cmd
}

// programOf returns the words of the command and its arguments, or nothing without --exec.
func programOf(cmd *cobra.Command, line string, args []string) ([]string, error) {
	if !cmd.Flags().Changed("exec") {
		if len(args) > 0 {
			return nil, command.UsageError("arguments are for the command of --exec: for example loci agent listen " +
				"--exec ./handle-message -- " + args[0])
		}
		return nil, nil
	}
	words, err := splitWords(line)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, command.UsageError("--exec: " + words[0] + " is no program that can be run: install it, or give " +
			"its path")
	}
	return append(words, args...), nil
}
