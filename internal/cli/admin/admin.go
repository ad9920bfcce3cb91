package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/server"
)

// commands are the operator's commands on a console.
type commands struct{ *console.Console }

// Command returns loci admin. Its commands need no account: access to the database is the credential.
func Command(on *console.Console) *cobra.Command {
	c := commands{on}
	admin := command.Group("admin",
		"Manage users, keys and workspaces in the database of a server, check it, and back it up")
	user := command.Group("user", "Make, show, verify, disable, delete and erase users, and set their plans")
	user.AddCommand(c.createUser(), c.listUsers(), c.showUser(), c.verifyUser(), c.resetUser(), c.setPlan(),
		c.disableUser(true), c.disableUser(false), c.deleteUser(), c.purgeUser())
	key := command.Group("key", "Make, list and revoke API keys")
	key.AddCommand(c.createKey(), c.listKeys(), c.revokeKey())
	workspace := command.Group("workspace", "List, show and erase workspaces")
	workspace.AddCommand(c.listWorkspaces(), c.showWorkspace(), c.purgeWorkspace())
	memory := command.Group("memory", "Erase memories")
	memory.AddCommand(c.purgeMemory())
	mail := command.Group("mail", "Try the settings of mail")
	mail.AddCommand(c.testMail())
	files := command.Group("files", "Move the files of memories")
	files.AddCommand(c.moveFiles())
	admin.AddCommand(user, key, workspace, memory, mail, files, c.check(), c.doctor(), c.migrate(), c.backup())
	return admin
}

// An adminResult is the output of an operator's command.
type adminResult struct {
	object any    // with --json; nil where the command has printed its output
	shown  any    // replaces object and text; tags of its type state the columns
	text   string // without it
	hint   string // for people only, after the text
	failed bool   // the exit code reports a failure

	needsYes bool // the command asks, and nobody can answer
}

// An adminFunc is the action of an operator's command.
type adminFunc func(ctx context.Context, a *server.Admin, args []string) (adminResult, error)

// adminCommand makes a command that works in the existing database of a server.
func (c commands) adminCommand(cmd *cobra.Command, do adminFunc) *cobra.Command {
	return c.settingsCommand(cmd, func(ctx context.Context, s server.Settings, args []string) (adminResult, error) {
		if err := s.RequireDatabase(ctx); err != nil {
			return adminResult{}, err
		}
		return runAdmin(ctx, s, args, do)
	})
}

// runAdmin runs an action in the database of a server.
func runAdmin(ctx context.Context, s server.Settings, args []string, do adminFunc) (o adminResult, err error) {
	a, err := server.OpenAdmin(ctx, s)
	if err != nil {
		return o, err
	}
	o, err = do(ctx, a, args)
	return o, cmp.Or(err, a.Close())
}

// settingsCommand makes a command that works with the settings of a server, and prints its result.
func (c commands) settingsCommand(cmd *cobra.Command,
	do func(ctx context.Context, s server.Settings, args []string) (adminResult, error)) *cobra.Command {
	settings := c.settings(cmd, "data", "db", "public-url")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := settings()
		if err != nil {
			return err
		}
		o, err := do(cmd.Context(), s, args)
		if err != nil {
			return err
		}
		return c.printResult(o)
	}
	return cmd
}

// emailFlag adds the required flag --email.
func emailFlag(cmd *cobra.Command, usage string) *string { return requiredFlag(cmd, "email", usage) }

func requiredFlag(cmd *cobra.Command, name, usage string) *string {
	value, others := cmd.Flags().String(name, "", usage+" (required)"), cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *value == "" {
			return command.Missing(cmd, "--"+name)
		}
		if others == nil {
			return nil
		}
		return others(cmd, args)
	}
	return value
}

