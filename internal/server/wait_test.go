package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// answers returns the status of GET address, 0 without an answer, with its header and its text.
func answers(t *testing.T, address string) (status int, header http.Header, body string) {
	t.Helper()
	res, err := testenv.Client.Get(address)
	if err != nil {
		return 0, nil, ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text)
}

// forward accepts connections at an address and connects each with a server.
func forward(t *testing.T, address, server string) {
	t.Helper()
	l := testenv.Must(net.Listen("tcp", address))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			go func() { _, _ = io.Copy(there, client); there.Close() }()
			go func() { _, _ = io.Copy(client, there); client.Close() }()
		}
	}()
}

func TestServeWaitsForPostgres(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	address := testenv.Must(url.Parse(d.Address))(t)
	server := address.Host
	address.Host = freeAddress(t)
	listen, metrics := freeAddress(t), freeAddress(t)
	s, _, err := Load(map[string]string{"data": t.TempDir(), "db": address.String(), "listen": listen,
		"metrics-listen": metrics, "drain": "0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out, log logtest.Buffer
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, s, &out, &log) }()
	status := func(url string) int { n, _, _ := answers(t, url); return n }
	waittest.Until(t, func() bool { return status("http://"+metrics+"/ready") != 0 })

	if n, _, body := answers(t, "http://"+listen+"/health"); n != 200 || !strings.Contains(body, `"service":"loci"`) {
		t.Errorf("/health is %d: %s", n, body)
	}
	if n, h, body := answers(t, "http://"+metrics+"/ready"); n != 503 || h.Get("Retry-After") == "" ||
		!strings.Contains(body, `"check":"database"`) {
		t.Errorf("/ready is %d: %s", n, body)
	}
	if n, h, body := answers(t, "http://"+listen+"/v1/memories"); n != 503 || h.Get("Retry-After") == "" ||
		!json.Valid([]byte(body)) {
		t.Errorf("a call is %d: %s", n, body)
	}
	forward(t, address.Host, server)
	waittest.Until(t, func() bool { return status("http://"+metrics+"/ready") == 200 })
	if n := status("http://" + listen + "/v1/memories"); n != 401 {
		t.Errorf("a call of the started server is %d", n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "waits for its database"); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
}

func TestServeReportsAnAbsentDatabase(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"0", "1ms"} {
		s, _, err := Load(map[string]string{"data": t.TempDir(), "listen": "127.0.0.1:0", "db-wait": wait,
			"db": "postgres://loci:tuna@" + freeAddress(t) + "/loci"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Serve(t.Context(), s, &out, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "the database cannot be reached") || strings.Contains(err.Error(), "tuna") {
			t.Errorf("db-wait %s: %v", wait, err)
		}
	}
}

// An error that waiting does not end is reported at once.
func TestOnlyAStartingServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	unresolved := postgres.Ping(t.Context(), "postgres://loci@db.invalid/loci")
	if !postgres.IsStarting(unresolved) {
		t.Errorf("a name that does not resolve: %v", unresolved)
	}
	if err := postgres.Ping(t.Context(), "postgres://loci@127.0.0.1:bad/loci"); postgres.IsStarting(err) {
		t.Errorf("a malformed address: %v", err)
	}
	if postgres.IsStarting(nil) || postgres.IsStarting(errors.New("server refused TLS connection")) {
		t.Error("no failure of a connection is one")
	}
	d := storetest.NewPostgresDatabase(t)
	absent := testenv.Must(url.Parse(d.Address))(t)
	absent.Path = "/nothing_of_that_name"
	if err := postgres.Ping(t.Context(), absent.String()); err == nil || postgres.IsStarting(err) {
		t.Errorf("a database that does not exist: %v", err)
	}
}
