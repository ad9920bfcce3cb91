package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/setup"
)

// A Target is what the commands of the person use.
type Target struct {
	Server    string // empty: this device
	Local     bool   // --local says so
	Named     bool   // --server says so
	PlainHTTP bool   // http to another machine is allowed
}

// Options are what the command needs from the program.
type Options struct {
	Console *console.Console
	DataDir func() (string, error) // the folder of Loci for this person; it is made
	Target  func() (Target, error) // of the commands, with the flags
}

// flags are the flags of the command.
type flags struct {
	remove, dryRun, project, stdio, force bool
	entry, keyVariable                    string
}

// help begins the help of the command. The names of the clients follow.
const help = "" +
	"Writes the entry of Loci into the file in which a client lists its MCP servers; --remove takes it back.\n" +
	"All else in the file stays as it is. Without a client it lists which are installed and connected.\n" +
	"A client starts loci mcp for the memories of this device, or calls a server: that of --server, or of the\n" +
	"login. It signs in to the server in the browser. With --key-env it sends the key in that variable instead.\n" +
	"Clients: "

// Command is loci setup.
func Command(o Options) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "setup [client]",
		Short: "Connect an agent or editor of this machine with Loci",
		Long:  help + strings.Join(setup.Names(), ", ") + ".",
		Example: "loci setup\n" +
			"loci setup claude\n" +
			"loci setup codex --server https://loci.example.org\n" +
			"loci setup cursor --server https://loci.example.org --key-env LOCI_API_KEY\n" +
			"loci setup vscode --project --dry-run\n" +
			"loci setup claude --remove",
		Args:      oneClient,
		ValidArgs: setup.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return o.list(cmd, f)
			}
			return o.change(cmd.Context(), setup.Lookup(args[0]), f)
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
	to.StringVar(&f.entry, "name", "loci", "The name of the entry")
	to.BoolVar(&f.force, "force", false, "Replace or remove an entry that Loci did not write")
}

// oneClient accepts the name of a client, or none.
func oneClient(c *cobra.Command, args []string) error {
	switch {
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

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
