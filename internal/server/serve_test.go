package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// start runs a server on a free port and returns its address, its output, and its stop function.
func start(t *testing.T, flags map[string]string) (url string, out, log *logtest.Buffer, stop func() error) {
	t.Helper()
	return startWith(t, flags, oauth.DocumentAccess{})
}

// startWith runs a server that fetches metadata documents where access allows it.
func startWith(t *testing.T, flags map[string]string,
	access oauth.DocumentAccess) (url string, out, log *logtest.Buffer, stop func() error) {
	t.Helper()
	if flags == nil {
		flags = map[string]string{}
	}
	if flags["data"] == "" {
		flags["data"] = storetest.NewDir(t)
	}
	if flags["listen"] == "" {
		flags["listen"] = "127.0.0.1:0"
	}
	if flags["drain"] == "" {
		flags["drain"] = "0"
	}
	s, warnings, err := Load(flags, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	s.documentAccess = access
	return serve(t, s)
}

// serve runs a server with these settings.
func serve(t *testing.T, s Settings) (url string, out, log *logtest.Buffer, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, log = &logtest.Buffer{}, &logtest.Buffer{}
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, s, out, log) }()
	var once sync.Once
	stop = func() (err error) {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	t.Cleanup(func() { stop() })
	listens := regexp.MustCompile(`listens on (\S+)`)
	var m []string
	waittest.Until(t, func() bool {
		m = listens.FindStringSubmatch(out.String())
		return m != nil || len(ended) > 0
	})
	if m == nil {
		t.Fatal("the server says nothing: ", out, log)
	}
	return m[1], out, log, stop
}

func callAPI(t *testing.T, method, url, key, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	r.Close = true // a later call must not go to a connection of a server that was stopped
	w, err := testenv.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	raw, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s %s: %d %q", method, url, w.StatusCode, raw)
	}
	return w.StatusCode, v
}

