package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) listUsers() *cobra.Command {
	return c.adminCommand(&cobra.Command{
		Use:   "list",
		Short: "List the users",
		Long: "Lists all users, oldest first, with their plans, the number of their teams, and the last use of a key " +
			"or a browser.\nIt shows no secret and no text of a memory.",
		Example: "loci admin user list\nloci admin user list --json",
		Args:    command.ExactArgs(),
	}, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		list, err := a.ListUsers(ctx)
		return adminResult{shown: list}, err
	})
}

func (c commands) showUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show a user with plan, usage and workspaces",
		Long: "Shows a user with plan, usage, workspaces and roles, and the number of keys, signed-in browsers and " +
			"pending invitations.\nIt shows no secret and no text of a memory. A running server saves its count of " +
			"operations every 20 seconds.",
		Example: "loci admin user show --email ada@example.org\nloci admin user show --email ada@example.org --json",
		Args:    command.ExactArgs(),
	}
	email := emailFlag(cmd, "The user's address")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		u, err := a.ShowUser(ctx, *email)
		return adminResult{shown: u}, err
	})
}

// disableUser returns the command that disables a user, or the one that enables it again.
func (c commands) disableUser(disable bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enable",
		Short: "Admit a disabled user again",
		Long: "Admits a disabled user again, with the same keys, signed-in browsers, password and memberships. A " +
			"running server follows within\ntwo seconds.",
		Example: "loci admin user enable --email ada@example.org",
		Args:    command.ExactArgs(),
	}
	done := "enabled: keys, browsers and password work again"
	if disable {
		cmd.Use, cmd.Short = "disable", "Refuse a user without deleting anything"
		cmd.Long = "Refuses every credential of a user: keys and browsers get 403 revoked, and a sign-in fails as " +
			"for an unknown\naddress. Nothing is deleted, and memberships stay; loci admin user enable takes it " +
			"back. A running server follows within\ntwo seconds."
		cmd.Example = "loci admin user disable --email ada@example.org"
		done = "disabled: keys, browsers and password are refused"
	}
	email := emailFlag(cmd, "The user's address")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		u, err := a.DisableUser(ctx, *email, disable)
		return adminResult{object: map[string]any{"userId": u.ID, "disabled": disable},
			text: fmt.Sprintf("The user %s is %s.\n", u.Email, done)}, err
	})
}

func (c commands) deleteUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete a user with the personal workspace",
		Long: "Deletes a user as the person could: keys, browsers, memberships, the invitations to the address, " +
			"and the personal\nworkspace with its memories. What the user wrote in the teams of others stays, and " +
			"the address is free at once. The\nowner of a team is refused. A server erases the memories in the " +
			"background; loci admin user purge erases every byte.\nThe command counts first and asks on a terminal; " +
			"elsewhere it needs --yes.",
		Example: "loci admin user delete --email ada@example.org\nloci admin user delete --email ada@example.org " +
			"--yes --json",
		Args: command.ExactArgs(),
	}
	email := emailFlag(cmd, "The user's address")
	return c.destroy(cmd, deleting,
		func(ctx context.Context, a *server.Admin, _ []string, yes bool) (fmt.Stringer, error) {
			return a.DeleteUser(ctx, *email, yes)
		})
}
