package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/server/listen"
)

// A fakeService stores nothing, so that only the transport is measured.
type fakeService struct{ stored loci.Memory }

func (l fakeService) Get(context.Context, *identity.Actor, loci.GetMemory) (loci.MemoryDetail, error) {
	return loci.MemoryDetail{Memory: l.stored, Attachments: []loci.Attachment{}}, nil
}

func (l fakeService) Create(_ context.Context, _ *identity.Actor, in loci.CreateMemory) (loci.CreatedMemory, error) {
	m := l.stored
	m.Content = string(in.Content)
	return loci.CreatedMemory{Memory: loci.NewMemory{Memory: m,
		Routing: loci.Routing{AtlasID: m.AtlasID, Matched: []string{}}}}, nil
}

// serveTransport serves the operation table over REST with a fake service. Every caller is admitted. Each call writes a
// log line, unless quiet is set.
func serveTransport(content string, quiet bool) error {
	now := time.Now()
	id := loci.NewID(now)
	who := fakeService{loci.Memory{ID: id, WorkspaceID: id, AtlasID: id, Title: "Choose the driver", Content: content,
		Type: loci.TypeDecision, Tags: []string{"bench"},
		Status: loci.MemoryActive, Version: 1, CreatedBy: id, CreatedAt: loci.TimeOf(now), UpdatedAt: loci.TimeOf(now)}}
	table := &op.Table{}
	op.Add(table, "memory.get", "GET /v1/memories/{memoryId}", "Read.", op.Account, op.ToolCore, fakeService.Get)
	op.Add(table, "memory.create", "POST /v1/memories", "Make.", op.Account, op.ToolCore, fakeService.Create,
		op.MayCreate)
	log, flush := server.NewLog(os.Stderr, "info")
	defer flush()
	if quiet {
		log = slog.New(slog.DiscardHandler)
	}
	h := rest.New(rest.Options{Table: table, Log: log, Host: &op.Host{Service: who, Log: log,
		Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*identity.Actor, error) {
			c.Quota = &op.Quota{Limit: loci.Unlimited, Remaining: loci.Unlimited - 1, Reset: time.Hour}
			return &identity.Actor{UserID: id, CredentialKind: identity.CredentialKey}, nil
		}}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// The live heap of this process is 1 MB, that of a server at least 7. Both collect about every 15 MB then.
	debug.SetGCPercent(400)
	fmt.Printf("transport listens on http://%s\n", l.Addr())
	return http.Serve(listen.WithWriteDeadlines(l), h)
}

// connections keep a server busy. A server that waits between two requests spends its time on falling asleep and waking
// up.
const connections = 8

// Where a request takes microseconds, a round has some turns of many requests.
const (
	turnsPerRound   = 5
	requestsPerTurn = 2000
)

// transport compares the transport with an empty handler.
func (b *bench) transport() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	logged, err := b.start(nil, self, "transport", b.corpus.Prose(0))
	if err != nil {
		return err
	}
	quiet, err := b.start(nil, self, "transport", b.corpus.Prose(0), "quiet")
	if err != nil {
		return err
	}
	key := "loci_live_" + "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq"
	get := newRequest("GET", "/v1/memories/"+string(loci.NewID(time.Now())), key, nil)
	create := newRequest("POST", "/v1/memories", key,
		map[string]any{"content": b.corpus.Prose(1), "title": "Choose the driver", "type": "decision",
			"tags": []string{"bench"}})
	if err := b.compareTransport(logged, quiet, "get", get, 2.2); err != nil {
		return err
	}
	return b.compareTransport(logged, quiet, "create", create, 2.4)
}

func (b *bench) compareTransport(logged, quiet *process, name string, r request, threshold float64) error {
	floor, turn, err := b.emptyHandler(logged, r)
	if err != nil {
		return err
	}
	s, err := b.interleave("transport "+name, turnsPerRound, benchSide{"floor", turn(floor)},
		benchSide{"loci", turn(logged)}, benchSide{"quiet", turn(quiet)})
	if err != nil {
		return err
	}
	b.report.add(s.ratioLine(line{Row: "transport", What: name + " without store, over an empty handler",
		Unit:      "us CPU",
		Threshold: threshold}, "loci cpu", "floor cpu"))
	b.report.add(s.ratioLine(line{Row: "transport", What: name + ", the same without the log line", Unit: "us CPU"},
		"quiet cpu", "floor cpu"))
	return nil
}

// emptyHandler starts a handler that writes as many bytes as a process answers to a request. A turn sends the request
// to one of the two.
func (b *bench) emptyHandler(p *process, r request) (floor *process, turn func(*process) turnFunc, err error) {
	body, err := p.send(r)
	if err != nil {
		return nil, nil, err
	}
	floor, err = b.start(nil, b.binary("floor", b.drivers[0]), "empty", "-size", strconv.Itoa(len(body)))
	return floor, func(p *process) turnFunc {
		return func(int) (figures, error) {
			return p.cpuPerRequest(connections, requestsPerTurn, func(int) request { return r })
		}
	}, err
}
