package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/server"
)

// purgeNotes describes every purge and its limits.
const purgeNotes = `

Words, titles and every earlier version are erased, also from the keyword index, the stored responses of calls with an
Idempotency-Key, and the free space of the database. The server may run meanwhile, but writes wait while the database
is rewritten. Backups, and the archived log of a PostgreSQL server, are not changed.

The command counts the rows and asks first. With --yes it does not ask. Without it, and without a terminal, it counts
the rows, erases nothing and exits with 2.`

func (c commands) purgeMemory() *cobra.Command {
	var deleted bool
	cmd := &cobra.Command{
		Use:   "purge ID",
		Short: "Erase every byte of a memory",
		Long: "Erases a memory for good. With --deleted and no ID: whatever deletions and changes have left, in all " +
			"workspaces; it\n" +
			"counts documents of the keyword index, and rows of its log of changes, of which some may hold such " +
			"words." + purgeNotes,
		Example: "loci admin memory purge 01a228db-f712-73b1-bb99-837db95c4956 --yes\n" +
			"loci admin memory purge --deleted --yes",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 != deleted && len(args) < 2 {
				return nil
			}
			return errors.New("name one memory by its ID, or use --deleted")
		},
	}
	cmd.Flags().BoolVar(&deleted, "deleted", false, "Erase the remains of deletions and changes")
	return c.purge(cmd, func(ctx context.Context, a *server.Admin, args []string, yes bool) (fmt.Stringer, error) {
		if deleted {
			return a.Purger.PurgeDeleted(ctx, yes)
		}
		return a.Purger.PurgeMemory(ctx, loci.ID(args[0]), yes)
	})
}

func (c commands) purgeWorkspace() *cobra.Command {
	var id loci.ID // of the workspace, once it is found
	return c.purge(&cobra.Command{
		Use:   "purge WORKSPACE",
		Short: "Erase a team workspace with all its records",
		Long: "Erases a team workspace with its atlases, memories, members and invitations. A personal workspace " +
			"goes with its user. WORKSPACE is its name, its id, or 8 characters or more at the beginning or end of " +
			"the id." + purgeNotes,
		Example: "loci admin workspace purge Crew\nloci admin workspace purge 3f9c2a7b --yes",
		Args:    command.ExactArgs("WORKSPACE"),
	}, func(ctx context.Context, a *server.Admin, args []string, yes bool) (fmt.Stringer, error) {
		if id == "" {
			w, err := findWorkspace(ctx, a, args[0])
			if err != nil {
				return nil, err
			}
			if id = w.ID; w.Name != "" { // the question names it
				args[0] = fmt.Sprintf("%q (%s)", format.StripControl(w.Name, false), w.ID)
			}
		}
		return a.Purger.PurgeWorkspace(ctx, id, yes)
	})
}

func (c commands) purgeUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Erase a user with the personal workspace",
		Long: "Erases a user with keys, sign-ins, memberships, invitations to the address, and the personal " +
			"workspace with all that is in it.\n" +
			"Teams that the user owns are to be purged first. What the user wrote in the teams of others belongs to " +
			"them and stays: its\n" +
			"author is then an id that nobody has." + purgeNotes,
		Example: "loci admin user purge --email ada@example.org\nloci admin user purge --email ada@example.org --yes " +
			"--json",
		Args: command.ExactArgs(),
	}
	email := emailFlag(cmd, "The user's address")
	return c.purge(cmd, func(ctx context.Context, a *server.Admin, _ []string, yes bool) (fmt.Stringer, error) {
		return a.Purger.PurgeUser(ctx, server.Address(*email), yes)
	})
}

// purge makes a command that counts records, asks, and erases every byte of them.
func (c commands) purge(cmd *cobra.Command, do countedFunc) *cobra.Command {
	return c.destroy(cmd, purging, do)
}

// destruction has the words for one way of destroying records; each format takes the counts last.
type destruction struct {
	question, would, hint, done string
	plannedKey, doneKey         string // of the JSON objects
}

var (
	purging = destruction{question: "Purge %s: erase %v", would: "This would erase %v.\n",
		hint: "Nothing was erased: add --yes to erase it for good.", done: "Erased %v.\n",
		plannedKey: "wouldPurge", doneKey: "purged"}
	deleting = destruction{question: "Delete %s: delete %v", would: "This would delete %v.\n",
		hint: "Nothing was deleted: add --yes to delete it for good.", done: "Deleted %v.\n",
		plannedKey: "wouldDelete", doneKey: "deleted"}
)

// A countedFunc counts the records that a command destroys. With yes it destroys them.
type countedFunc func(ctx context.Context, a *server.Admin, args []string, yes bool) (fmt.Stringer, error)

// destroy makes a command that counts records, asks, and destroys them.
func (c commands) destroy(cmd *cobra.Command, words destruction, do countedFunc) *cobra.Command {
	var yes bool
	cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask for confirmation")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, args []string) (adminResult, error) {
		counts, err := do(ctx, a, args, yes)
		if !yes && err == nil {
			if !c.IsInteractive() {
				return adminResult{object: map[string]any{words.plannedKey: counts, "hint": words.hint},
					text: fmt.Sprintf(words.would, counts), hint: "loci: " + words.hint + "\n", needsYes: true}, nil
			}
			if err = c.Confirm(ctx, fmt.Sprintf(words.question, subject(cmd, args), counts)); err == nil {
				counts, err = do(ctx, a, args, true)
			}
		}
		return adminResult{object: map[string]any{words.doneKey: counts}, text: fmt.Sprintf(words.done, counts)}, err
	})
}

// subject names the record that a command destroys.
func subject(cmd *cobra.Command, args []string) string {
	what := strings.Join(append([]string{cmd.Parent().Name()}, args...), " ")
	if email := cmd.Flags().Lookup("email"); email != nil {
		what += " " + format.StripControl(email.Value.String(), false)
	}
	return what
}
