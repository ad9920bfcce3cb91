package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A toy is a service that answers with what it was asked.
type toy struct {
	who     loci.Actor
	create  loci.CreateMemory
	search  loci.SearchMemories
	list    loci.ListMemories
	deleted string
	pages   int // of the list; 0 is one that never ends
	update  loci.UpdateAtlas
	invite  loci.CreateInvitations
	respond loci.RespondInvitation
	sort    sorting
}

// A sorting has what the first operations lack: nested lists and booleans.
type sorting struct {
	Rules []loci.Source `json:"rules,omitzero"`
	Deep  bool          `json:"deep,omitzero"`
	Speed float64       `json:"speed,omitzero"`
}

const (
	toyID   = "01890000-0000-7000-8000-000000000001"
	toyTwin = "01890000-0000-7000-8001-000000000002" // of the same millisecond
)

func (t *toy) Create(_ context.Context, who *loci.Actor, in loci.CreateMemory) (out loci.CreatedMemory, err error) {
	t.who, t.create = *who, in
	out.Memory.Memory = toyMemory(string(in.Content))
	out.Memory.Routing.Matched = []string{}
	return out, nil
}

func toyMemory(content string) loci.Memory {
	return loci.Memory{ID: toyID, Title: loci.DeriveTitle(content), Content: content, Type: loci.Fact, Tags: []string{"a", "b"}, Status: loci.Active, Version: 1, CreatedAt: 1e15, UpdatedAt: 1e15}
}

func (t *toy) Get(_ context.Context, _ *loci.Actor, in loci.GetMemory) (out loci.MemoryDetail, err error) {
	if in.MemoryID != toyID {
		return out, loci.Fail(loci.NotFound)
	}
	return loci.MemoryDetail{Memory: toyMemory("# Rock\nHard <b>\x1b[31m."), Attachments: []loci.Attachment{}}, nil
}

func (t *toy) List(_ context.Context, _ *loci.Actor, in loci.ListMemories) (loci.Memories, error) {
	t.list = in
	if in.Limit == 1 {
		return loci.Memories{Memories: []loci.Memory{}}, nil
	}
	two := toyMemory("日本語 two")
	two.ID = toyTwin
	page := loci.Memories{Memories: []loci.Memory{toyMemory("One"), two}, NextCursor: "next"}
	if n, _ := strconv.Atoi(strings.TrimPrefix(string(in.Cursor), "next")); t.pages > 0 {
		page.NextCursor = ""
		if n+1 < t.pages {
			page.NextCursor = fmt.Sprint("next", n+1)
		}
	}
	return page, nil
}

func (t *toy) Delete(_ context.Context, _ *loci.Actor, in loci.GetMemory) (loci.Nothing, error) {
	t.deleted = in.MemoryID
	return loci.Nothing{}, nil
}

func (t *toy) Search(_ context.Context, _ *loci.Actor, in loci.SearchMemories) (loci.FoundMemories, error) {
	t.search = in
	return loci.FoundMemories{Memories: []loci.FoundMemory{}, Mode: loci.ResolvedKeyword}, nil
}

func (t *toy) Update(_ context.Context, who *loci.Actor, in loci.UpdateAtlas) (loci.OneAtlas, error) {
	t.who, t.update = *who, in
	return loci.OneAtlas{}, nil
}

func (t *toy) Invite(_ context.Context, _ *loci.Actor, in loci.CreateInvitations) (loci.CreatedInvitations, error) {
	t.invite = in
	return loci.CreatedInvitations{Invitations: []loci.NewInvitation{}, Skipped: []loci.SkippedInvitation{{Email: "a@b.c", Reason: loci.AlreadyMember}}}, nil
}

func (t *toy) Respond(_ context.Context, _ *loci.Actor, in loci.RespondInvitation) (loci.Nothing, error) {
	t.respond = in
	return loci.Nothing{}, nil
}

func (t *toy) Sort(_ context.Context, _ *loci.Actor, in sorting) (loci.Nothing, error) {
	t.sort = in
	return loci.Nothing{}, nil
}

func (t *toy) Me(context.Context, *loci.Actor, loci.Nothing) (loci.OneUser, error) {
	return loci.OneUser{User: loci.User{ID: toyID, Email: "ada@example.org"}}, nil
}

