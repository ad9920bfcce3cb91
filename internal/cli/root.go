package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/op"
)

// root returns the tree of commands.
func (p *program) root() *cobra.Command {
	root := p.commandGroup("loci", "A memory for people and their agents")
	root.Long = "Loci stores knowledge and finds it again, for people and their agents.\n" +
		"Without a server it stores it on this device."
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		p.started = true
		return checkTargetFlags(c)
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&p.json, "json", false, "Print the JSON object of the answer")
	flags.BoolVar(&p.local, "local", false, "Use the database on this device")
	flags.StringVar(&p.server, "server", "", "Use the server at this URL")
	flags.BoolVar(&p.plainHTTP, "plain-http", false, "Let the key travel over http to another machine")
	root.AddGroup(&cobra.Group{ID: groupMemories, Title: "memory"},
		&cobra.Group{ID: groupMachine, Title: "this machine and its server"})
	p.addOperations(root)
	for _, c := range []*cobra.Command{p.mcp(), p.serve(), p.admin(), p.login(), p.logout(), p.doctor(), p.bench(),
		p.versionCommand()} {
		c.GroupID = groupMachine
		root.AddCommand(c)
		switch c.Name() {
		case "doctor": // works on any target
		case "mcp": // works on any target too, and prints no object
			excludeFlags(c, "json")
		case "serve":
			excludeFlags(c, append(targetFlags, "json")...)
		case "login":
			excludeFlags(c, "local", "server")
		default:
			excludeFlags(c, targetFlags...)
		}
	}
	root.Version = version().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SilenceUsage, root.SilenceErrors = true, true // reportError prints errors
	root.SetHelpFunc(p.printHelp)
	root.SetFlagErrorFunc(flagError)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.InitDefaultCompletionCmd() // it captures the current output
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = rejectUnknownCommand, help
			excludeFlags(c, append(targetFlags, "json")...)
		case "help":
			c.Args, c.Run, c.RunE = validateHelpPath, nil, helpForPath
		}
	}
	return root
}

// targetFlags are the flags that choose a target. They belong to the root, so that they may precede the command too.
var targetFlags = slices.Clip([]string{"local", "server", "plain-http"})

// excludedFlagsKey is the annotation of a command to which, with its subcommands, some target flags do not apply.
const excludedFlagsKey = "loci_lacking"

// excludeFlags makes a command reject and hide some target flags.
func excludeFlags(c *cobra.Command, names ...string) {
	c.Annotations = map[string]string{excludedFlagsKey: strings.Join(names, " ")}
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		for _, name := range names {
			c.Root().PersistentFlags().Lookup(name).Hidden = true
		}
		c.Root().HelpFunc()(c, args)
	})
}

// checkTargetFlags rejects a target flag that does not apply to the command.
func checkTargetFlags(c *cobra.Command) error {
	for at := c; at != nil; at = at.Parent() {
		for _, name := range strings.Fields(at.Annotations[excludedFlagsKey]) {
			if c.Flags().Changed(name) {
				return usageError(fmt.Sprintf("%q does not take --%s", c.CommandPath(), name))
			}
		}
	}
	return nil
}

func help(c *cobra.Command, _ []string) error { return c.Help() }

// helpForPath is loci help: it prints the page of the named command.
func helpForPath(c *cobra.Command, words []string) error {
	of, _, err := c.Root().Find(words)
	if err != nil {
		return err
	}
	of.InitDefaultHelpFlag()
	of.InitDefaultVersionFlag()
	return of.Help()
}

// validateHelpPath rejects words that name no command.
func validateHelpPath(c *cobra.Command, words []string) error {
	of, rest, err := c.Root().Find(words)
	if err != nil {
		return err
	}
	return rejectUnknownCommand(of, rest)
}

// The groups of the help page.
const (
	groupMemories = "memories"
	groupMachine  = "machine"
)

// commandGroup returns a command that only has subcommands.
func (p *program) commandGroup(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  rejectUnknownCommand,
		RunE:  help,
	}
}

// rejectUnknownCommand rejects an unknown command, and suggests the nearest one.
func rejectUnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), suggestion(args[0], names, ""))
}

// suggestion suggests the nearest name, or the one with that prefix.
func suggestion(word string, names []string, before string) string {
	near := op.Nearest(word, names)
	for _, name := range names {
		if near == "" && word != "" && strings.HasPrefix(name, word) {
			near = name
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", before+near)
}

// flagError adds the nearest flag to the error of an unknown flag.
func flagError(c *cobra.Command, err error) error {
	var unknown interface {
		error
		GetSpecifiedName() string
	}
	if !errors.As(err, &unknown) || unknown.GetSpecifiedName() == "" {
		return err
	}
	var names []string
	for _, m := range flagPattern.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return fmt.Errorf("unknown flag %q for %q%s", "--"+unknown.GetSpecifiedName(), c.CommandPath(),
		suggestion(unknown.GetSpecifiedName(), names, "--"))
}

// flagPattern finds the flags on a help page.
var flagPattern = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)

// addOperations adds a command for each operation: loci <resource> <verb>.
func (p *program) addOperations(root *cobra.Command) {
	groups := map[string]*cobra.Command{}
	for _, o := range p.table.Ops {
		if o.Exposure == op.BrowserOnly || o.Streams {
			continue
		}
		resource, _, _ := strings.Cut(o.Name, ".")
		g := groups[resource]
		if g == nil {
			g = p.commandGroup(kebab(resource), resourceSummary(resource))
			g.GroupID = groupMemories
			groups[resource] = g
			root.AddCommand(g)
		}
		g.AddCommand(p.opCommand(o))
	}
}

// resourceSummary describes the commands of a resource in a line.
func resourceSummary(resource string) string {
	if text, ok := map[string]string{
		"memory":     "Write memories and find them again",
		"atlas":      "Group memories by subject",
		"workspace":  "Share atlases with others",
		"member":     "See who is in a workspace",
		"invitation": "Invite people into a workspace, and answer invitations",
		"key":        "Make and revoke API keys",
		"account":    "Show your account and its usage",
	}[resource]; ok {
		return text
	}
	return "Work with " + strings.ReplaceAll(kebab(resource), "-", " ") + " records"
}
