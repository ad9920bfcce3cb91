package files_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/files"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/testenv"
)

// A scene is a world behind HTTP, with a memory of ann.
type scene struct {
	*conformance.World
	t      *testing.T
	url    string
	memory loci.ID
}

// maxTransfers is the most transfers of a scene at once.
const maxTransfers = 128

// smallBuffers accepts connections that buffer few bytes.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if c, ok := c.(*net.TCPConn); ok {
		err = c.SetWriteBuffer(4 << 10)
	}
	return c, err
}

func newScene(t *testing.T) *scene {
	t.Helper()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	api := rest.New(rest.Options{Table: service.Ops, Host: w.Host,
		Log: slog.New(slog.DiscardHandler), ExtraRoutes: files.Routes(files.Options{Service: w.Service.Files(),
			Log: slog.New(slog.DiscardHandler), Prefixes: rest.FilePrefixes, MaxTransfers: maxTransfers})})
	// An upload may last longer than the body of another call, which is late here at once.
	server := httptest.NewUnstartedServer(httpapi.WithBodyDeadlines(api, time.Minute, 0))
	server.Listener = smallBuffers{server.Listener}
	server.Start()
	t.Cleanup(server.Close)
	return &scene{w, t, server.URL, w.Memory(t, w.Atlas(t, "Shelf"), "with files")}
}

// announce announces a file of a size.
func (s *scene) announce(name string, size int) loci.Upload {
	s.t.Helper()
	return testenv.Must(s.Service.UploadAttachment(s.t.Context(), s.Ann.Actor(), loci.UploadAttachment{
		MemoryID: s.memory, FileName: loci.FileName(name), Size: loci.FileSize(size), MIMEType: "text/plain"}))(s.t)
}

// at returns an address of the service on the test server.
func (s *scene) at(address string) string {
	return strings.Replace(address, "http://localhost", s.url, 1)
}

// send sends a request, and returns the response with its body read.
func (s *scene) send(method, address string, body io.Reader, header http.Header) (*http.Response, []byte) {
	s.t.Helper()
	r := testenv.Must(http.NewRequestWithContext(s.t.Context(), method, s.at(address), body))(s.t)
	for name, values := range header {
		r.Header[name] = values
	}
	res := testenv.Must(testenv.Client.Do(r))(s.t)
	defer res.Body.Close()
	return res, testenv.Must(io.ReadAll(res.Body))(s.t)
}

var plain = http.Header{"Content-Type": {"text/plain"}}

// status sends a text, and returns the status of the response.
func (s *scene) status(method, address, body string) int {
	s.t.Helper()
	res, _ := s.send(method, address, strings.NewReader(body), plain)
	return res.StatusCode
}

func (s *scene) put(up loci.Upload, body string) int {
	s.t.Helper()
	return s.status("PUT", up.UploadURL, body)
}

func (s *scene) confirm(up loci.Upload) error {
	_, err := s.Service.ConfirmAttachment(s.t.Context(), s.Ann.Actor(),
		loci.GetAttachment{AttachmentID: up.Attachment.ID})
	return err
}

// store uploads a file and returns the address of its download.
func (s *scene) store(name, body string) (loci.ID, string) {
	s.t.Helper()
	up := s.announce(name, len(body))
	testenv.RequireEqual(s.t, s.put(up, body), http.StatusOK, "upload")
	testenv.NoError(s.t, s.confirm(up))
	return up.Attachment.ID, s.address(up.Attachment.ID)
}

func (s *scene) address(id loci.ID) string {
	s.t.Helper()
	return testenv.Must(s.Service.DownloadAttachment(s.t.Context(), s.Ann.Actor(),
		loci.GetAttachment{AttachmentID: id}))(s.t).URL
}

