package attachment

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/resolve"
)

// Files moves the bytes of files between this process and a server, or the database on this device.
type Files interface {
	PutFile(ctx context.Context, u loci.Upload, body io.Reader) error
	GetFile(ctx context.Context, address string, offset int64, etag string) (*client.File, error)
}

// A Session is an open target.
type Session struct {
	records.Reader
	Files Files
	Close func() error
}

// Options are what the commands need from the program.
type Options struct {
	Console *console.Console
	// Open opens the target: for records alone, or for files too.
	Open func(ctx context.Context, files bool) (*Session, error)
	// Explain returns an error with a message for the command line.
	Explain func(error) *loci.Error
}

// exampleID is the id in the examples of help pages.
const exampleID = "3f9c2a7b"

// Command returns loci attachment.
func Command(o Options) *cobra.Command {
	group := command.Group("attachment", "Keep files with memories")
	group.AddCommand(o.addCommand(), o.listCommand(), o.getCommand(), o.removeCommand())
	return group
}

// atLeastOne requires one or more arguments of this name.
func atLeastOne(word string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.Missing(c, word)
		}
		return nil
	}
}

// withSession opens the target, and closes it at the end of run.
func (o Options) withSession(ctx context.Context, files bool, run func(*Session) error) error {
	s, err := o.Open(ctx, files)
	if err != nil {
		return err
	}
	err = run(s)
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

// attachments returns the files of a memory.
func (s *Session) attachments(ctx context.Context, memory string) ([]loci.Attachment, error) {
	m, err := records.Do[loci.MemoryDetail](ctx, s.Reader, "memory.get", loci.GetMemory{MemoryID: loci.ID(memory)})
	return m.Attachments, err
}

// find returns the files with these ids. With a memory, it accepts parts of ids and knows all properties. Without,
// it knows the ids alone.
func (s *Session) find(ctx context.Context, memory string, ids []string) ([]loci.Attachment, error) {
	var list []loci.Attachment
	if memory != "" {
		var err error
		if list, err = s.attachments(ctx, memory); err != nil {
			return nil, err
		}
	}
	found := make([]loci.Attachment, len(ids))
	for i, text := range ids {
		id := strings.ToLower(text)
		switch {
		case memory != "":
			var err error
			if found[i], err = match(list, id); err != nil {
				return nil, err
			}
		case loci.ID(id).Valid():
			found[i].ID = loci.ID(id)
		default:
			return nil, loci.Errorf(loci.CodeInvalidQuery, "An attachment is named by its whole id, or with --memory "+
				"by the first or last characters of it: %s is none", text)
		}
	}
	return found, nil
}

// match returns the one file whose id has a text as a part.
func match(list []loci.Attachment, text string) (loci.Attachment, error) {
	r, err := resolve.Find("attachment", text, func(yield func(resolve.Record, error) bool) {
		for _, a := range list {
			if !yield(resolve.Record{ID: a.ID, Name: a.FileName}, nil) {
				return
			}
		}
	})
	if err != nil {
		return loci.Attachment{}, err
	}
	return list[slices.IndexFunc(list, func(a loci.Attachment) bool { return a.ID == r.ID })], nil
}

// clean returns a foreign name for a terminal.
func clean(name string) string { return format.StripControl(name, false) }

// errorLine returns the text of an error for a line of the terminal.
func (o Options) errorLine(e *loci.Error) string {
	text := strings.TrimSuffix(clean(e.Message), ".")
	if e.Code == loci.CodeInternalError {
		return text
	}
	return text + " (" + string(e.Code) + ")"
}

// pauses are the pauses before the repetitions of a broken transfer.
var pauses = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second}

// maxWait is the longest pause that a server may ask for.
const maxWait = 2 * time.Minute

// isTemporary reports whether a transfer that failed may be repeated.
func isTemporary(e *loci.Error) bool {
	switch e.Code {
	case loci.CodeUnavailable, loci.CodeRateLimited:
		return e.RetryAfter <= maxWait
	case loci.CodeStateConflict: // another upload to the address is running
		return e.RetryAfter > 0 && e.RetryAfter <= maxWait
	}
	return false
}

// repeat calls f until it succeeds, fails for good, or fails too often without moving a byte that counts.
func repeat(ctx context.Context, again func(*loci.Error) bool, f func() (moved bool, err error)) error {
	for try := 0; ; try++ {
		moved, err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case moved:
			try = 0
		}
		e := loci.AsError(err)
		if try == len(pauses) || !again(e) {
			return err
		}
		if !contextio.Sleep(ctx, max(pauses[try], e.RetryAfter)) {
			return ctx.Err()
		}
	}
}
