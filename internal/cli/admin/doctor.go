package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/doctor"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) doctor() *cobra.Command {
	return c.settingsCommand(&cobra.Command{
		Use:   "doctor",
		Short: "Examine a server and what it depends on",
		Long: "Examines database, schema, disk, file store, age of the last backup, secrets, running server, public " +
			"address, clock,\n" +
			"mail server, file descriptors and proxies, and says what to do about each problem. It works beside a " +
			"running server and\n" +
			"without one: use its user and its variables. It deletes what it writes, and sends no mail. The exit " +
			"code\nis 1 if a check fails.",
		Example: "loci admin doctor --data /var/lib/loci\nloci admin doctor --json",
		Args:    command.ExactArgs(),
	}, func(ctx context.Context, s server.Settings, _ []string) (adminResult, error) {
		r := doctor.Run(ctx, s)
		return adminResult{object: r, text: format.StripControl(r.String(), true), failed: !r.OK}, nil
	})
}
