package attachment

import (
	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/output"
)

// An attachmentList is the object of loci attachment list.
type attachmentList struct {
	Attachments []loci.Attachment `json:"attachments" show:"columns=id fileName:16 size mimeType:12 createdAt"`
}

func (o Options) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list <memory-id>",
		Short:   "List the files of a memory",
		Example: "loci attachment list " + exampleID + "\nloci attachment list 3f9c2a7b --json",
		Args:    command.ExactArgs("<memory-id>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withSession(cmd.Context(), false, func(s *Session) error {
				list, err := s.attachments(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				err = o.print(attachmentList{list})
				if width, _ := o.Console.Terminal(o.Console.Out); err == nil && width > 0 && len(list) > 0 {
					o.Console.PrintNote("A part of an id needs the memory: loci attachment get ID --memory " + args[0])
				}
				return err
			})
		},
	}
}

// print prints an object as an operation does.
func (o Options) print(v any) error { return (&output.Printer{Console: o.Console}).PrintAnswer(v) }
