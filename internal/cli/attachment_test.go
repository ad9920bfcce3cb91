package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/oauthclient"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// newRealTerminal returns a terminal with the operations of Loci, and with a database on this device.
func newRealTerminal(t *testing.T, environ ...string) *testTerminal {
	t.Helper()
	d := newTestTerminal(t, environ...)
	d.deps.table, d.deps.openLocal = service.Ops, openLocal
	return d
}

// startRealServer starts a server, and returns its address and a key of a new user.
func startRealServer(t *testing.T) (address, key string) {
	t.Helper()
	free := testenv.Must(testenv.FreeAddress())(t)
	s, _, err := server.Load(map[string]string{"data": t.TempDir(), "listen": free, "log-level": "error",
		"drain": "0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	admin := testenv.Must(server.OpenAdmin(t.Context(), s))(t)
	const email = "ada@example.org"
	_ = testenv.Must(admin.CreateUser(t.Context(), email, "", ""))(t)
	made := testenv.Must(admin.CreateKey(t.Context(), email, ""))(t)
	testenv.NoError(t, admin.Close())
	_, stop, err := server.Start(s, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	return "http://" + free, made.APIKey
}

// runJSON runs a command with --json and decodes its object.
func runJSON[T any](t *testing.T, d *testTerminal, args ...string) (out T) {
	t.Helper()
	d.expectRun(t, exitOK, "", append(args, "--json")...)
	if err := json.Unmarshal(d.out.Bytes(), &out); err != nil {
		t.Fatalf("%q: %v %s", args, err, d.out.String())
	}
	return out
}

// exerciseAttachments adds, lists, downloads and deletes a file.
func exerciseAttachments(t *testing.T, d *testTerminal) {
	t.Helper()
	dir := t.TempDir()
	content := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	path := filepath.Join(dir, "plan.bin")
	testenv.NoError(t, os.WriteFile(path, content, 0o600))
	m := runJSON[loci.CreatedMemory](t, d, "memory", "create", "--content", "The plan.").Memory.ID
	added := runJSON[struct{ Attachments []loci.Attachment }](t, d, "attachment", "add", path, "--memory",
		string(m)[:23]).Attachments
	if len(added) != 1 || added[0].FileName != "plan.bin" || added[0].Size != 3<<20 {
		t.Fatalf("%+v", added)
	}
	id := string(added[0].ID)
	d.expectRun(t, exitOK, "ATTACHMENTS\n", "memory", "get", string(m))
	testenv.Contains(t, d.out.String(), "plan.bin")
	testenv.Contains(t, d.out.String(), "\n\nThe plan.")
	testenv.Equal(t, d.completions(t, "attachment get --memory "+string(m)+" "), id[28:]+"\tplan.bin |")
	testenv.Contains(t, d.completions(t, "attachment get "), "Name the memory of the file first")
	out := filepath.Join(dir, "out")
	d.expectRun(t, exitOK, "", "attachment", "get", id[:23], "--memory", string(m), "-o", out)
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if code := d.run("attachment", "get", id, "-o", "-"); code != exitOK || !bytes.Equal(d.out.Bytes(), content) ||
		d.err.Len() > 0 {
		t.Errorf("%d, %d bytes %s", code, d.out.Len(), d.err.String())
	}
	d.in = bytes.NewReader(content[:1000])
	d.expectRun(t, exitOK, "../s (1000 bytes)", "attachment", "add", "-", "--name", "../s", "--memory", string(m))
	d.expectRun(t, exitUsage, "", "attachment", "remove", id)
	d.expectRun(t, exitOK, "", "attachment", "remove", id, "--yes")
	if code := d.run("attachment", "get", id, "-o", "-"); code != exitFailure ||
		!strings.Contains(d.err.String(), "not_found") || d.out.Len() > 0 {
		t.Errorf("a deleted file: %d %s", code, d.err.String())
	}
	left := runJSON[struct{ Attachments []loci.Attachment }](t, d, "attachment", "list", string(m)).Attachments
	if len(left) != 1 || left[0].FileName != "../s" {
		t.Errorf("%+v", left)
	}
}

func TestAttachmentsOnThisDevice(t *testing.T) {
	t.Parallel()
	exerciseAttachments(t, newRealTerminal(t))
}

func TestAttachmentsOfServer(t *testing.T) {
	t.Parallel()
	address, key := startRealServer(t)
	exerciseAttachments(t, newRealTerminal(t, "LOCI_URL="+address, "LOCI_API_KEY="+key))
	repeatBrokenUpload(t, testenv.Must(client.New(address, client.WithKey(key)))(t))
}

// repeatBrokenUpload ends an upload in its middle, repeats it at the same address, and downloads the end of the file.
func repeatBrokenUpload(t *testing.T, c *client.Client) {
	t.Helper()
	content := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	m := testenv.Must(c.MemoryCreate(t.Context(), loci.CreateMemory{Content: "The log."}))(t).Memory
	up := testenv.Must(c.AttachmentUpload(t.Context(), loci.UploadAttachment{MemoryID: m.ID, FileName: "log.bin",
		Size: loci.FileSize(len(content)), MIMEType: "application/octet-stream"}))(t)
	sendHalf(t, up, content)
	id := loci.GetAttachment{AttachmentID: up.Attachment.ID}
	if _, err := c.AttachmentConfirm(t.Context(), id); !loci.Is(err, loci.CodeUploadMissing) {
		t.Errorf("half of a file is stored: %v", err)
	}
	testenv.NoError(t, c.PutFile(t.Context(), up, bytes.NewReader(content)))
	added := testenv.Must(c.AttachmentConfirm(t.Context(), id))(t).Attachment
	address := testenv.Must(c.AttachmentDownload(t.Context(), id))(t).URL
	const offset = 3<<18 + 1
	f := testenv.Must(c.GetFile(t.Context(), address, offset, `"`+added.SHA256+`"`))(t)
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || f.Offset != offset || !bytes.Equal(got, content[offset:]) {
		t.Errorf("%d bytes from byte %d on, %v", len(got), f.Offset, err)
	}
}

// sendHalf sends the first half of a file, and waits until the server has ended the connection.
func sendHalf(t *testing.T, up loci.Upload, content []byte) {
	t.Helper()
	at := testenv.Must(url.Parse(up.UploadURL))(t)
	conn := testenv.Must(net.Dial("tcp", at.Host))(t)
	defer conn.Close()
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", up.Method, at.RequestURI(), at.Host,
		len(content))
	for name, value := range up.Headers {
		head += name + ": " + value + "\r\n"
	}
	_ = testenv.Must(conn.Write(append([]byte(head+"\r\n"), content[:len(content)/2]...)))(t)
	testenv.NoError(t, conn.(*net.TCPConn).CloseWrite())
	if answer := testenv.Must(io.ReadAll(conn))(t); !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) {
		t.Errorf("half of a file: %.200q", answer)
	}
}

// signIn stores a login by browser at a server.
func (d *testTerminal) signIn(t *testing.T, url string) {
	t.Helper()
	_, _, err := d.profile().Save(t.Context(), profile.Login{URL: url, UserID: fakeID,
		Client: &oauthclient.Client{ID: "c", Issuer: url, Token: url + "/oauth/token"},
		Tokens: &oauthclient.Tokens{Access: "a", Refresh: "r", ExpiresAt: time.Now().Add(time.Hour)}})
	testenv.NoError(t, err)
}

func TestFilesNeedLoginForEverything(t *testing.T) {
	t.Parallel()
	d := newRealTerminal(t)
	const url = "http://127.0.0.1:1"
	d.signIn(t, url)
	for _, line := range []string{"attachment add x --memory " + fakeID, "attachment get " + fakeID,
		"attachment remove --yes " + fakeID, "file exchange"} {
		d.expectRun(t, exitFailure, "loci login "+url+" and allow everything", strings.Fields(line)...)
	}
}

func TestAttachmentHasFourCommands(t *testing.T) {
	t.Parallel()
	d := newRealTerminal(t)
	d.expectRun(t, 2, "unknown command", "attachment", "upload")
	d.expectRun(t, 0, "\n  add     Upload", "attachment", "--help")
}
