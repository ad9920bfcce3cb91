package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/oauthclient"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/testenv"
)

// newRealTerminal returns a terminal with the operations of Loci, and with a database on this device.
func newRealTerminal(t *testing.T, environ ...string) *testTerminal {
	t.Helper()
	d := newTestTerminal(t, environ...)
	d.deps.table, d.deps.openLocal = service.Ops, openLocal
	return d
}

// A breakingProxy forwards connections to a server. It breaks one whose client has sent, or received, some bytes after
// the first line of a request for the bytes of a file.
type breakingProxy struct {
	net.Listener
	to string

	mu     sync.Mutex
	breaks map[string][]int // by method: after how many bytes the next transfers break
	seen   map[string]int   // transfers by method
}

func newBreakingProxy(t *testing.T) *breakingProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &breakingProxy{Listener: l, breaks: map[string][]int{}, seen: map[string]int{}}
}

func (p *breakingProxy) serve() {
	for {
		c, err := p.Accept()
		if err != nil {
			return
		}
		go p.forward(c)
	}
}

func (p *breakingProxy) forward(c net.Conn) {
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		c.Close()
		return
	}
	end := func() { c.Close(); s.Close() }
	var mu sync.Mutex
	left := map[string]int{} // until the connection breaks, by method
	pump := func(method string, from, to net.Conn, watch bool) {
		defer end()
		for buffer := make([]byte, 16<<10); ; {
			n, err := from.Read(buffer)
			if watch {
				for _, m := range []string{"PUT", "GET"} {
					if bytes.Contains(buffer[:n], []byte(m+" "+file.ObjectsPath)) {
						mu.Lock()
						left[m] = p.next(m)
						mu.Unlock()
					}
				}
			}
			mu.Lock()
			if left[method] > 0 {
				left[method] -= n
				if left[method] <= 0 {
					err = net.ErrClosed
				}
			}
			mu.Unlock()
			if err != nil {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	go pump("GET", s, c, false)
	pump("PUT", c, s, true)
}

// next returns the bytes of the next transfer, or 0 for one that does not break.
func (p *breakingProxy) next(method string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[method]++
	if list := p.breaks[method]; len(list) > 0 {
		n, p.breaks[method] = list[0], list[1:]
	}
	return n
}

// startRealServer starts a server whose clients reach it through the proxy, and returns a key of a new user.
func startRealServer(t *testing.T, p *breakingProxy) (address, key string) {
	t.Helper()
	free, err := testenv.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	address, p.to = "http://"+p.Addr().String(), free
	s, _, err := server.Load(map[string]string{"data": t.TempDir(), "listen": p.to, "public-url": address,
		"log-level": "error", "drain": "0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := server.OpenAdmin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	const email = "ada@example.org"
	if _, err := admin.CreateUser(t.Context(), email, "", ""); err != nil {
		t.Fatal(err)
	}
	made, err := admin.CreateKey(t.Context(), email, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Close(); err != nil {
		t.Fatal(err)
	}
	_, stop, err := server.Start(s, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	go p.serve()
	return address, made.APIKey
}

// runJSON runs a command with --json and decodes its object.
func runJSON[T any](t *testing.T, d *testTerminal, args ...string) (out T) {
	t.Helper()
	if code := d.run(append(args, "--json")...); code != exitOK {
		t.Fatalf("%q: %d %s", args, code, d.err.String())
	}
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
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	m := runJSON[loci.CreatedMemory](t, d, "memory", "create", "--content", "The plan.").Memory.ID
	added := runJSON[struct{ Attachments []loci.Attachment }](t, d, "attachment", "add", path, "--memory",
		string(m)[:23]).Attachments
	if len(added) != 1 || added[0].FileName != "plan.bin" || added[0].Size != 3<<20 {
		t.Fatalf("%+v", added)
	}
	id := string(added[0].ID)
	if code := d.run("memory", "get", string(m)); code != exitOK ||
		!strings.Contains(d.out.String(), "ATTACHMENTS\n") || !strings.Contains(d.out.String(), "plan.bin") ||
		!strings.Contains(d.out.String(), "\n\nThe plan.") {
		t.Errorf("%d %s%s", code, d.out.String(), d.err.String())
	}
	out := filepath.Join(dir, "out")
	if code := d.run("attachment", "get", id[:23], "--memory", string(m), "-o", out); code != exitOK {
		t.Fatalf("%d %s", code, d.err.String())
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if code := d.run("attachment", "get", id, "-o", "-"); code != exitOK || !bytes.Equal(d.out.Bytes(), content) ||
		d.err.Len() > 0 {
		t.Errorf("%d, %d bytes %s", code, d.out.Len(), d.err.String())
	}
	d.in = bytes.NewReader(content[:1000])
	if code := d.run("attachment", "add", "-", "--name", "../s", "--memory", string(m)); code != exitOK ||
		!strings.Contains(d.out.String(), "../s (1000 bytes)") {
		t.Errorf("%d %s%s", code, d.out.String(), d.err.String())
	}
	if code := d.run("attachment", "remove", id); code != exitUsage {
		t.Errorf("nobody was asked: %d %s", code, d.err.String())
	}
	if code := d.run("attachment", "remove", id, "--yes"); code != exitOK {
		t.Errorf("%d %s", code, d.err.String())
	}
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

func TestAttachmentsOfServerSurviveBrokenConnections(t *testing.T) {
	t.Parallel()
	p := newBreakingProxy(t)
	address, key := startRealServer(t, p)
	p.breaks["PUT"], p.breaks["GET"] = []int{1 << 20}, []int{1 << 20, 300 << 10}
	exerciseAttachments(t, newRealTerminal(t, "LOCI_URL="+address, "LOCI_API_KEY="+key))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.breaks["PUT"])+len(p.breaks["GET"]) > 0 || p.seen["PUT"] != 3 || p.seen["GET"] != 4 {
		t.Errorf("%v %v", p.breaks, p.seen)
	}
}

func TestFilesNeedAnAPIKey(t *testing.T) {
	t.Parallel()
	d := newRealTerminal(t)
	store := profile.Store{Path: filepath.Join(d.home, ".config", "loci", "login.json")}
	const url = "http://127.0.0.1:1"
	if _, _, err := store.Save(context.Background(), profile.Login{URL: url, UserID: fakeID,
		Client: &oauthclient.Client{ID: "c", Issuer: url, Token: url + "/oauth/token"},
		Tokens: &oauthclient.Tokens{Access: "a", Refresh: "r", ExpiresAt: time.Now().Add(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"attachment add x --memory " + fakeID, "attachment get " + fakeID,
		"attachment remove --yes " + fakeID, "file exchange"} {
		if code := d.run(strings.Fields(line)...); code != exitFailure ||
			!strings.Contains(d.err.String(), "loci login "+url+" --key -") {
			t.Errorf("%s: %d %s", line, code, d.err.String())
		}
	}
}

func TestAttachmentHasFourCommands(t *testing.T) {
	t.Parallel()
	d := newRealTerminal(t)
	var names []string
	for _, c := range (&program{deps: d.deps}).root().Commands() {
		if c.Name() == "attachment" {
			for _, sub := range c.Commands() {
				names = append(names, sub.Name())
			}
		}
	}
	if strings.Join(names, " ") != "add get list remove" {
		t.Errorf("%q", names)
	}
}
