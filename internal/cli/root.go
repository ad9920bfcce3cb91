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
	root := p.group("loci", "A memory for people and their agents")
	root.Long = "Loci keeps what is worth knowing and finds it again, for people and their agents.\n" +
		"Without a server it keeps it on this device."
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		p.began = true
		return aimed(c)
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&p.json, "json", false, "Print the JSON object of the answer")
	flags.BoolVar(&p.local, "local", false, "Use the database on this device")
	flags.StringVar(&p.server, "server", "", "Use the server at this URL")
	flags.BoolVar(&p.plain, "plain-http", false, "Let the key travel over http to another machine")
	root.AddGroup(&cobra.Group{ID: memories, Title: "memory"}, &cobra.Group{ID: machine, Title: "this machine and its server"})
	p.operations(root)
	for _, c := range []*cobra.Command{p.mcp(), p.serve(), p.admin(), p.login(), p.logout(), p.doctor(), p.bench(), p.versionCommand()} {
		c.GroupID = machine
		root.AddCommand(c)
		switch c.Name() {
		case "doctor": // works on any target
		case "mcp": // so does this one, and prints no object
			without(c, "json")
		case "serve":
			without(c, append(aims, "json")...)
		case "login":
			without(c, "local", "server")
		default:
			without(c, aims...)
		}
	}
	root.Version = version().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SilenceUsage, root.SilenceErrors = true, true // fail tells
	root.SetHelpFunc(p.page)
	root.SetFlagErrorFunc(unknownFlag)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.InitDefaultCompletionCmd() // it keeps the output of this moment
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = known, help
			without(c, append(aims, "json")...)
		case "help":
			c.Args, c.Run, c.RunE = nameable, nil, helpOn
		}
	}
	return root
}

// aims are the flags that choose a target. They belong to the root, so that
// they may stand before the command too.
var aims = slices.Clip([]string{"local", "server", "plain-http"})

// lacking is the annotation of a command for which, and for those below it,
// some of the aims have no meaning.
const lacking = "loci_lacking"

// without makes a command neither take some of the aims nor show them.
func without(c *cobra.Command, names ...string) {
	c.Annotations = map[string]string{lacking: strings.Join(names, " ")}
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		for _, name := range names {
			c.Root().PersistentFlags().Lookup(name).Hidden = true
		}
		c.Root().HelpFunc()(c, args)
	})
}

// aimed refuses an aim that has no meaning for the command: who gives it
// expects something else of the command than it does.
func aimed(c *cobra.Command) error {
	for at := c; at != nil; at = at.Parent() {
		for _, name := range strings.Fields(at.Annotations[lacking]) {
			if c.Flags().Changed(name) {
				return misuse(fmt.Sprintf("%q does not take --%s", c.CommandPath(), name))
			}
		}
	}
	return nil
}

func help(c *cobra.Command, _ []string) error { return c.Help() }

// helpOn is loci help: the page of the command that the words name.
func helpOn(c *cobra.Command, words []string) error {
	of, _, err := c.Root().Find(words)
	if err != nil {
		return err
	}
	of.InitDefaultHelpFlag()
	of.InitDefaultVersionFlag()
	return of.Help()
}

// nameable refuses words that name no command.
func nameable(c *cobra.Command, words []string) error {
	of, rest, err := c.Root().Find(words)
	if err != nil {
		return err
	}
	return known(of, rest)
}

// The groups of the help page.
const (
	memories = "memories"
	machine  = "machine"
)

// group returns a command that only holds others.
func (p *program) group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  known,
		RunE:  help,
	}
}

// known refuses a word that is no command, and says which one was meant.
func known(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), meant(args[0], names, ""))
}

// meant suggests the name that is nearest, or that begins so.
func meant(word string, names []string, before string) string {
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

// unknownFlag adds to the error of a flag that is not known which one is near.
func unknownFlag(c *cobra.Command, err error) error {
	var unknown interface {
		error
		GetSpecifiedName() string
	}
	if !errors.As(err, &unknown) || unknown.GetSpecifiedName() == "" {
		return err
	}
	var names []string
	for _, m := range flagName.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return fmt.Errorf("unknown flag %q for %q%s", "--"+unknown.GetSpecifiedName(), c.CommandPath(),
		meant(unknown.GetSpecifiedName(), names, "--"))
}

// flagName finds the flags on a help page.
var flagName = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)

// operations adds a command for each operation: loci <resource> <verb>.
func (p *program) operations(root *cobra.Command) {
	groups := map[string]*cobra.Command{}
	for _, o := range p.table.Ops {
		if o.Reach == op.Browser || o.Streams {
			continue
		}
		resource, _, _ := strings.Cut(o.Name, ".")
		g := groups[resource]
		if g == nil {
			g = p.group(kebab(resource), about(resource))
			g.GroupID = memories
			groups[resource] = g
			root.AddCommand(g)
		}
		g.AddCommand(p.operation(o))
	}
}

// about says in a line what the commands of a resource are for.
func about(resource string) string {
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
