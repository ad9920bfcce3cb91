package attachment

import (
	"context"
	"fmt"
	"mime"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
)

// stream is the argument that names the standard input or output.
const stream = "-"

// An adder is the command that uploads files.
type adder struct {
	Options
	memory, name, mimeType string
}

// An addReport is the object of loci attachment add.
type addReport struct {
	OK          bool              `json:"ok"` // all files were added
	Attachments []loci.Attachment `json:"attachments"`
	Errors      []fileError       `json:"errors"`
}

// A fileError is the error of one file.
type fileError struct {
	File    string    `json:"file"`
	Code    loci.Code `json:"code"`
	Message string    `json:"message"`
}

func (o Options) addCommand() *cobra.Command {
	a := &adder{Options: o}
	cmd := &cobra.Command{
		Use:   "add FILE... --memory ID",
		Short: "Upload files to a memory",
		Long: "Uploads files to a memory. A file keeps its name, and must not change meanwhile. After a broken\n" +
			"connection the whole file is sent again, up to 3 times. The checksum is compared at the end.\n" +
			"- reads a stream from the standard input. If a file fails the others are still uploaded, and the\n" +
			"exit code is 1.",
		Example: "loci attachment add plan.pdf --memory " + exampleID + "\n" +
			"loci attachment add *.png --memory 3f9c2a7b\n" +
			"pg_dump shop | gzip | loci attachment add - --memory 3f9c2a7b --name shop.sql.gz",
		Args: atLeastOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.check(cmd, args); err != nil {
				return err
			}
			return o.withSession(cmd.Context(), true, func(s *Session) error { return a.run(cmd.Context(), s, args) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.memory, "memory", "", "The `ID` of the memory (required)")
	f.StringVar(&a.name, "name", "", "Store the file under this `NAME`; a stream needs one")
	f.StringVar(&a.mimeType, "type", "", "The media type, such as image/png (default: by the end of the name)")
	return cmd
}

// check returns the error of a command line that is incomplete.
func (a *adder) check(cmd *cobra.Command, files []string) error {
	streams := len(slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f != stream }))
	switch {
	case a.memory == "":
		return command.Missing(cmd, "--memory")
	case streams > 1:
		return command.UsageError("only one file can be -: the standard input is read once")
	case a.name != "" && len(files) > 1:
		return command.UsageError("--name is the name of one file: add the others without it")
	case streams > 0 && a.name == "":
		return command.UsageError("a stream has no name: give it one with --name")
	}
	return nil
}

// run uploads the files, and goes on after one that fails.
func (a *adder) run(ctx context.Context, s *Session, files []string) error {
	report := addReport{Attachments: []loci.Attachment{}, Errors: []fileError{}}
	var ended error
	for _, file := range files {
		added, err := a.add(ctx, s, file)
		if ended = ctx.Err(); ended != nil {
			break
		}
		if err == nil {
			report.Attachments = append(report.Attachments, added)
			if err := a.printAdded(added); err != nil {
				return err
			}
			continue
		}
		e := a.Explain(err)
		if isCredentialError(e.Code) { // every other file would fail, too
			ended = err
			break
		}
		report.Errors = append(report.Errors, fileError{file, e.Code, e.Message})
		if !a.Console.JSON {
			a.Console.PrintMessage(clean(file) + ": " + a.errorLine(e))
		}
	}
	report.OK = ended == nil && len(report.Errors) == 0
	if a.Console.JSON && (ended == nil || len(report.Attachments)+len(report.Errors) > 0) {
		if err := a.Console.PrintJSON(report); err != nil {
			return err
		}
	}
	if ended == nil && !report.OK {
		return command.ErrReported
	}
	return ended
}

func isCredentialError(c loci.Code) bool {
	return slices.Contains([]loci.Code{loci.CodeMissingAPIKey, loci.CodeInvalidKey, loci.CodeRevoked}, c)
}

func (a *adder) printAdded(added loci.Attachment) error {
	if a.Console.JSON {
		return nil
	}
	_, err := fmt.Fprintf(a.Console.Out, "%s  %s (%s)\n", added.ID, clean(added.FileName), format.Bytes(added.Size))
	return err
}

// add uploads one file.
func (a *adder) add(ctx context.Context, s *Session, file string) (added loci.Attachment, err error) {
	src, err := a.open(ctx, file)
	if err != nil {
		return added, err
	}
	defer src.close()
	progress := a.Console.Progress("MiB  " + clean(src.name))
	defer progress.Clear()
	if err := src.measure(ctx); err != nil {
		return added, err
	}
	up, err := records.Do[loci.Upload](ctx, s.Reader, "attachment.upload", loci.UploadAttachment{
		MemoryID: loci.ID(a.memory), FileName: loci.FileName(src.name), Size: loci.FileSize(src.size),
		MIMEType: a.typeOf(src.name), SHA256: loci.SHA256(src.sha256)})
	if err != nil {
		return added, err
	}
	defer func() {
		if err != nil {
			s.withdraw(ctx, up.Attachment.ID)
		}
	}()
	if err := s.upload(ctx, up, src, progress.UpdateBytes); err != nil {
		return added, err
	}
	confirmed, err := records.Do[loci.OneAttachment](ctx, s.Reader, "attachment.confirm",
		loci.GetAttachment{AttachmentID: up.Attachment.ID})
	return confirmed.Attachment, err
}

// open opens a file, or copies the standard input to a file.
func (a *adder) open(ctx context.Context, file string) (*source, error) {
	if file == stream {
		return spool(ctx, a.Console.In, a.name)
	}
	name := a.name
	if name == "" {
		name = filepath.Base(file)
	}
	if !utf8.ValidString(name) {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "its name is not UTF-8: give it another one with --name")
	}
	return openSource(file, name)
}

// typeOf returns the media type of a file: that of the flag, or else that of the end of its name.
func (a *adder) typeOf(name string) loci.MIMEType {
	if a.mimeType != "" {
		return loci.MIMEType(a.mimeType)
	}
	if t := mime.TypeByExtension(filepath.Ext(name)); t != "" {
		return loci.MIMEType(t)
	}
	return "application/octet-stream"
}

// upload sends the bytes of a file. After a broken connection it sends all of them again.
func (s *Session) upload(ctx context.Context, up loci.Upload, src *source, progress func(done, total int64)) error {
	var r *sourceReader
	again := func(e *loci.Error) bool { // a server that saw a part of the body may call it invalid
		return r.err == nil && (isTemporary(e) || e.Code == loci.CodeInvalidQuery)
	}
	return repeat(ctx, again, func() (bool, error) {
		r = src.reader(func(n int64) { progress(n, src.size) })
		err := s.Files.PutFile(ctx, up, r)
		switch e := loci.AsError(err); {
		case r.err != nil:
			return false, r.err
		case err != nil && e.Code == loci.CodeStateConflict && e.RetryAfter == 0: // the upload before has arrived
			return false, nil
		}
		return false, err
	})
}

// withdrawTimeout bounds the deletion of an upload that has failed.
const withdrawTimeout = 10 * time.Second

// withdraw deletes an announced file that was not uploaded. If that fails it expires.
func (s *Session) withdraw(ctx context.Context, id loci.ID) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer end()
	_, _ = records.Do[loci.BulkResults](ctx, s.Reader, "attachment.delete",
		loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{id}})
}
