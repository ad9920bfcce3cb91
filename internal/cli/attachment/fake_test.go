package attachment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

const memoryID = "01890000-0000-7000-8000-000000000001"

// A fakeServer has the files of one memory, and moves their bytes.
type fakeServer struct {
	list    []loci.Attachment
	content map[loci.ID][]byte
	deleted []loci.ID
	refusal error // of announcements

	puts    []func(u loci.Upload, body io.Reader) error // in place of the next uploads
	breaks  []int                                       // after how many bytes the next downloads break
	offsets []int64                                     // of the downloads so far
	etag    string                                      // of downloads; "" is the checksum
	began   func()                                      // called by each download
}

func checksum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// store adds an active file.
func (s *fakeServer) store(name string, content []byte) loci.ID {
	a := loci.Attachment{ID: loci.NewID(time.Now()), FileName: name, Size: int64(len(content)),
		SHA256: checksum(content), Status: loci.AttachmentActive, MIMEType: "text/plain"}
	s.list = append(s.list, a)
	s.put(a.ID, content)
	return a.ID
}

func (s *fakeServer) put(id loci.ID, content []byte) {
	if s.content == nil {
		s.content = map[loci.ID][]byte{}
	}
	s.content[id] = content
}

// find returns a file that was announced and not deleted.
func (s *fakeServer) find(id loci.ID) (*loci.Attachment, error) {
	for i := range s.list {
		if s.list[i].ID == id {
			return &s.list[i], nil
		}
	}
	return nil, loci.NewError(loci.CodeNotFound)
}

func (s *fakeServer) Get(_ context.Context, _ *identity.Actor, in loci.GetMemory) (out loci.MemoryDetail, err error) {
	if in.MemoryID != memoryID {
		return out, loci.NewError(loci.CodeNotFound)
	}
	return loci.MemoryDetail{Memory: loci.Memory{ID: memoryID, Tags: []string{}}, Attachments: s.list}, nil
}

func (s *fakeServer) List(context.Context, *identity.Actor, loci.ListMemories) (loci.Memories, error) {
	return loci.Memories{Memories: []loci.Memory{{ID: memoryID, Tags: []string{}}}}, nil
}

func (s *fakeServer) Upload(_ context.Context, _ *identity.Actor,
	in loci.UploadAttachment) (out loci.Upload, err error) {
	if s.refusal != nil {
		return out, s.refusal
	}
	out.Attachment = loci.Attachment{ID: loci.NewID(time.Now()), FileName: string(in.FileName), Size: int64(in.Size),
		MIMEType: string(in.MIMEType), SHA256: string(in.SHA256), Status: loci.AttachmentPending}
	out.UploadURL, out.Method, out.Headers = string(out.Attachment.ID), "PUT", map[string]string{}
	s.list = append(s.list, out.Attachment)
	return out, nil
}

func (s *fakeServer) Confirm(_ context.Context, _ *identity.Actor,
	in loci.GetAttachment) (out loci.OneAttachment, err error) {
	a, err := s.find(in.AttachmentID)
	switch {
	case err != nil:
		return out, err
	case s.content[a.ID] == nil:
		return out, loci.NewError(loci.CodeUploadMissing)
	case checksum(s.content[a.ID]) != a.SHA256:
		return out, loci.Errorf(loci.CodeStateConflict, "The file has another checksum than was announced.")
	}
	a.Status = loci.AttachmentActive
	return loci.OneAttachment{Attachment: *a}, nil
}

func (s *fakeServer) Download(_ context.Context, _ *identity.Actor, in loci.GetAttachment) (loci.Download, error) {
	_, err := s.find(in.AttachmentID)
	return loci.Download{URL: string(in.AttachmentID)}, err
}

func (s *fakeServer) Delete(_ context.Context, _ *identity.Actor,
	in loci.DeleteAttachments) (out loci.BulkResults, err error) {
	for _, id := range in.AttachmentIDs {
		r := loci.BulkResult{ID: id, OK: true}
		if _, err := s.find(id); err != nil {
			r = loci.BulkResult{ID: id, Code: loci.CodeNotFound}
		}
		s.deleted, out.Results = append(s.deleted, id), append(out.Results, r)
	}
	return out, nil
}

var errBroken = &loci.Error{Code: loci.CodeUnavailable, Message: "The connection broke."}