func TestServeSetupLinkCreatesFirstAccount(t *testing.T) {
	t.Parallel()
	url, out, log, stop := start(t, nil)
	link := regexp.MustCompile(`\S+/setup\?token=(\S+)`).FindStringSubmatch(out.String())
	if link == nil {
		t.Fatal("no setup link: ", out)
	}
	account := `{"token":"` + link[1] + `","email":"ann@example.com","password":"correct horse"}`
	if status, v := callAPI(t, "POST", url+"/v1/auth/setup", "", account); status != 201 {
		t.Fatal(status, v)
	}
	if status, _ := callAPI(t, "POST", url+"/v1/auth/setup", "", account); status != 404 {
		t.Errorf("the link works twice: %d", status)
	}
	admin, err := OpenAdmin(context.Background(), Settings{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	admin.Close()
	if err := stop(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if strings.Contains(log.String(), link[1]) {
		t.Error("the setup token is in the log")
	}
}

func TestAdminKeyWorksWhileServerRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, _, _, _ := start(t, map[string]string{"data": dir})
	admin, err := OpenAdmin(context.Background(), Settings{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	ctx := context.Background()
	if _, err := admin.CreateUser(ctx, "ann@example.com", "Ann", ""); err != nil {
		t.Fatal(err)
	}
	key, err := admin.CreateKey(ctx, "ANN@example.com", "laptop")
	if err != nil {
		t.Fatal(err)
	}
	status, v := callAPI(t, "POST", url+"/v1/memories", key.APIKey,
		`{"content":"# Basalt\nThe bridge stands on basalt."}`)
	if status != 201 {
		t.Fatal(status, v)
	}
	made := v["memory"].(map[string]any)
	status, v = callAPI(t, "POST", url+"/v1/memories/search", key.APIKey, `{"query":"bridge basalt","mode":"keyword"}`)
	found, _ := v["memories"].([]any)
	if status != 200 || len(found) != 1 || found[0].(map[string]any)["id"] != made["id"] {
		t.Fatal(status, v)
	}
	status, v = callAPI(t, "GET", url+"/v1/memories/"+made["id"].(string), key.APIKey, "")
	if status != 200 || v["title"] != "Basalt" {
		t.Fatal(status, v)
	}
	if _, err := admin.RevokeUserKey(ctx, key.Key.ID); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, func() bool {
		status, v := callAPI(t, "GET", url+"/v1/memories", key.APIKey, "")
		return status == http.StatusForbidden && v["code"] == "revoked"
	})
}

func TestOperatorSeesPlansAndAddressOfServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, _, _, stop := start(t, map[string]string{"data": dir, "plan": "free", "plan-free-operations": "30",
		"plan-free-atlases": "7"})
	for _, running := range []bool{true, false} {
		for _, c := range []struct {
			flags               map[string]string
			operations, atlases int64
			url                 string
		}{
			{nil, 30, 7, url},
			{map[string]string{"plan-free-operations": "40", "public-url": "https://loci.example.org"}, 40, 7,
				"https://loci.example.org"},
			{map[string]string{"plan": "pro"}, 1_000_000, 1_000, url},
		} {
			flags := map[string]string{"data": dir}
			maps.Copy(flags, c.flags)
			s, _, err := Load(flags, nil)
			if err != nil {
				t.Fatal(err)
			}
			admin, err := OpenAdmin(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			const email = "ann@example.com"
			admin.CreateUser(t.Context(), email, "Ann", "") // by the first pass
			u, err := admin.ShowUser(t.Context(), email)
			if err != nil || u.Usage.Operations.Limit != c.operations || u.Quotas.Atlases.Limit != c.atlases {
				t.Errorf("%v: %+v %+v %v", c.flags, u.Usage, u.Quotas, err)
			}
			link, err := admin.ResetPassword(t.Context(), email)
			if err != nil || !strings.HasPrefix(link.URL, c.url+"/reset?") {
				t.Errorf("%v: %s %v", c.flags, link.URL, err)
			}
			if err := admin.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if running {
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestServeFailsBeforeBannerWhenMetricsPortIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s, _, err := Load(map[string]string{"data": t.TempDir(), "listen": "127.0.0.1:0",
		"metrics-listen": taken.Addr().String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, ended := &logtest.Buffer{}, make(chan error, 1)
	go func() { ended <- Serve(t.Context(), s, out, io.Discard) }()
	err = <-ended
	if err == nil || !strings.Contains(err.Error(), "another program uses the address "+taken.Addr().String()) ||
		!strings.Contains(err.Error(), "--metrics-listen") || out.String() != "" {
		t.Errorf("%v, after %q", err, out)
	}
}

func TestServeNamesProgramThatUsesAddress(t *testing.T) {
	t.Parallel()
	url, _, _, _ := start(t, nil)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go http.Serve(other, http.NotFoundHandler()) // ends with Close
	for address, want := range map[string]string{
		strings.TrimPrefix(url, "http://"): "Loci " + Version + " runs at ",
		other.Addr().String():              "another program uses the address ",
	} {
		dir := t.TempDir()
		s, _, err := Load(map[string]string{"data": dir, "listen": address}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = Serve(t.Context(), s, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want+address) ||
			!strings.HasSuffix(err.Error(), "choose another address with --listen") {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := os.Stat(filepath.Join(dir, sqlite.FileName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a database is left behind: %v", err)
		}
	}
}

func TestContractVariantOmitsOperations(t *testing.T) {
	t.Parallel()
	const id = "/01890000-0000-7000-8000-000000000000"
	routes := map[string]string{"memory.delete": "DELETE /v1/memories" + id,
		"atlas.delete": "DELETE /v1/atlases" + id, "workspace.delete": "DELETE /v1/workspaces" + id,
		"atlas.archive":     "POST /v1/atlases" + id + "/archive",
		"workspace.archive": "POST /v1/workspaces" + id + "/archive"}
	for contract, omitted := range map[string]string{"full": "", "a": "atlas.archive workspace.archive",
		"b": "memory.delete atlas.delete workspace.delete"} {
		url, _, _, _ := start(t, map[string]string{"contract": contract})
		document, err := testenv.Client.Get(url + "/openapi.json")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(document.Body)
		document.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for name, route := range routes {
			absent := strings.Contains(omitted, name)
			want := map[bool]int{true: http.StatusNotFound, false: http.StatusUnauthorized}[absent]
			method, path, _ := strings.Cut(route, " ")
			if status, v := callAPI(t, method, url+path, "", ""); status != want {
				t.Errorf("contract %s: %s answers %d %v, want %d", contract, route, status, v, want)
			}
			if bytes.Contains(text, []byte(`"`+name+`"`)) == absent {
				t.Errorf("contract %s: the document lists %s: %v", contract, name, !absent)
			}
		}
	}
}

func TestLiteralPathIsNotParameterPath(t *testing.T) {
	t.Parallel()
	for _, contract := range []string{"full", "b"} {
		checkAllowedMethods(t, contract)
	}
}

func checkAllowedMethods(t *testing.T, contract string) {
	t.Helper()
	url, _, _, stop := start(t, map[string]string{"data": t.TempDir(), "contract": contract})
	defer stop()
	for line, allow := range map[string]string{
		"GET /v1/memories/search":     "POST",
		"DELETE /v1/memories/search":  "POST",
		"PATCH /v1/memories/context":  "GET, HEAD",
		"DELETE /v1/memories/context": "GET, HEAD",
		"PUT /v1/memories":            "GET, HEAD, POST",
		"POST /v1/memories/7":         "GET, HEAD, PATCH, DELETE",
	} {
		if contract == "b" {
			allow = strings.TrimSuffix(allow, ", DELETE")
		}
		method, path, _ := strings.Cut(line, " ")
		r, err := http.NewRequest(method, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := testenv.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != 405 || a.Header.Get("Allow") != allow {
			t.Errorf("contract %s, %s: %d, Allow: %q, want %q", contract, line, a.StatusCode, a.Header.Get("Allow"),
				allow)
		}
	}
}
