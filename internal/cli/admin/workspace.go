package admin

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/resolve"
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
		Use:   "show WORKSPACE",
		Short: "Show a workspace with its members and atlases",
		Long: "Shows a workspace with its members and their roles, its atlases, and the number of pending " +
			"invitations. WORKSPACE is its name, its id\n(loci admin workspace list), or 8 characters or more at the " +
			"beginning or end of the id. It shows no text of a memory.",
		Example: "loci admin workspace show Crew\n" +
			"loci admin workspace show 3f9c2a7b --json",
		Args: command.ExactArgs("WORKSPACE"),
	}, func(ctx context.Context, a *server.Admin, args []string) (adminResult, error) {
		found, err := findWorkspace(ctx, a, args[0])
		if err != nil {
			return adminResult{}, err
		}
		w, err := a.ShowWorkspace(ctx, found.ID)
		return adminResult{shown: w}, err
	})
}

// find returns the record of a list that a text names. A whole id is not looked up.
func find(resource, text string, list iter.Seq2[resolve.Record, error]) (resolve.Record, error) {
	if loci.ID(text).Valid() {
		return resolve.Record{ID: loci.ID(text)}, nil
	}
	return resolve.Find(resource, text, list)
}

// findWorkspace returns the workspace of all users that a text names.
func findWorkspace(ctx context.Context, a *server.Admin, text string) (resolve.Record, error) {
	return find("workspace", text, func(yield func(resolve.Record, error) bool) {
		all, err := a.ListWorkspaces(ctx, "")
		if err != nil {
			yield(resolve.Record{}, err)
		}
		for _, w := range all.Workspaces {
			if !yield(resolve.Record{ID: w.ID, Name: w.Name, Status: string(w.Status)}, nil) {
				return
			}
		}
	})
}
