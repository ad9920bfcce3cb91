package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/server"
)

func (c commands) check() *cobra.Command {
	var repair bool
	var accept []string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare derived data with the memories",
		Long: "Compares the keyword index, the counters of atlases, the index of near duplicates and the links " +
			"between memories with the\n" +
			"rows of the memories, and checks whether every version can be read, all rows have their checksums, and " +
			"the rows to which\n" +
			"others refer are there. It looks for the file of each attachment, and for files without an attachment " +
			"that are older than a\n" +
			"day. With SQLite it checks the structure of the file too, with PostgreSQL the indexes by the extension " +
			"amcheck, where its\nrole may use that. It names kinds and ids, never a text. The server may run " +
			"meanwhile.\nThe exit code is 1 where something is wrong and was not repaired.",
		Example: "loci admin check\nloci admin check --repair --json\nloci admin check --repair --accept ID",
		Args:    command.ExactArgs(),
	}
	cmd.Flags().BoolVar(&repair, "repair", false,
		"Rebuild derived data where it is wrong, and delete files without an attachment; a damaged text stays "+
			"unchanged")
	cmd.Flags().StringSliceVar(&accept, "accept", nil,
		"With --repair: ids of findings. Their damaged rows stay as they are, and get the checksums of that")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		if len(accept) > 0 && !repair {
			return adminResult{}, command.UsageError("--accept needs --repair")
		}
		began, progress := time.Now(), c.Progress("")
		sum, err := a.Inspect(ctx, repair, accept, func(rows int64) {
			if time.Since(began) > time.Second {
				progress.Print(fmt.Sprintf("checked %d rows", rows))
			}
		})
		progress.Clear()
		if err != nil {
			return adminResult{}, err
		}
		var text strings.Builder
		for _, f := range sum.Inconsistencies {
			fmt.Fprintf(&text, "%s: %s", strings.TrimSpace(f.Kind+" "+f.ID), f.Detail)
			if f.Repair != "" {
				fmt.Fprintf(&text, " (%s)", f.Repair)
			}
			text.WriteString("\n")
		}
		for _, what := range sum.NotChecked {
			fmt.Fprintf(&text, "Not checked: %s.\n", what)
		}
		if more := sum.Found - int64(len(sum.Inconsistencies)); more > 0 {
			fmt.Fprintf(&text, "and %d more\n", more)
		}
		fmt.Fprintf(&text, "Checked %s in %s: %s, %d repaired.\n", format.Plural(sum.Memories, "memory", "memories"),
			format.Plural(sum.Workspaces, "workspace", "workspaces"),
			format.Plural(sum.Found, "inconsistency", "inconsistencies"), sum.Repaired)
		o := adminResult{object: sum, text: text.String(), failed: sum.Found > sum.Repaired}
		if o.failed && !repair {
			o.hint = "loci: --repair rebuilds derived data.\n"
		} else if o.failed {
			o.hint = "loci: inconsistencies that were not repaired remain: restore from a backup. What no backup " +
				"has, --accept accepts.\n"
		}
		return o, nil
	})
}
