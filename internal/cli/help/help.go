package help

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
)

// Width is the width of a page that no terminal shows.
const Width = 80

// maxFlag is the width of the longest flag that shares a line with its text.
const maxFlag = 30

// GlobalFlag is the annotation of a command's own flag that is listed with the flags of all commands.
const GlobalFlag = "loci_global"

// A page is a help page that is being written.
type page struct {
	strings.Builder
	width  int
	colour bool
}

// Print prints the help page of a command. A width of 0 means Width.
func Print(w io.Writer, c *cobra.Command, width int, colour bool) error {
	b := &page{width: width, colour: colour}
	if width <= 0 {
		b.width = Width
	}
	b.prose(Description(c))
	b.head("USAGE")
	for line := range strings.SplitSeq(usageLine(c), "\n") {
		fmt.Fprintln(b, "  "+line)
	}
	if c.HasExample() {
		b.head("EXAMPLES")
		for line := range strings.SplitSeq(c.Example, "\n") {
			fmt.Fprintln(b, "  "+strings.Join(breakLine(line, b.width-4), " \\\n      "))
		}
	}
	for _, g := range append(c.Groups(), &cobra.Group{Title: "commands"}) {
		var rows [][2]string
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				rows = append(rows, [2]string{sub.Name(), sub.Short})
			}
		}
		b.rows(g.Title, rows)
	}
	c.InheritedFlags() // includes the flags of parent commands
	for name, text := range map[string]string{"help": "Show this help", "version": "Show the version of Loci"} {
		if f := c.Flags().Lookup(name); f != nil && f.Value.Type() == "bool" {
			f.Usage = text
		}
	}
	var own, global [][2]string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case isGlobal(c, f):
			global = append(global, flagRow(f))
		default:
			own = append(own, flagRow(f))
		}
	})
	b.rows("flags", own)
	b.rows("global flags", global)
	_, err := io.WriteString(w, b.String())
	return err
}

// Description returns the first text of the page of a command.
func Description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return strings.TrimSuffix(c.Short, ".") + "."
}

// isGlobal reports whether a flag belongs to the flags of all commands.
func isGlobal(c *cobra.Command, f *pflag.Flag) bool {
	_, marked := f.Annotations[GlobalFlag]
	return marked || f.Name == "help" || f.Name == "version" && f.Value.Type() == "bool" ||
		c.Root().PersistentFlags().Lookup(f.Name) == f
}

// flagRow returns a flag with its value, and its text.
func flagRow(f *pflag.Flag) [2]string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	value, text := pflag.UnquoteUsage(f)
	if value != "" {
		name += " " + value
	}
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
	default:
		text += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return [2]string{name, text}
}

func (b *page) head(title string) {
	fmt.Fprintf(b, "\n%s\n", format.Bold(strings.ToUpper(title), b.colour))
}

// prose prints paragraphs. An empty line ends one; a line that begins with white space stays as it is.
func (b *page) prose(text string) {
	var paragraph []string
	flush := func() {
		for _, line := range format.Wrap(strings.Join(paragraph, " "), b.width) {
			fmt.Fprintln(b, line)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		fmt.Fprintln(b, strings.ReplaceAll(line, "\t", "    "))
	}
	flush()
}

// rows prints names with their texts, in two columns where the names are short.
func (b *page) rows(title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	b.head(title)
	widest := 0
	for _, r := range rows {
		widest = max(widest, len(r[0]))
	}
	at := 2 + widest + 2
	if widest > maxFlag {
		at = 10
	}
	for _, r := range rows {
		texts := format.Wrap(r[1], b.width-at)
		if widest > maxFlag {
			texts = append([]string{""}, texts...)
		}
		line := fmt.Sprintf("  %-*s", at-2, r[0])
		for _, text := range texts {
			fmt.Fprintln(b, strings.TrimRight(line+text, " "))
			line = strings.Repeat(" ", at)
		}
	}
}

// breakLine returns the parts of a command line, each at most width columns if that is possible. It is broken before
// flags and pipes outside of quotation marks.
func breakLine(line string, width int) (parts []string) {
	quote, from, last := rune(0), 0, 0
	for i, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && (strings.HasPrefix(line[i:], " --") || strings.HasPrefix(line[i:], " | ")):
			if i-from > width && last > from {
				parts, from = append(parts, line[from:last]), last+1
			}
			last = i
		}
	}
	if len(line)-from > width && last > from {
		parts, from = append(parts, line[from:last]), last+1
	}
	return append(parts, line[from:])
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
