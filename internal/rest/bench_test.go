package rest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
)

// clientVariable makes this binary a client. It holds an address and a number of requests; the request is on standard
// input. In a process of its own the client adds nothing to the time of the server.
const clientVariable = "REST_TEST_CLIENT"

func client() bool {
	address, count, ok := strings.Cut(os.Getenv(clientVariable), " ")
	if !ok {
		return false
	}
	n, err := strconv.Atoi(count)
	var request []byte
	if err == nil {
		request, err = io.ReadAll(os.Stdin)
	}
	ended := make(chan error, connections)
	for range connections {
		go func() { ended <- repeat(address, request, n) }()
	}
	for range connections {
		err = errors.Join(err, <-ended)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// connections keep the server busy: one that waits between two requests spends its time on falling asleep.
const connections = 8

// repeat sends one request n times over one connection.
func repeat(address string, request []byte, n int) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for range n {
		if _, err := c.Write(request); err != nil {
			return err
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode >= 300 {
			return fmt.Errorf("%s, %v", res.Status, err)
		}
	}
	return nil
}

// A benchService stores nothing, so that only the transport is measured.
type benchService struct{}

var stored = loci.Memory{
	ID: loci.NewID(time.Now()), WorkspaceID: loci.NewID(time.Now()), AtlasID: loci.NewID(time.Now()),
	Title:   "Choose the driver",
	Content: text700, Type: loci.TypeDecision, Tags: []string{"database", "driver"}, Status: loci.MemoryActive,
	Version:   3,
	CreatedBy: loci.NewID(time.Now()), CreatedAt: loci.TimeOf(time.Now()), UpdatedAt: loci.TimeOf(time.Now()),
}

var text700 = strings.Repeat("The driver with cgo is twice as fast. ", 19)[:700]

func (benchService) Get(context.Context, *identity.Actor, loci.GetMemory) (loci.MemoryDetail, error) {
	return loci.MemoryDetail{Memory: stored, Attachments: []loci.Attachment{}}, nil
}

func (benchService) Create(_ context.Context, _ *identity.Actor, in loci.CreateMemory) (loci.CreatedMemory, error) {
	m := stored
	m.Content = string(in.Content)
	return loci.CreatedMemory{Memory: loci.NewMemory{Memory: m, Routing: loci.Routing{Matched: []string{}}}}, nil
}

func benchHandler() http.Handler {
	t := &op.Table{}
	op.Add(t, "memory.get", "GET /v1/memories/{memoryId}", "Read.", op.Account, op.ToolCore, benchService.Get)
	op.Add(t, "memory.create", "POST /v1/memories", "Make.", op.Account, op.ToolCore, benchService.Create, op.MayCreate)
	quiet := slog.New(slog.DiscardHandler)
	return rest.New(rest.Options{Table: t, Log: quiet, Host: &op.Host{
		Service: benchService{}, Log: quiet,
		Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*identity.Actor, error) {
			c.Quota = &op.Quota{Limit: loci.Unlimited, Remaining: loci.Unlimited - 1, Reset: time.Hour}
			return &identity.Actor{UserID: "ann", CredentialKind: identity.CredentialKey}, nil
		},
	}})
}

func emptyHandler(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"ok":true}`)
}

// BenchmarkHandlerOverEmptyHandler compares the CPU of the server, in user and system time, with that of a handler that
// does nothing. One iteration is one round of every case; the medians are reported.
func BenchmarkHandlerOverEmptyHandler(b *testing.B) {
	head := " HTTP/1.1\r\nHost: loci.test\r\nUser-Agent: bench\r\nAccept: */*\r\nAuthorization: Bearer loci_live_" +
		strings.Repeat("a", 43) + "\r\n"
	get := "GET /v1/memories/" + string(stored.ID) + head + "\r\n"
	body := `{"content":"` + text700 + `","title":"Choose the driver","type":"decision","tags":["database","driver"]}`
	post := "POST /v1/memories" + head + "Content-Type: application/json\r\nContent-Length: " + itoa(len(body)) +
		"\r\n\r\n" + body
	server, floor := httptest.NewServer(benchHandler()), httptest.NewServer(http.HandlerFunc(emptyHandler))
	defer server.Close()
	defer floor.Close()
	cases := []struct {
		name, url, request string
		spent              []float64
	}{{"get-floor", floor.URL, get, nil}, {"get", server.URL, get, nil}, {"post-floor", floor.URL, post, nil},
		{"post", server.URL, post, nil}}
	for b.Loop() {
		for i := range cases {
			c := &cases[i]
			c.spent = append(c.spent, cpuPerRequest(b, c.url, c.request))
		}
	}
	for i := range cases {
		slices.Sort(cases[i].spent)
		b.ReportMetric(median(cases[i].spent), "us/"+cases[i].name)
	}
	b.ReportMetric(median(cases[1].spent)/median(cases[0].spent), "x-get")
	b.ReportMetric(median(cases[3].spent)/median(cases[2].spent), "x-post")
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// cpuPerRequest returns the microseconds of CPU that this process spends on one request.
func cpuPerRequest(b *testing.B, url, request string) float64 {
	const n = 1000
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), clientVariable+"="+strings.TrimPrefix(url, "http://")+" "+itoa(n))
	c.Stdin, c.Stderr = strings.NewReader(request), os.Stderr
	before := cpu(b)
	if err := c.Run(); err != nil {
		b.Fatal(err)
	}
	return (cpu(b) - before) / (connections * n)
}

// cpu returns the microseconds that this process has spent.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}
