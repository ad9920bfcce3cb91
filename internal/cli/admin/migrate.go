package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) migrate() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Upgrade the schema of the database",
		Long: "Upgrades the schema of the database to that of this program, as loci serve does when it starts. It " +
			"takes as long as it\n" +
			"needs. Stop the servers first, and make a backup.",
		Example: "loci admin migrate --dry-run\nloci admin migrate",
		Args:    command.ExactArgs(),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "List the migrations that are pending, and run none")
	return c.settingsCommand(cmd, func(ctx context.Context, s server.Settings, _ []string) (o adminResult, err error) {
		if err := s.RequireDatabase(ctx); err != nil {
			return o, err
		}
		m, err := s.Migrate(ctx, dryRun)
		return adminResult{object: m, text: migrationText(m)}, err
	})
}

func migrationText(m server.Migration) string {
	if len(m.Pending) == 0 {
		return fmt.Sprintf("The schema is %d, the newest one.\n", m.Current)
	}
	begin := fmt.Sprintf("The schema is %d; loci admin migrate makes it %d", m.Current, m.Latest)
	if m.Migrated {
		begin = fmt.Sprintf("The schema was %d and is %d now", m.Current, m.Latest)
	}
	return begin + ":\n  " + strings.Join(m.Pending, "\n  ") + "\n"
}