func TestDownloadIsAnAttachmentWithRanges(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	_, address := s.store("page.html", "<html><script>alert(1)</script></html>")
	res, body := s.send("GET", address, nil, nil)
	if res.StatusCode != 200 || string(body) != "<html><script>alert(1)</script></html>" {
		t.Errorf("%d %q", res.StatusCode, body)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Content-Length": "38",
		"Content-Type":            "text/html; charset=utf-8",
		"Content-Security-Policy": "sandbox; default-src 'none'", "Accept-Ranges": "bytes", "Set-Cookie": "",
		"Content-Disposition": `attachment; filename="page.html"; filename*=UTF-8''page.html`} {
		testenv.Equal(t, res.Header.Get(name), want, name)
	}
	tag := res.Header.Get("Etag")
	for given, want := range map[string]string{"bytes=0-5": "206 <html>", "bytes=-7": "206 </html>",
		"bytes=32-": "206 /html>", "bytes=0-0,2-2": "200 <html>", "bytes=99-": "416 ", "bytes=x": "416 "} {
		res, body := s.send("GET", address, nil, http.Header{"Range": {given}, "If-Range": {tag}})
		if got := strconv.Itoa(res.StatusCode) + " " + string(body); !strings.HasPrefix(got, want) {
			t.Errorf("Range: %s: %.40q, want %q", given, got, want)
		}
		testenv.Equal(t, res.Header.Get("X-Content-Type-Options"), "nosniff", "Range", given, res.Header)
	}
	if res, body := s.send("GET", address, nil, http.Header{"Range": {"bytes=0-5"},
		"If-Range": {`"x"`}}); len(body) != 38 {
		t.Errorf("a range of another file: %d %q", res.StatusCode, body)
	}
	if res, _ := s.send("GET", address, nil, http.Header{"If-None-Match": {tag}}); res.StatusCode != 304 {
		t.Errorf("If-None-Match: %d", res.StatusCode)
	}
	if res, body := s.send("HEAD", address, nil, nil); res.StatusCode != 200 || len(body) > 0 {
		t.Errorf("HEAD: %d %q", res.StatusCode, body)
	}
	other := strings.Replace(address, rest.FilePrefixes[0], rest.FilePrefixes[1], 1)
	if res, body := s.send("GET", other, nil, nil); res.StatusCode != 200 || len(body) != 38 {
		t.Errorf("by the alias: %d", res.StatusCode)
	}
}

// changed yields an address with each of its parts changed or without it.
func changed(t *testing.T, address string) map[string]string {
	t.Helper()
	u := testenv.Must(url.Parse(address))(t)
	other, list := *u, map[string]string{}
	for name := range u.Query() {
		for what, change := range map[string]func(url.Values){
			"changed": func(q url.Values) {
				v := []byte(q.Get(name))
				if v[len(v)/2]++; v[len(v)/2] > 'z' {
					v[len(v)/2] = 'a'
				}
				q.Set(name, string(v))
			},
			"removed": func(q url.Values) { q.Del(name) },
			"empty":   func(q url.Values) { q.Set(name, "") },
			"twice":   func(q url.Values) { q.Add(name, q.Get(name)) },
		} {
			q := u.Query()
			change(q)
			other.RawQuery = q.Encode()
			list[name+" "+what] = other.String()
		}
	}
	other = *u
	other.RawQuery += "&further=1"
	list["a further parameter"] = other.String()
	other.RawQuery = u.RawQuery + ";"
	list["a semicolon"] = other.String()
	other.RawQuery = ""
	list["no query"] = other.String()
	other = *u
	other.Path = strings.TrimSuffix(u.Path, u.Path[len(u.Path)-36:]) + string(loci.NewID(time.Now()))
	list["another id"] = other.String()
	return list
}

func TestChangedAddressesAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	up := s.announce("a.txt", 5)
	for name, address := range changed(t, up.UploadURL) {
		testenv.Equal(t, s.status("PUT", address, "hello"), 403, "upload", name)
	}
	if err := s.confirm(up); !loci.Is(err, loci.CodeUploadMissing) {
		t.Errorf("something was stored: %v", err)
	}
	id, download := s.store("b.txt", "world")
	for name, address := range changed(t, download) {
		res, body := s.send("GET", address, nil, nil)
		if res.StatusCode != 403 || bytes.Contains(body, []byte("world")) {
			t.Errorf("download, %s: %d %s", name, res.StatusCode, body)
		}
	}
	for name, c := range map[string]struct{ method, address string }{
		"an upload by a download address": {"PUT", download}, "a download by an upload address": {"GET", up.UploadURL},
		"a download without a signature": {"GET", s.url + file.ObjectsPath + string(id)},
	} {
		testenv.Equal(t, s.status(c.method, c.address, "hello"), 403, name)
	}
	s.Clock.Advance(14 * time.Minute)
	testenv.Equal(t, s.status("GET", download, ""), 200, "after 14 minutes")
	s.Clock.Advance(time.Minute)
	testenv.Equal(t, s.status("GET", download, ""), 403, "after 15 minutes")
	s.Clock.Advance(45 * time.Minute)
	testenv.Equal(t, s.put(up, "hello"), 403, "an upload after an hour")
}

func TestUploadsThatDifferAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	up := s.announce("a.txt", 5)
	for name, c := range map[string]struct {
		body   io.Reader
		header http.Header
		status int
	}{
		"longer":            {strings.NewReader("hello!"), plain, 403},
		"shorter":           {strings.NewReader("hell"), plain, 403},
		"nothing":           {http.NoBody, plain, 403},
		"longer in chunks":  {io.MultiReader(strings.NewReader("hello!")), plain, 403},
		"shorter in chunks": {io.MultiReader(strings.NewReader("hell")), plain, 403},
		"endless":           {io.LimitReader(rand.Reader, 8<<20), plain, 403},
		"another type":      {strings.NewReader("hello"), http.Header{"Content-Type": {"text/html"}}, 403},
		"no type":           {strings.NewReader("hello"), nil, 403},
		"compressed": {strings.NewReader("hello"),
			http.Header{"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"}}, 403},
	} {
		if res, body := s.send("PUT", up.UploadURL, c.body, c.header); res.StatusCode != c.status {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		if err := s.confirm(up); !loci.Is(err, loci.CodeUploadMissing) {
			t.Fatalf("%s is stored: %v", name, err)
		}
	}
	if res, _ := s.send("PUT", up.UploadURL, io.MultiReader(strings.NewReader("hello")), plain); res.StatusCode != 200 {
		t.Errorf("the announced bytes in chunks: %d", res.StatusCode)
	}
	testenv.Equal(t, s.put(up, "HELLO"), 409, "a second upload")
	testenv.NoError(t, s.confirm(up))
	testenv.Equal(t, s.put(up, "HELLO"), 409, "an upload after the confirmation")
	if _, body := s.send("GET", s.address(up.Attachment.ID), nil, nil); string(body) != "hello" {
		t.Errorf("the file is %q", body)
	}
}

// A download that runs ends soon after the deletion of its file.
func TestRunningDownloadEndsWithDeletion(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id, address := s.store("large", strings.Repeat("x", 64<<20))
	res := testenv.Must(testenv.Client.Get(s.at(address)))(t) // #nosec: an address of the test
	defer res.Body.Close()
	testenv.Must(io.CopyN(io.Discard, res.Body, 1<<20))(t)
	out := testenv.Must(s.Service.DeleteAttachments(t.Context(), s.Ann.Actor(),
		loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{id}}))(t)
	if !out.Results[0].OK {
		t.Fatal(out)
	}
	s.Clock.Advance(time.Second) // the next part is checked
	if n, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Errorf("the whole file came: %d bytes more", n)
	}
	testenv.Equal(t, s.status("GET", address, ""), 404, "a new download")
}

// TestUnreadDownloadsOfOwnerLeavePlacesToOthers begins as many downloads of ann as may run at once, and reads none.
func TestUnreadDownloadsOfOwnerLeavePlacesToOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var unread []net.Conn
	defer func() {
		for _, c := range unread {
			c.Close()
		}
	}()
	statuses := map[string]int{}
	var paths []string
	for i := range maxTransfers / 8 {
		_, address := s.store(fmt.Sprint(i, ".txt"), strings.Repeat("x", 1<<20))
		paths = append(paths, strings.TrimPrefix(s.at(address), s.url))
	}
	for _, path := range paths {
		for range 8 {
			c := testenv.Must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))(t)
			unread = append(unread, c)
			testenv.NoError(t, c.(*net.TCPConn).SetReadBuffer(4<<10))
			testenv.Must(fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path))(t)
			status := make([]byte, len("HTTP/1.1 200"))
			testenv.Must(io.ReadFull(c, status))(t)
			statuses[string(status)]++
		}
	}
	if statuses["HTTP/1.1 200"] != maxTransfers/4 || statuses["HTTP/1.1 503"] != maxTransfers*3/4 {
		t.Errorf("downloads of one owner: %v", statuses)
	}
	s.memory = testenv.Must(s.Service.CreateMemory(t.Context(), s.Bob.Actor(), loci.CreateMemory{Content: "bob's"}))(t).
		Memory.ID
	s.Ann = s.Bob // whose files the scene stores
	_, address := s.store("note.txt", "text")
	if res, body := s.send("GET", address, nil, nil); res.StatusCode != 200 || string(body) != "text" {
		t.Errorf("download of another owner: %d %q", res.StatusCode, body)
	}
}

func TestNamesAreSentAsTexts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, name := range []string{"../../etc/passwd", `..\..\boot.ini`, "a\"b;c.txt", "CON", "aux.txt", "nul .x",
		".hidden",
		strings.Repeat("😀", 60), "\u202egpj.exe", "naïve café.pdf", "100%.txt", "a/b", " ", "name.", "x\u200by"} {
		_, address := s.store(name, "x")
		res, _ := s.send("GET", address, nil, nil)
		disposition := res.Header.Get("Content-Disposition")
		kind, params, err := mime.ParseMediaType(disposition)
		if err != nil || kind != "attachment" || params["filename"] != strings.Trim(name, "\u202e") {
			t.Errorf("%q is sent as %s: %q, %v", name, disposition, params["filename"], err)
		}
		_, rest, _ := strings.Cut(disposition, `filename="`)
		if safe, _, _ := strings.Cut(rest, `"`); safe == "" || strings.ContainsAny(safe, `/\:`) ||
			strings.HasPrefix(safe, ".") {
			t.Errorf("%q is sent with the plain name %q", name, safe)
		}
	}
}
