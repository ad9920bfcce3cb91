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
	root.Long = "Loci keeps what is worth knowing and finds it again, for people and their agents.\n" +
		"Without a server it keeps it on this device."
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
		case "mcp": // so does this one, and prints no object
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
	root.SilenceUsage, root.SilenceErrors = true, true // fail tells
	root.SetHelpFunc(p.printHelp)
	root.SetFlagErrorFunc(flagError)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.InitDefaultCompletionCmd() // it keeps the output of this moment
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

// targetFlags are the flags that choose a target. They belong to the root, so that
// they may stand before the command too.
var targetFlags = slices.Clip([]string{"local", "server", "plain-http"})

// excludedFlagsKey is the annotation of a command for which, and for those below it,
// some of the aims have no meaning.
const excludedFlagsKey = "loci_lacking"

// excludeFlags makes a command neither take some of the aims nor show them.
func excludeFlags(c *cobra.Command, names ...string) {
	c.Annotations = map[string]string{excludedFlagsKey: strings.Join(names, " ")}
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		for _, name := range names {
			c.Root().PersistentFlags().Lookup(name).Hidden = true
		}
		c.Root().HelpFunc()(c, args)
	})
}

// checkTargetFlags refuses an aim that has no meaning for the command: who gives it
// expects something else of the command than it does.
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

// helpForPath is loci help: the page of the command that the words name.
func helpForPath(c *cobra.Command, words []string) error {
	of, _, err := c.Root().Find(words)
	if err != nil {
		return err
	}
	of.InitDefaultHelpFlag()
	of.InitDefaultVersionFlag()
	return of.Help()
}

// validateHelpPath refuses words that name no command.
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

// commandGroup returns a command that only holds others.
func (p *program) commandGroup(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  rejectUnknownCommand,
		RunE:  help,
	}
}

// rejectUnknownCommand refuses a word that is no command, and says which one was meant.
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

// suggestion suggests the name that is nearest, or that begins so.
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

// flagError adds to the error of a flag that is not known which one is near.
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

// resourceSummary says in a line what the commands of a resource are for.
func resourceSummary(resource string) string {
	if text, ok := map[string]string{
		"memory":     "Write memories and find them again",
		"atlas":      "Sort memories by matter",
		"workspace":  "Share atlases with others",
		"member":     "See who is in a workspace",
		"invitation": "Ask others into a workspace, and answer them",
		"key":        "Make and revoke API keys",
		"account":    "See the own account and what it uses",
	}[resource]; ok {
		return text
	}
	return "Work with " + strings.ReplaceAll(kebab(resource), "-", " ") + " records"
}
