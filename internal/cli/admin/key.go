package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/resolve"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) listKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the API keys of all users, or of one",
		Long: "Lists API keys, oldest first, with their users and their last use; revoked ones too. It shows the " +
			"first characters of a\nkey, and never the key.",
		Example: "loci admin key list\nloci admin key list --email ada@example.org --json",
		Args:    command.ExactArgs(),
	}
	email := cmd.Flags().String("email", "", "Only the keys of the user with this address")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		list, err := a.ListKeys(ctx, *email)
		return adminResult{shown: list}, err
	})
}

func (c commands) revokeKey() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke an API key",
		Long: "Revokes an API key for good: it is refused with 403 revoked. A running server follows within two " +
			"seconds. ID is the id of the key (loci admin key list), or 8 characters or more at the beginning or end " +
			"of it. The command asks first.",
		Example: "loci admin key revoke 3f9c2a7b\n" +
			"loci admin key revoke 3f9c2a7b --yes --json",
		Args: command.ExactArgs("ID"),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask for confirmation")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, args []string) (o adminResult, err error) {
		found, err := find("key", args[0], func(yield func(resolve.Record, error) bool) {
			all, err := a.ListUserKeys(ctx, "")
			if err != nil {
				yield(resolve.Record{}, err)
			}
			for _, k := range all.Keys {
				if !yield(resolve.Record{ID: k.ID, Name: k.Name}, nil) {
					return
				}
			}
		})
		if err != nil {
			return o, err
		}
		k, err := a.UserKey(ctx, found.ID)
		if err != nil {
			return o, err
		}
		what := fmt.Sprintf("the key %q (%s) of %s", format.StripControl(k.Name, false), k.ID,
			format.StripControl(k.Email, false))
		if k.RevokedAt != 0 {
			return adminResult{object: map[string]any{"key": k},
				text: fmt.Sprintf("It was revoked before: %s.\n", what)}, nil
		}
		if !yes {
			err = c.RequireTerminal(cmd.CommandPath())
			if err == nil {
				err = c.Confirm(ctx, "Revoke "+what)
			}
			if err != nil {
				return o, err
			}
		}
		k, err = a.RevokeUserKey(ctx, k.ID)
		return adminResult{object: map[string]any{"key": k}, text: fmt.Sprintf("Revoked %s.\n", what)}, err
	})
}
