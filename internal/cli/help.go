package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// printHelp prints the help of a command. It asks the terminal for nothing but its
// width: one that does not answer would hold up everybody.
func (p *program) printHelp(c *cobra.Command, _ []string) {
	if c.HasAvailableSubCommands() {
		if p.helpError = rejectUnknownCommand(c, c.Flags().Args()); p.helpError != nil {
			return
		}
	}
	width, colour := p.terminalInfo(p.out)
	var b strings.Builder
	head := func(title string) { fmt.Fprintf(&b, "\n%s\n", bold(title, colour)) }
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
	c.InheritedFlags() // makes those of the commands above it its own
	for name, text := range map[string]string{"help": "Show this help", "version": "Show which Loci this is"} {
		if f := c.Flags().Lookup(name); f != nil && f.Value.Type() == "bool" {
			f.Usage = text
		}
	}
	head("FLAGS")
	b.WriteString(c.Flags().FlagUsagesWrapped(width))
	fmt.Fprint(p.out, b.String())
}

// usageLine is the line that shows how the command is called.
func usageLine(c *cobra.Command) string {
	if !c.HasAvailableSubCommands() {
		return c.UseLine()
	}
	commands := c.CommandPath() + " <command>"
	if strings.Contains(c.Use, " ") { // it takes arguments of its own
		return c.UseLine() + "\n" + commands
	}
	return commands
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func bold(text string, colour bool) string {
	if !colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}
