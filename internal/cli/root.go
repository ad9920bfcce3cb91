package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/admin"
	"github.com/loci-memory/loci/internal/cli/bench"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/edit"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/help"
	"github.com/loci-memory/loci/internal/cli/opflags"
	"github.com/loci-memory/loci/internal/cli/review"
	"github.com/loci-memory/loci/internal/cli/transfer"
	"github.com/loci-memory/loci/internal/cli/version"
	"github.com/loci-memory/loci/internal/op"
)

// root returns the tree of commands.
func (p *program) root() *cobra.Command {
	root := command.Group("loci", "A memory for people and their agents")
	root.Long = "Loci stores knowledge and finds it again, for people and their agents.\n" +
		"Without a server it stores it on this device."
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		p.started, p.worksHere = true, !excludesFlag(c, "local")
		return checkTargetFlags(c)
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&p.JSON, "json", false, "Print the JSON object of the answer")
	flags.BoolVar(&p.local, "local", false, "Use the database on this device")
	flags.StringVar(&p.server, "server", "", "Use the server at this URL")
	flags.BoolVar(&p.plainHTTP, "plain-http", false, "Let the key travel over http to another machine")
	root.AddGroup(&cobra.Group{ID: groupMemories, Title: "memory"},
		&cobra.Group{ID: groupMachine, Title: "this machine and its server"})
	p.addOperations(root)
	for _, c := range append(transfer.Commands(&p.Console, p.openTransfer), p.mcp(), p.acp(), p.hook(),
		admin.ServeCommand(&p.Console), admin.Command(&p.Console), p.login(), p.logout(), p.setup(), p.doctor(),
		bench.Command(&p.Console), version.Command(&p.Console)) {
		c.GroupID = groupMachine
		root.AddCommand(c)
		switch c.Name() {
		case "doctor", "hook", "setup": // work on any target
		case "mcp", "acp": // work on any target too, and print no object
			excludeFlags(c, "json")
		case "serve":
			excludeFlags(c, append(targetFlags, "json")...)
		case "login":
			excludeFlags(c, "local", "server")
		case "push", "pull":
			excludeFlags(c, "local")
		default:
			excludeFlags(c, targetFlags...)
		}
	}
	p.completeHandwritten(root)
	root.Version = version.Get().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SilenceUsage, root.SilenceErrors = true, true // reportError prints errors
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if words := c.Flags().Args(); len(words) > 0 && c.HasAvailableSubCommands() { // loci memory --help create
			words = append(strings.Fields(c.CommandPath())[1:], words...)
			if p.helpError = validateHelpPath(c, words); p.helpError == nil {
				p.helpError = helpForPath(c, words)
			}
			return
		}
		width, colour := p.Terminal(p.Out) // a terminal that answers no query would block the help
		if p.helpError = help.Print(p.Out, c, width, colour); p.helpError != nil {
			p.started = true // it is no error of the command line
		}
	})
	root.SetFlagErrorFunc(command.FlagError)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.InitDefaultCompletionCmd() // it captures the current output
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = command.RejectUnknown, command.Help
			c.Short = "Print a script with which a shell completes commands"
			for _, shell := range c.Commands() {
				shell.Short = "Print the script for " + shell.Name()
				shell.Example = "loci completion " + shell.Name()
			}
			excludeFlags(c, append(targetFlags, "json")...)
		case "help":
			c.Args, c.Run, c.RunE = validateHelpPath, nil, helpForPath
			c.Short, c.Long, c.Example = "Show the help of a command", "", "loci help memory create"
		}
	}
	return root
}

// targetFlags are the flags that choose a target. They belong to the root, so that they may precede the command too.
var targetFlags = slices.Clip([]string{"local", "server", "plain-http"})

// excludedFlagsKey is the annotation of a command to which, with its subcommands, some target flags do not apply.
const excludedFlagsKey = "loci_excluded_flags"

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
	for _, name := range append(targetFlags, "json") {
		if c.Flags().Changed(name) && excludesFlag(c, name) {
			return command.UsageError(fmt.Sprintf("%q does not take --%s", c.CommandPath(), name))
		}
	}
	return nil
}

// excludesFlag reports whether a target flag does not apply to the command.
func excludesFlag(c *cobra.Command, name string) bool {
	for at := c; at != nil; at = at.Parent() {
		if slices.Contains(strings.Fields(at.Annotations[excludedFlagsKey]), name) {
			return true
		}
	}
	return false
}

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
	return command.RejectUnknown(of, rest)
}

// The groups of the help page.
const (
	groupMemories = "memories"
	groupMachine  = "machine"
)

// addOperations adds a command for each operation: loci <resource> <verb>.
func (p *program) addOperations(root *cobra.Command) {
	groups := map[string]*cobra.Command{}
	for _, o := range p.table.Ops {
		if o.Exposure == op.BrowserOnly || o.Streams || o.Access == op.File { // attachment has commands of its own
			continue
		}
		resource, verb, _ := strings.Cut(o.Name, ".")
		g := groups[resource]
		if g == nil {
			g = command.Group(format.Kebab(resource), resourceSummary(resource))
			g.GroupID = groupMemories
			groups[resource] = g
			root.AddCommand(g)
		}
		g.AddCommand(p.opCommand(o, verb, opflags.New(o)))
	}
	if g := groups["agent"]; g != nil {
		g.AddCommand(p.agentShow(), p.agentListen())
	}
	if o, g := p.table.Op("memory.update"), groups["memory"]; g != nil && o != nil {
		g.AddCommand(p.moveCommand(o), edit.Command(edit.Options{Console: &p.Console, Open: p.openRecords}))
	}
	if list, decide := p.table.Op("session.candidates"), p.table.Op("session.review"); list != nil && decide != nil {
		c := review.Command(review.Options{Console: &p.Console, List: list, Review: decide, Open: p.openRecords,
			Values: p.completion().Values})
		c.GroupID = groupMemories
		root.AddCommand(c)
	}
	if p.table.Op("attachment.upload") != nil {
		g := p.attachment()
		g.GroupID = groupMemories
		root.AddCommand(g)
	}
}

// resourceSummary describes the commands of a resource in a line.
func resourceSummary(resource string) string {
	if text, ok := map[string]string{
		"memory":     "Write memories and find them again",
		"session":    "Follow the work of agents, and review the memories that they propose",
		"unit":       "Store the results of the tasks of automatic sessions",
		"auto":       "Switch automatic memory on or off, and choose what it keeps",
		"atlas":      "Group memories by subject",
		"workspace":  "Share atlases with others",
		"member":     "See who is in a workspace, change roles, and remove members",
		"invitation": "Invite people into a workspace, and answer invitations",
		"key":        "Make and revoke API keys",
		"agent":      "See agents, send them messages, and read and follow those to your own",
		"account":    "Show and change your account, and show its usage",
		"file":       "Get a token with which a script uploads and downloads files",
		"grant":      "See the programs that use your workspaces, and end their access",
		"signin":     "See the browsers that are signed in, and sign them out",
		"referral":   "Invite people to the server by your link",
		"benefit":    "See and use the benefits of referrals",
	}[resource]; ok {
		return text
	}
	return "Work with " + strings.ReplaceAll(format.Kebab(resource), "-", " ") + " records"
}
