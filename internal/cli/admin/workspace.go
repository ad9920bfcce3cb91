package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) listWorkspaces() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workspaces of all users, or of one",
		Long: "Lists workspaces, oldest first, with their owners and the numbers of members, atlases, memories and " +
			"bytes.\nIt shows no text of a memory.",
		Example: "loci admin workspace list\nloci admin workspace list --email ada@example.org --json",
		Args:    command.ExactArgs(),
	}
	email := cmd.Flags().String("email", "", "Only workspaces of which the user with this address is a member")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		list, err := a.ListWorkspaces(ctx, *email)
		return adminResult{shown: list}, err
	})
}

func (c commands) showWorkspace() *cobra.Command {
	return c.adminCommand(&cobra.Command{
		Use:   "show ID",
		Short: "Show a workspace with its members and atlases",
		Long: "Shows a workspace with its members and their roles, its atlases, and the number of pending " +
			"invitations. ID is the id of the\nworkspace (loci admin workspace list), or at least its first 8 " +
			"characters. It shows no text of a memory.",
		Example: "loci admin workspace show 3f9c2a7b\n" +
			"loci admin workspace show 3f9c2a7b --json",
		Args: command.ExactArgs("ID"),
	}, func(ctx context.Context, a *server.Admin, args []string) (adminResult, error) {
		w, err := a.ShowWorkspace(ctx, args[0])
		return adminResult{shown: w}, err
	})
}
