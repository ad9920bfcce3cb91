package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
)

// printHelp prints the help of a command. It queries only the width of the
// terminal: a terminal that does not answer would block the help.
func (p *program) printHelp(c *cobra.Command, _ []string) {
	if c.HasAvailableSubCommands() {
		if p.helpError = command.RejectUnknown(c, c.Flags().Args()); p.helpError != nil {
			return
		}
	}
	width, colour := p.Terminal(p.Out)
	var b strings.Builder
	head := func(title string) { fmt.Fprintf(&b, "\n%s\n", format.Bold(title, colour)) }
	fmt.Fprintln(&b, cmp.Or(c.Long, c.Short))
	head("USAGE")
	fmt.Fprintln(&b, indent(usageLine(c)))
	if c.HasExample() {
		head("EXAMPLES")
		fmt.Fprintln(&b, indent(c.Example))
	}
	for _, g := range append(c.Groups(), &cobra.Group{Title: "commands"}) {
		titled := false
		for _, sub := range c.Commands() {
			if sub.GroupID != g.ID || !sub.IsAvailableCommand() && sub.Name() != "help" {
				continue
			}
			if !titled {
				head(strings.ToUpper(g.Title))
				titled = true
			}
			fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	c.InheritedFlags() // includes the flags of parent commands
	for name, text := range map[string]string{"help": "Show this help", "version": "Show the version of Loci"} {
		if f := c.Flags().Lookup(name); f != nil && f.Value.Type() == "bool" {
			f.Usage = text
		}
	}
	head("FLAGS")
	b.WriteString(c.Flags().FlagUsagesWrapped(width))
	fmt.Fprint(p.Out, b.String())
}

// usageLine returns the usage line of a command.
func usageLine(c *cobra.Command) string {
	if !c.HasAvailableSubCommands() {
		return c.UseLine()
	}
	commands := c.CommandPath() + " <command>"
	if command.TakesArguments(c) {
		return c.UseLine() + "\n" + commands
	}
	return commands
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