func (s *fakeServer) PutFile(_ context.Context, u loci.Upload, body io.Reader) error {
	if len(s.puts) > 0 {
		next := s.puts[0]
		s.puts = s.puts[1:]
		return next(u, body)
	}
	return s.receive(u, body)
}

// receive stores a whole body.
func (s *fakeServer) receive(u loci.Upload, body io.Reader) error {
	content, err := io.ReadAll(body)
	if err == nil && s.content[u.Attachment.ID] != nil {
		err = loci.Errorf(loci.CodeStateConflict, "The file was uploaded already: confirm it.")
	}
	if err == nil {
		s.put(u.Attachment.ID, content)
	}
	return err
}

// breakAfter returns an upload whose connection breaks after n bytes.
func breakAfter(n int64) func(loci.Upload, io.Reader) error {
	return func(_ loci.Upload, body io.Reader) error {
		_, _ = io.CopyN(io.Discard, body, n)
		return errBroken
	}
}

func (s *fakeServer) GetFile(_ context.Context, address string, offset int64, etag string) (*client.File, error) {
	s.offsets = append(s.offsets, offset)
	a, err := s.find(loci.ID(address))
	if err != nil {
		return nil, err
	}
	if s.began != nil {
		s.began()
	}
	content := s.content[a.ID]
	f := &client.File{Size: int64(len(content)), Name: a.FileName, ETag: s.etag}
	if f.ETag == "" {
		f.ETag = `"` + a.SHA256 + `"`
	}
	if etag == "" || etag == f.ETag {
		f.Offset = offset
	}
	var body io.Reader = bytes.NewReader(content[f.Offset:])
	if len(s.breaks) > 0 {
		body = io.MultiReader(io.LimitReader(body, int64(s.breaks[0])), brokenReader{})
		s.breaks = s.breaks[1:]
	}
	f.ReadCloser = io.NopCloser(body)
	return f, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func (s *fakeServer) table() *op.Table {
	t := &op.Table{}
	op.Add(t, "memory.get", "GET /v1/memories/{memoryId}", "Read.", op.Account, op.ToolCore, (*fakeServer).Get)
	op.Add(t, "memory.list", "GET /v1/memories", "List.", op.Account, op.ToolCore, (*fakeServer).List)
	op.Add(t, "attachment.upload", "POST /upload", "Announce.", op.File, op.NoTool, (*fakeServer).Upload, op.Creates)
	op.Add(t, "attachment.confirm", "POST /confirm", "Confirm.", op.File, op.NoTool, (*fakeServer).Confirm)
	op.Add(t, "attachment.download", "GET /download", "Get.", op.File, op.NoTool, (*fakeServer).Download)
	op.Add(t, "attachment.delete", "POST /delete", "Delete.", op.File, op.NoTool, (*fakeServer).Delete, op.Destructive)
	return t
}

// A terminal runs commands against a fake server.
type terminal struct {
	*fakeServer
	in       io.Reader
	out, err bytes.Buffer
}

// run runs one command line.
func (d *terminal) run(ctx context.Context, args ...string) error {
	d.out.Reset()
	d.err.Reset()
	c := &console.Console{In: d.in, Out: &d.out, Err: &d.err}
	if d.in == nil {
		c.In = strings.NewReader("")
	}
	host := &op.Host{Service: d.fakeServer, Log: slog.New(slog.DiscardHandler),
		Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) {
			return &identity.Actor{UserID: "ann", CredentialKind: identity.CredentialLocal}, nil
		}}
	root := &cobra.Command{Use: "loci", SilenceUsage: true, SilenceErrors: true}
	root.PersistentFlags().BoolVar(&c.JSON, "json", false, "")
	root.AddCommand(Command(Options{Console: c, Explain: loci.AsError,
		Open: func(context.Context, bool) (*Session, error) {
			return &Session{Reader: records.Reader{Caller: host, Table: d.table()}, Files: d.fakeServer,
				Close: func() error { return nil }}, nil
		}}))
	root.SetArgs(append([]string{"attachment"}, args...))
	return root.ExecuteContext(ctx)
}

func newTerminal() *terminal { return &terminal{fakeServer: &fakeServer{}} }

// expectUsageError runs a command line that is refused before anything is called.
func (d *terminal) expectUsageError(t *testing.T, want string, args ...string) {
	t.Helper()
	var usage command.UsageError
	if err := d.run(t.Context(), args...); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
		t.Errorf("%q: %v, want %s", args, err, want)
	}
}