func (c commands) printResult(o adminResult) (err error) {
	if o.shown != nil {
		err = (&output.Printer{Console: c.Console}).PrintAnswer(o.shown)
	} else if c.JSON && o.object != nil {
		err = c.PrintObject(o.object, !o.failed && !o.needsYes)
	} else if _, err = io.WriteString(c.Out, o.text); err == nil {
		_, err = io.WriteString(c.Err, o.hint)
	}
	switch {
	case err != nil:
	case o.failed:
		err = command.ErrReported
	case o.needsYes:
		err = command.ErrUnanswered
	}
	return err
}

func (c commands) createUser() *cobra.Command {
	var name string
	var password bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a user",
		Long: "Makes a user with a personal workspace. Without a password the user can use keys, but cannot sign " +
			"in.\nThis command also makes the database if there is none; no other operator's command does.",
		Example: "loci admin user create --email ada@example.org --name Ada\nloci admin user create --email " +
			"ada@example.org --password-stdin < password.txt",
		Args: command.ExactArgs(),
	}
	email := emailFlag(cmd, "The address")
	cmd.Flags().StringVar(&name, "name", "", "The name; default: the local part of the address")
	cmd.Flags().BoolVar(&password, "password-stdin", false, "Read the password from the standard input")
	create := func(ctx context.Context, a *server.Admin, _ []string) (o adminResult, err error) {
		var secret string
		if password {
			if secret, err = c.ReadStdin(ctx); err != nil {
				return o, err
			}
			secret = strings.TrimRight(secret, "\r\n")
		}
		hint := ""
		if !password {
			hint = "The user has no password, and cannot sign in on pages: loci admin user reset --email " + *email +
				" prints a link to choose one.\n"
		}
		u, err := a.CreateUser(ctx, *email, name, secret)
		return adminResult{object: map[string]string{"userId": string(u.ID)},
			text: fmt.Sprintf("Made the user %s with the id %s.\n", u.Email, u.ID), hint: hint}, err
	}
	// the database may not exist before the first start
	return c.settingsCommand(cmd, func(ctx context.Context, s server.Settings, args []string) (adminResult, error) {
		return runAdmin(ctx, s, args, create)
	})
}

func (c commands) verifyUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify",
		Short:   "Mark the address of a user as verified",
		Example: "loci admin user verify --email ada@example.org",
		Args:    command.ExactArgs(),
	}
	email := emailFlag(cmd, "The address")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		u, err := a.MarkVerified(ctx, *email)
		return adminResult{object: map[string]any{"userId": u.ID, "emailVerified": u.EmailVerified},
			text: fmt.Sprintf("The address %s is verified.\n", u.Email)}, err
	})
}

func (c commands) setPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Give a user a plan of its own",
		Long: "Gives a user a plan in place of the server's (LOCI_PLAN). A running server follows within two " +
			"seconds. Usage\nabove a smaller limit is kept: only more is refused.",
		Example: "loci admin user plan --email ada@example.org --plan pro\n" +
			"loci admin user plan --email ada@example.org --plan default",
		Args: command.ExactArgs(),
	}
	email := emailFlag(cmd, "The user's address")
	plan := requiredFlag(cmd, "plan", "free, pro, selfhosted, or default for the server's plan")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		u, err := a.ChangePlan(ctx, *email, *plan)
		return adminResult{object: map[string]any{"userId": u.ID, "plan": *plan},
			text: fmt.Sprintf("The plan of %s is %s.\n", u.Email, *plan)}, err
	})
}

func (c commands) createKey() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "create",
		Short:   "Make an API key of a user",
		Example: "loci admin key create --email ada@example.org --name laptop",
		Args:    command.ExactArgs(),
	}
	email := emailFlag(cmd, "The user's address")
	cmd.Flags().StringVar(&name, "name", "", "The purpose of the key")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		k, err := a.CreateKey(ctx, *email, name)
		return adminResult{object: map[string]string{"id": string(k.Key.ID), "apiKey": k.APIKey}, text: k.APIKey + "\n",
			hint: "This is the key. It is not shown again.\n"}, err
	})
}
