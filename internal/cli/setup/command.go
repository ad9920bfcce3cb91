package setup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/setup"
)

// A Target is what the commands of the person use.
type Target struct {
	Server    string // empty: this device
	Local     bool   // --local says so
	Named     bool   // --server says so
	ByBrowser bool   // the login has no API key
	PlainHTTP bool   // http to another machine is allowed
}

// Options are what the command needs from the program.
type Options struct {
	Console *console.Console
	DataDir func() (string, error) // the folder of Loci for this person; it is made
	Target  func() (Target, error) // of the commands, with the flags
	// Workspace returns the id of the workspace that a text names.
	Workspace func(ctx context.Context, text string) (loci.ID, error)
	// Automatic returns the automatic memory of the workspace to which hooks deliver, "" for the personal one, or nil
	// where the target has none.
	Automatic func(ctx context.Context, workspace loci.ID) (*Automatic, error)
}

// flags are the flags of the command.
type flags struct {
	remove, dryRun, project, stdio, force, hooks, yes bool
	entry, keyVariable, workspace                     string

	asAgent bool     // the client acts as the agent of a key
	agent   []string // the command of an editor's agent
	named   bool     // --name was given
	scoped  bool     // --workspace-id was given
}

// help begins the help of the command. The names of the clients follow.
const help = "" +
	"Writes the entry of Loci into the file in which a client lists its MCP servers; --remove takes it back.\n" +
	"All else in the file stays as it is. Without a client it lists which are installed and connected.\n" +
	"A client starts loci mcp for the memories of this device, or calls a server: that of --server, or of the\n" +
	"login. It signs in to the server in the browser. With --key-env it sends the key in that variable instead.\n" +
	"With --agent it acts as the agent of the key, so that it can exchange messages with other agents.\n" +
	"--hooks wires automatic memory: the client reports prompts and answers to loci hook, an editor starts its\n" +
	"agent behind loci acp. Nothing is kept until automatic memory is on: the command asks on a terminal.\n" +
	"Clients: "

// Command is loci setup.
func Command(o Options) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "setup [client] [-- agent]",
		Short: "Connect an agent or editor of this machine with Loci",
		Long: help + strings.Join(setup.Names(), ", ") + ".\nWith --hooks: " +
			strings.Join(setup.HookNames(), ", ") + ".",
		Example: "loci setup\n" +
			"loci setup claude\n" +
			"loci setup codex --server https://loci.example.org\n" +
			"loci setup cursor --server https://loci.example.org --key-env LOCI_API_KEY\n" +
			"loci setup claude --server https://loci.example.org --key-env LOCI_API_KEY --agent\n" +
			"loci setup vscode --project --dry-run\n" +
			"loci setup claude --remove\n" +
			"loci setup claude --hooks\n" +
			"loci setup codex --hooks --workspace-id Crew\n" +
			"loci setup zed --hooks -- claude-agent-acp\n" +
			"loci setup claude --remove --hooks",
		Args:      oneClient,
		ValidArgs: setup.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, f.agent = splitAgent(cmd, args)
			f.named, f.scoped = cmd.Flags().Changed("name"), cmd.Flags().Changed("workspace-id")
			if len(args) == 0 {
				return o.list(cmd, f)
			}
			c := setup.Lookup(args[0])
			if err := f.check(c); err != nil {
				return err
			}
			if f.scoped && !isWorkspaceID(f.workspace) { // hooks keep the id, which no renaming changes
				id, err := o.Workspace(cmd.Context(), f.workspace)
				if err != nil {
					return err
				}
				f.workspace = string(id)
			}
			return o.change(cmd.Context(), c, f)
		},
	}
	f.add(cmd)
	return cmd
}

// add declares the flags.
func (f *flags) add(cmd *cobra.Command) {
	to := cmd.Flags()
	to.BoolVar(&f.remove, "remove", false, "Remove the entry")
	to.BoolVar(&f.dryRun, "dry-run", false, "Print the change as a diff, and write nothing")
	to.BoolVar(&f.project, "project", false, "Use the file of the project in this folder, which others may read")
	to.BoolVar(&f.stdio, "stdio", false, "Let the client start loci mcp, with a login or --server too")
	to.StringVar(&f.keyVariable, "key-env", "", "Let the client send the key in this environment `variable`")
	to.BoolVar(&f.asAgent, "agent", false, "Let the client act as the agent of an API key: with --key-env or --stdio")
	to.StringVar(&f.entry, "name", "loci", "The name of the entry")
	to.BoolVar(&f.force, "force", false, "Replace or remove an entry that Loci did not write")
	to.BoolVar(&f.hooks, "hooks", false, "Wire automatic memory into the client, or with --remove take it back")
	to.StringVar(&f.workspace, "workspace-id", "", "With --hooks: the workspace of policy and sessions (default: your "+
		"personal one)")
	to.BoolVar(&f.yes, "yes", false, "With --hooks: switch automatic memory on without a question")
}

