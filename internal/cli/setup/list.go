package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/setup"
)

// list prints which clients are installed and connected.
func (o Options) list(cmd *cobra.Command, f flags) error {
	for _, name := range []string{"remove", "dry-run", "project", "stdio", "key-env", "agent", "force", "hooks",
		"workspace-id", "yes"} {
		if cmd.Flags().Changed(name) {
			return command.UsageError("--" + name + " needs a client: loci setup <client>")
		}
	}
	if err := checkEntry(f.entry); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	all := setup.List(o.system(), f.entry, here, o.find)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLIENT\tINSTALLED\tHOOKS\tCONNECTED\tFILE")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Client, yesNo(s.Installed), hooked(s),
			format.StripControl(connected(s), false), format.StripControl(o.short(fileOf(s)), false))
	}
	w.Flush()
	if width, _ := o.Console.Terminal(o.Console.Out); width > 0 {
		lines := strings.SplitAfter(b.String(), "\n")
		b.Reset()
		for _, line := range lines {
			b.WriteString(ansi.Truncate(line, width, "…\n"))
		}
	}
	for _, s := range all {
		if s.Hooks != nil && s.Hooks.Problem != "" {
			fmt.Fprintf(&b, "The hooks of %s: %s\n", s.Title, format.StripControl(s.Hooks.Problem, false))
		}
	}
	return o.Console.PrintResult(map[string][]setup.Status{"clients": all}, b.String())
}

// fileOf returns the file of a client's MCP servers, or of its hooks where Loci knows these alone.
func fileOf(s setup.Status) string {
	if s.File == "" && s.Hooks != nil {
		return s.Hooks.File
	}
	return s.File
}

// hooked describes hooks in a cell. It is empty where a client has none, or in a project.
func hooked(s setup.Status) string {
	switch {
	case s.Hooks == nil:
		return ""
	case s.Hooks.Problem != "":
		return "broken"
	}
	return yesNo(s.Hooks.Wired)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// connected describes a connection in a cell.
func connected(s setup.Status) string {
	switch {
	case s.Problem != "":
		return s.Problem
	case s.File == "": // Loci knows its hooks alone
		return ""
	case !s.Connected:
		return "no"
	}
	return s.Connection.String()
}

// short returns a path with ~ for the home folder.
func (o Options) short(path string) string {
	home := o.Console.Env("HOME")
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return filepath.Join("~", rest)
	}
	return path
}
