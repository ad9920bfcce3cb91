package attachment

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/cli/records"
)

// A remover is the command that deletes files.
type remover struct {
	Options
	memory string
	yes    bool
}

func (o Options) removeCommand() *cobra.Command {
	r := &remover{Options: o}
	cmd := &cobra.Command{
		Use:   "remove <attachment-id>...",
		Short: "Delete files of memories, for good",
		Example: "loci attachment remove 3f9c2a7b --memory 5c07d9e2\n" +
			"loci attachment remove 3f9c2a7b 8d1e60b4 --memory 5c07d9e2 --yes",
		Args: atLeastOne("<attachment-id>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !r.yes {
				if err := o.Console.RequireTerminal(cmd.CommandPath()); err != nil {
					return err
				}
			}
			return o.withSession(cmd.Context(), true, func(s *Session) error { return r.run(cmd.Context(), s, args) })
		},
	}
	cmd.Flags().StringVar(&r.memory, "memory", "", "The `ID` of the memory of the files: parts of their ids do then")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "Do not ask for confirmation")
	return cmd
}

func (r *remover) run(ctx context.Context, s *Session, ids []string) error {
	found, err := s.find(ctx, r.memory, ids)
	if err != nil {
		return err
	}
	if !r.yes {
		if err := r.Console.Confirm(ctx, question(found)); err != nil {
			return err
		}
	}
	in := loci.DeleteAttachments{}
	for _, a := range found {
		in.AttachmentIDs = append(in.AttachmentIDs, a.ID)
	}
	out, err := records.Do[loci.BulkResults](ctx, s.Reader, "attachment.delete", in)
	if err != nil {
		return err
	}
	return (&output.Printer{Console: r.Console}).PrintOutput(s.Table.Op("attachment.delete"), out)
}

// question names the files that would be deleted.
func question(found []loci.Attachment) string {
	names := make([]string, len(found))
	for i, a := range found {
		names[i] = string(a.ID)
		if a.FileName != "" {
			names[i] = fmt.Sprintf("%q (%s)", clean(a.FileName), a.ID)
		}
	}
	if len(names) == 1 {
		return "Delete the file " + names[0]
	}
	return fmt.Sprintf("Delete %d files: %s", len(names), format.Enumerate(names))
}