// splitAgent separates the command of an agent, which follows --, from the other arguments.
func splitAgent(cmd *cobra.Command, args []string) (before, agent []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, nil
}

// check rejects flags that do not fit together, or do not fit the client.
func (f flags) check(c *setup.Client) error {
	switch {
	case !f.hooks && len(f.agent) > 0:
		return command.UsageError("the command of an agent is for the hooks of an editor: loci setup zed --hooks -- " +
			"claude-agent-acp")
	case !f.hooks && f.yes:
		return command.UsageError("--yes is for --hooks: it switches automatic memory on")
	case !f.hooks && f.scoped:
		return command.UsageError("--workspace-id is for --hooks: it names the workspace of policy and sessions")
	case !f.hooks && !c.HasConnection():
		return command.UsageError("Loci knows only the hooks of " + c.Title + ": add --hooks")
	case !f.hooks:
		return nil
	case !c.HasHooks():
		return command.UsageError(c.Title + " has no hooks for automatic memory: these have: " +
			strings.Join(setup.HookNames(), ", "))
	case f.asAgent:
		return command.UsageError("--agent is for the entry of the MCP server: hooks with an API key act as its " +
			"agent without it")
	case f.project || f.stdio || f.keyVariable != "":
		return command.UsageError("--hooks takes neither --project, --stdio nor --key-env: hooks are in your own " +
			"file, and loci hook uses the login")
	case f.scoped && f.remove:
		return command.UsageError("--remove removes the hooks of any workspace: leave out --workspace-id")
	case f.scoped && f.workspace == "":
		return command.UsageError("--workspace-id takes the name or id of a workspace: loci workspace list shows them")
	case f.named && !c.StartsAgent():
		return command.UsageError("the hooks of " + c.Title + " have no name: leave out --name")
	case len(f.agent) > 0 && (f.remove || !c.StartsAgent()):
		return command.UsageError("the command of an agent is for adding the hooks of an editor: leave it out")
	case len(f.agent) == 0 && !f.remove && c.StartsAgent():
		return command.UsageError("the command of the agent is missing: loci setup " + c.Name + " --hooks -- " +
			"claude-agent-acp")
	}
	return nil
}

// isWorkspaceID reports whether a text has the form of a workspace's id.
func isWorkspaceID(text string) bool {
	return loci.ID(text).Valid() && !strings.HasPrefix(text, loci.AgentIDPrefix)
}

// oneClient accepts the name of a client, or none, before the command of an agent.
func oneClient(c *cobra.Command, args []string) error {
	args, agent := splitAgent(c, args)
	switch {
	case len(args) == 0 && len(agent) > 0:
		return fmt.Errorf("%q needs a client before --: %[1]s zed --hooks -- claude-agent-acp", c.CommandPath())
	case len(args) > 1:
		return fmt.Errorf("%q takes one client, but got %d", c.CommandPath(), len(args))
	case len(args) == 1 && setup.Lookup(args[0]) == nil:
		near := command.Suggestion(args[0], setup.Names(), "")
		if near == "" {
			near = ": it is one of " + strings.Join(setup.Names(), ", ")
		}
		return fmt.Errorf("unknown client %q%s", args[0], near)
	}
	return nil
}

// system returns the machine of the person.
func (o Options) system() setup.System {
	self, _ := os.Executable() // without it, names alone tell which entries start Loci
	return setup.System{OS: runtime.GOOS, Env: o.Console.Env, Self: self}
}

// find reports whether a program is on the PATH of the console.
func (o Options) find(program string) bool { return o.path(program) != "" }

// path returns the file of a program on the PATH of the console, or "".
func (o Options) path(program string) string {
	for _, dir := range filepath.SplitList(o.Console.Env("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	return ""
}

// binary returns the command that starts this program: its name, if that is what the PATH finds, else its file. A file
// that others read has the name, as they have Loci elsewhere.
func (o Options) binary(absolute, shared bool) (string, error) {
	self, err := os.Executable()
	if shared || err != nil {
		return "loci", err
	}
	if found := o.path("loci"); !absolute && found != "" && sameFile(found, self) {
		return "loci", nil
	}
	return self, nil
}

// hookBinary returns the file that hooks start: the one on the PATH, which an update replaces, if it is this program.
func (o Options) hookBinary() (string, error) {
	self, err := os.Executable()
	if found := o.path("loci"); err == nil && found != "" && sameFile(found, self) {
		return found, nil
	}
	return self, err
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