func toyTable() *op.Table {
	t := &op.Table{}
	op.Add(t, "memory.create", "POST /v1/memories", "Write a memory.", op.Account, op.Core, (*toy).Create)
	op.Add(t, "memory.get", "GET /v1/memories/{memoryId}", "Read a memory.", op.Account, op.Core, (*toy).Get)
	op.Add(t, "memory.list", "GET /v1/memories", "List memories.", op.Account, op.Core, (*toy).List)
	op.Add(t, "memory.delete", "DELETE /v1/memories/{memoryId}", "Delete a memory.", op.Account, op.Full, (*toy).Delete)
	op.AddRead(t, "memory.search", "POST /v1/memories/search", "Find memories.", op.Account, op.Core, (*toy).Search)
	op.Add(t, "atlas.update", "PATCH /v1/atlases/{atlasId}", "Change an atlas.", op.Account, op.Core, (*toy).Update)
	op.Add(t, "invitation.create", "POST /v1/workspaces/{workspaceId}/invitations", "Invite people.", op.Account, op.Stable, (*toy).Invite)
	op.Add(t, "invitation.respond", "POST /v1/invitations/{invitationId}/respond", "Answer.", op.Account, op.Stable, (*toy).Respond)
	op.Add(t, "toy_box.sort", "POST /v1/sort", "Sort toys.", op.Account, op.Full, (*toy).Sort)
	op.Add(t, "account.me", "GET /v1/me", "See yourself.", op.Account, op.NoTool, (*toy).Me)
	op.Add(t, "auth.setup", "POST /v1/auth/setup", "Set up.", op.Public, op.Browser, (*toy).Sort)
	return t
}

func (t *toy) host() *op.Host {
	return &op.Host{Service: t, Log: slog.New(slog.DiscardHandler), Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*loci.Actor, error) {
		if c.Door == "rest" && c.Proof != toyKey {
			return nil, loci.Fail(loci.InvalidKey)
		}
		return &loci.Actor{UserID: "ann", Credential: loci.KeyCredential}, nil
	}}
}

const toyKey = "loci_live_toy"

// A desk is a person's machine on which loci runs.
type desk struct {
	*program
	toy      *toy
	out, err bytes.Buffer
	home     string
	in       io.Reader
	opened   int
}

func newDesk(t *testing.T, environ ...string) *desk {
	d := &desk{toy: &toy{}, home: t.TempDir()}
	d.program = &program{environ: append([]string{"HOME=" + d.home}, environ...)}
	d.parts = parts{table: toyTable(), openLocal: func(context.Context, string, bool) (op.Caller, func() error, error) {
		d.opened++
		return d.toy.host(), func() error { return nil }, nil
	}}
	return d
}

// run runs one command and returns its exit code.
func (d *desk) run(args ...string) int {
	d.out.Reset()
	d.err.Reset()
	p := &program{in: d.in, out: &d.out, err: &d.err, environ: d.environ, ring: d.ring, parts: d.parts}
	if p.in == nil {
		p.in = strings.NewReader("")
	}
	return p.run(context.Background(), args)
}

// toyServer serves the toy as a Loci server does.
func toyServer(t *testing.T, s *toy) *httptest.Server {
	mux := http.NewServeMux()
	host := s.host()
	for _, o := range toyTable().Ops {
		mux.HandleFunc(o.Method+" "+o.Path, func(w http.ResponseWriter, r *http.Request) {
			c := &op.Call{Door: "rest", Proof: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), IdempotencyKey: r.Header.Get("Idempotency-Key"),
				IfMatch: r.Header.Get("If-Match"), Actor: r.Header.Get("X-Loci-Actor"), RequestID: r.Header.Get("X-Request-Id")}
			body, _ := io.ReadAll(r.Body)
			a := op.Args{JSON: body, Split: true}
			for _, f := range o.Fields() {
				if f.Place == op.InPath {
					a.Texts = append(a.Texts, op.Text{Name: f.Name, Value: r.PathValue(f.Name), Place: op.InPath})
				}
			}
			for name, values := range r.URL.Query() {
				for _, value := range values {
					a.Texts = append(a.Texts, op.Text{Name: name, Value: value, Place: op.InQuery})
				}
			}
			raw, err := host.Call(r.Context(), o, c, a)
			if err != nil {
				w.WriteHeader(loci.AsError(err).Code.Status())
				raw, _ = op.Encode(op.NewProblem(err, c.RequestID))
			}
			w.Header().Set("ETag", c.ETag)
			_, _ = w.Write(raw)
		})
	}
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}
