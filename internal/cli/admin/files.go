package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/server/filemove"
)

func (c commands) moveFiles() *cobra.Command {
	var o filemove.Options
	var from string
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Copy the files of memories to another file store",
		Long: "Copies the files of memories from the file store of the server (LOCI_BLOBS) to another one, and " +
			"compares each copy with its\n" +
			"checksum. The server may run meanwhile. Files that are there already are compared and not copied: an " +
			"interrupted run\n" +
			"continues, and a second one copies what came since. Nothing is deleted at the source, and nothing is " +
			"replaced.\n\n" +
			"Then set LOCI_BLOBS to the other store, restart the servers, and run the command once more with --from, " +
			"for the files that\nwere uploaded in between. The keys of a bucket are in the variables of AWS.",
		Example: "loci admin files move --to 's3://bucket/loci?region=eu-central-1' --dry-run\n" +
			"loci admin files move --to 's3://bucket/loci?region=eu-central-1'\n" +
			"loci admin files move --from file --to 's3://bucket/loci?region=eu-central-1'\n" +
			"loci admin files move --to file",
		Args: command.ExactArgs(),
	}
	to := requiredFlag(cmd, "to",
		"The other file store: s3://BUCKET/PREFIX with parameters, or file (in the data folder)")
	cmd.Flags().StringVar(&from, "from", "", "The file store to copy from; default: that of the server")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "Count what would be copied, and copy nothing")
	return c.adminCommand(cmd, func(ctx context.Context, a *server.Admin, _ []string) (adminResult, error) {
		b := c.Progress("MiB")
		o.Progress = b.UpdateBytes
		r, err := a.CopyFiles(ctx, from, *to, o)
		if b.Clear(); err != nil {
			return adminResult{}, err
		}
		out := adminResult{object: r, text: moveText(r), failed: len(r.Failed) > 0}
		if !r.DryRun && !out.failed && from == "" {
			out.hint = fmt.Sprintf("loci: set LOCI_BLOBS='%s' and restart the servers. Then run this command with "+
				"--from '%s' once more.\n", *to, a.FileStore())
		}
		return out, nil
	})
}

// moveText describes the result of a move.
func moveText(r filemove.Result) string {
	var text strings.Builder
	for _, f := range r.Failed {
		fmt.Fprintf(&text, "%s: %s\n", f.ID, f.Reason)
	}
	did := "Copied"
	if r.DryRun {
		did = "This would copy"
	}
	fmt.Fprintf(&text, "%s %s (%.1f MiB) from the %s to the %s.", did, format.Plural(r.Copied, "file", "files"),
		float64(r.CopiedBytes)/(1<<20), r.From, r.To)
	for _, x := range []struct {
		n         int64
		one, many string
	}{{r.Present, "file was there already", "files were there already"},
		{r.Skipped, "file belongs to no attachment", "files belong to no attachment"},
		{int64(len(r.Failed)), "file was not copied", "files were not copied"}} {
		if x.n > 0 {
			fmt.Fprintf(&text, " %s.", format.Plural(x.n, x.one, x.many))
		}
	}
	return text.String() + "\n"
}
