package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/server"
)

func (p *program) migrate() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Upgrade the schema of the database",
		Long: "Upgrades the schema of the database to that of this program, as loci serve does when it starts. It takes as long as it\n" +
			"needs. Stop the servers first, and make a backup.",
		Example: "loci admin migrate --dry-run\nloci admin migrate",
		Args:    exactly(),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "List the migrations that are pending, and run none")
	settings := p.settings(cmd, "data", "db")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := settings()
		if err == nil {
			err = s.Present(cmd.Context())
		}
		if err != nil {
			return err
		}
		m, err := s.Migrate(cmd.Context(), dry)
		if err != nil {
			return err
		}
		return p.conclude(outcome{object: m, text: migrated(m)})
	}
	return cmd
}

func migrated(m server.Migration) string {
	if len(m.Pending) == 0 {
		return fmt.Sprintf("The schema is %d, the newest one.\n", m.Have)
	}
	begin := fmt.Sprintf("The schema is %d; loci admin migrate makes it %d", m.Have, m.Newest)
	if m.Migrated {
		begin = fmt.Sprintf("The schema was %d and is %d now", m.Have, m.Newest)
	}
	return begin + ":\n  " + strings.Join(m.Pending, "\n  ") + "\n"
}
