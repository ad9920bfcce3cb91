package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/attachment"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
)

// attachment returns the commands for files of memories.
func (p *program) attachment() *cobra.Command {
	return attachment.Command(attachment.Options{Console: &p.Console, Open: p.openFiles, Explain: p.explain})
}

// explain returns an error with a message in the words of the command line.
func (p *program) explain(err error) *loci.Error {
	e := oneLineError(err)
	e.Message = p.errorText(e)
	return e
}

// openFiles opens the target for records alone, or for files too.
func (p *program) openFiles(ctx context.Context, files bool) (*attachment.Session, error) {
	t, err := p.resolveTarget()
	if err != nil {
		return nil, err
	}
	p.useTarget(t)
	if files {
		if err := t.checkFiles(); err != nil {
			return nil, err
		}
	}
	caller, end, err := p.openCaller(ctx, t, true)
	if err != nil {
		return nil, err
	}
	s := &attachment.Session{Reader: records.Reader{Caller: caller, Table: p.table}, Close: end}
	s.Files, _ = caller.(attachment.Files) // the callers of both targets move bytes
	return s, nil
}

// A device runs operations on the database of this device, and moves the bytes of files in this process.
type device struct {
	op.Caller
	*server.Local
}

// GetFile opens a file as a server does.
func (d device) GetFile(ctx context.Context, address string, offset int64, etag string) (*client.File, error) {
	a, r, err := d.OpenFile(ctx, address)
	if err != nil {
		return nil, err
	}
	f := &client.File{ReadCloser: r, Size: a.Size, Name: a.FileName, ETag: `"` + a.SHA256 + `"`}
	if etag == "" || etag == f.ETag {
		f.Offset, err = r.Seek(offset, io.SeekStart)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return f, nil
}

// PutFile sends the bytes of a file.
func (r remote) PutFile(ctx context.Context, u loci.Upload, body io.Reader) error {
	return r.client.PutFile(ctx, u, body)
}

// GetFile opens a file.
func (r remote) GetFile(ctx context.Context, address string, offset int64, etag string) (*client.File, error) {
	return r.client.GetFile(ctx, address, offset, etag)
}
