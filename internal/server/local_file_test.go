package server

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/service"
)

// callLocal runs an operation on a local database.
func callLocal[Out any](t *testing.T, l *Local, o *op.Op, in any) (out Out) {
	t.Helper()
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := l.Host.Call(t.Context(), o, &op.Call{Transport: "command"}, op.Args{JSON: input})
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(o.Name, err)
	}
	return out
}

func TestLocalStoresAndOpensFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLocal(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := os.Stat(filepath.Join(dir, backup.FilesFolder)); err == nil {
		t.Error("a database without files has a folder for them")
	}
	m := callLocal[loci.CreatedMemory](t, l, service.MemoryCreate.Op, loci.CreateMemory{Content: "x"})
	up := callLocal[loci.Upload](t, l, service.AttachmentUpload.Op, loci.UploadAttachment{MemoryID: m.Memory.ID,
		FileName: "a b.txt", Size: 5, MIMEType: "text/plain"})
	if err := l.PutFile(t.Context(), up, strings.NewReader("123456")); !loci.Is(err, loci.CodeForbidden) {
		t.Errorf("another length: %v", err)
	}
	if err := l.PutFile(t.Context(), up, strings.NewReader("12345")); err != nil {
		t.Fatal(err)
	}
	if err := l.PutFile(t.Context(), up, strings.NewReader("12345")); !loci.Is(err, loci.CodeStateConflict) {
		t.Errorf("a second upload: %v", err)
	}
	in := loci.GetAttachment{AttachmentID: up.Attachment.ID}
	callLocal[loci.OneAttachment](t, l, service.AttachmentConfirm.Op, in)
	down := callLocal[loci.Download](t, l, service.AttachmentDownload.Op, in)
	a, r, err := l.OpenFile(t.Context(), down.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if string(text) != "12345" || err != nil || a.FileName != "a b.txt" || r.Close() != nil {
		t.Errorf("%q %v %+v", text, err, a)
	}
	for name, address := range map[string]string{"an upload": up.UploadURL, "no address": "\x00",
		"another server": strings.Replace(down.URL, "localhost", "example.org", 1), "a change": down.URL + "x"} {
		if _, _, err := l.OpenFile(t.Context(), address); !loci.Is(err, loci.CodeForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
