package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/title"
)

// A fakeService is a service that returns its input.
type fakeService struct {
	actor   identity.Actor
	create  loci.CreateMemory
	search  loci.SearchMemories
	list    loci.ListMemories
	deleted string
	pages   int // of the list; 0 never ends
	update  loci.UpdateAtlas
	invite  loci.CreateInvitations
	respond loci.RespondInvitation
	sort    sortInput
	inbox   []loci.InboxMessage
	sent    loci.SendMessage
	moved   loci.ID   // the message that was acknowledged
	missing bool      // no memory is found
	damaged string    // is added to the content of a memory that doctor reads
	refused loci.Code // of a creation
	variant string    // the only method of a memory in the document
	keeps   bool      // refuses deletions
}

// A sortInput has nested lists and booleans, which the first operations lack.
type sortInput struct {
	Rules   []loci.Source `json:"rules,omitzero"`
	Deep    bool          `json:"deep,omitzero"`
	Speed   float64       `json:"speed,omitzero"`
	Extra   loci.Metadata `json:"extra,omitzero"`
	Toggles *toggles      `json:"toggles,omitzero"`
}

// toggles are named booleans.
type toggles struct {
	Attic  *bool `json:"attic,omitzero"`
	Cellar *bool `json:"cellar,omitzero"`
}

const (
	fakeID     = "01890000-0000-7000-8000-000000000001"
	fakeTwinID = "01890000-0000-7000-8001-000000000002" // of the same millisecond
)

func (t *fakeService) Create(_ context.Context, actor *identity.Actor,
	in loci.CreateMemory) (out loci.CreatedMemory, err error) {
	if t.refused != "" {
		return out, loci.NewError(t.refused)
	}
	t.actor, t.create = *actor, in
	out.Memory.Memory = fakeMemory(string(in.Content))
	out.Memory.Routing.Matched = []string{}
	return out, nil
}

func fakeMemory(content string) loci.Memory {
	return loci.Memory{ID: fakeID, Title: title.Derive(content), Content: content, Type: loci.TypeFact,
		Tags: []string{"a", "b"}, Status: loci.MemoryActive, Version: 1, CreatedAt: 1e15, UpdatedAt: 1e15}
}

func (t *fakeService) Get(_ context.Context, _ *identity.Actor, in loci.GetMemory) (out loci.MemoryDetail, err error) {
	if in.MemoryID != fakeID || t.missing {
		return out, loci.NewError(loci.CodeNotFound)
	}
	if strings.HasPrefix(string(t.create.Content), "loci doctor") {
		return loci.MemoryDetail{Memory: fakeMemory(string(t.create.Content) + t.damaged)}, nil
	}
	return loci.MemoryDetail{Memory: fakeMemory("# Rock\nHard <b>\x1b[31m."), Attachments: []loci.Attachment{}}, nil
}

func (t *fakeService) List(_ context.Context, _ *identity.Actor, in loci.ListMemories) (loci.Memories, error) {
	t.list = in
	if in.Limit == 1 {
		return loci.Memories{Memories: []loci.Memory{}}, nil
	}
	two := fakeMemory("日本語 two")
	two.ID = fakeTwinID
	page := loci.Memories{Memories: []loci.Memory{fakeMemory("One"), two}, Page: loci.Page{NextCursor: "next"}}
	if n, _ := strconv.Atoi(strings.TrimPrefix(string(in.Cursor), "next")); t.pages > 0 {
		page.NextCursor = ""
		if n+1 < t.pages {
			page.NextCursor = fmt.Sprint("next", n+1)
		}
	}
	return page, nil
}

func (t *fakeService) Delete(_ context.Context, _ *identity.Actor, in loci.GetMemory) (loci.Empty, error) {
	if t.deleted = string(in.MemoryID); t.keeps {
		return loci.Empty{}, loci.NewError(loci.CodeUnavailable)
	}
	return loci.Empty{}, nil
}

func (t *fakeService) Search(_ context.Context, _ *identity.Actor, in loci.SearchMemories) (loci.FoundMemories, error) {
	t.search = in
	return loci.FoundMemories{Memories: []loci.FoundMemory{}, Mode: loci.ResolvedKeyword}, nil
}

func (t *fakeService) Update(_ context.Context, actor *identity.Actor, in loci.UpdateAtlas) (loci.OneAtlas, error) {
	t.actor, t.update = *actor, in
	return loci.OneAtlas{}, nil
}

func (t *fakeService) Invite(_ context.Context, _ *identity.Actor,
	in loci.CreateInvitations) (loci.CreatedInvitations, error) {
	t.invite = in
	return loci.CreatedInvitations{Invitations: []loci.NewInvitation{},
		Skipped: []loci.SkippedInvitation{{Email: "a@b.c", Reason: loci.SkipAlreadyMember}}}, nil
}

func (t *fakeService) Respond(_ context.Context, _ *identity.Actor, in loci.RespondInvitation) (loci.Empty, error) {
	t.respond = in
	return loci.Empty{}, nil
}

func (t *fakeService) Sort(_ context.Context, _ *identity.Actor, in sortInput) (loci.Empty, error) {
	t.sort = in
	return loci.Empty{}, nil
}

func (t *fakeService) Send(_ context.Context, actor *identity.Actor, in loci.SendMessage) (loci.SentMessage, error) {
	t.actor, t.sent = *actor, in
	out := loci.SentMessage{Recipients: []loci.Recipient{}, Skipped: []loci.SkippedRecipient{}}
	if in.ToAgentID != "" {
		out.Recipients = append(out.Recipients, loci.Recipient{AgentID: in.ToAgentID})
	}
	return out, nil
}

// Inbox returns a message a page.
func (t *fakeService) Inbox(_ context.Context, _ *identity.Actor, in loci.ListInbox) (page loci.Inbox, err error) {
	at, _ := strconv.Atoi(string(in.Cursor))
	for i, m := range t.inbox[at:] {
		if closed := m.Receipt.Status == loci.ReceiptClosed; closed == (in.Status == loci.ReceiptClosed) {
			page.Messages = []loci.InboxMessage{m}
			if at += i + 1; at < len(t.inbox) {
				page.NextCursor = strconv.Itoa(at)
			}
			break
		}
	}
	return page, nil
}

func (t *fakeService) Acknowledge(_ context.Context, actor *identity.Actor,
	in loci.GetMessage) (out loci.OneReceipt, err error) {
	t.actor, t.moved = *actor, in.MessageID
	return out, nil
}

func (t *fakeService) Me(context.Context, *identity.Actor, loci.Empty) (loci.OneUser, error) {
	return loci.OneUser{User: loci.User{ID: fakeID, Email: "ada@example.org"}}, nil
}

func fakeTable() *op.Table {
	t := &op.Table{}
	op.Add(t, "memory.create", "POST /v1/memories", "Write a memory.", op.Account, op.ToolCore, (*fakeService).Create,
		op.MayCreate)
	op.Add(t, "memory.get", "GET /v1/memories/{memoryId}", "Read a memory.", op.Account, op.ToolCore,
		(*fakeService).Get)
	op.Add(t, "memory.list", "GET /v1/memories", "List memories.", op.Account, op.ToolCore, (*fakeService).List)
	op.Add(t, "memory.delete", "DELETE /v1/memories/{memoryId}", "Delete a memory.", op.Account, op.ToolFull,
		(*fakeService).Delete, op.IfMatch, op.Destructive)
	op.Add(t, "memory.search", "POST /v1/memories/search", "Find memories.", op.Account, op.ToolCore,
		(*fakeService).Search, op.Read)
	op.Add(t, "atlas.update", "PATCH /v1/atlases/{atlasId}", "Change an atlas.", op.Account, op.ToolCore,
		(*fakeService).Update, op.IfMatch)
	op.Add(t, "invitation.create", "POST /v1/workspaces/{workspaceId}/invitations", "Invite people.", op.Account,
		op.ToolStable, (*fakeService).Invite, op.Creates)
	op.Add(t, "invitation.respond", "POST /v1/invitations/{invitationId}/respond", "Answer.", op.Account, op.ToolStable,
		(*fakeService).Respond)
	op.Add(t, "toy_box.sort", "POST /v1/sort", "Sort toys.", op.Account, op.ToolFull, (*fakeService).Sort)
	op.Add(t, "account.me", "GET /v1/me", "See yourself.", op.Account, op.NoTool, (*fakeService).Me)
	op.Add(t, "agent.send", "POST /v1/agent-messages", "Send.", op.Agent, op.ToolFull, (*fakeService).Send, op.Creates,
		op.ServerOnly)
	op.Add(t, "agent.inbox", "GET /v1/agent-messages/inbox", "List.", op.Agent, op.ToolFull, (*fakeService).Inbox,
		op.ServerOnly)
	op.Add(t, "agent.acknowledge", "POST /v1/agent-messages/{messageId}/acknowledge", "Mark.", op.Agent, op.ToolFull,
		(*fakeService).Acknowledge, op.ServerOnly)
	op.Add(t, "auth.setup", "POST /v1/auth/setup", "Set up.", op.Public, op.BrowserOnly, (*fakeService).Sort)
	return t
}

// newFakeOp returns an operation of these types, for its answers.
func newFakeOp[In, Out any](name string) *op.Op {
	return op.Add(&op.Table{}, name, "GET /v1/answers", "Answer.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, In) (out Out, err error) { return out, nil }).Op
}

func (t *fakeService) host() *op.Host {
	return &op.Host{Service: t, Log: slog.New(slog.DiscardHandler),
		Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*identity.Actor, error) {
			if c.Transport == "rest" && c.Credential != fakeKey {
				return nil, loci.NewError(loci.CodeInvalidKey)
			}
			actor := &identity.Actor{UserID: "ann", CredentialKind: identity.CredentialKey}
			if c.ActorHeader == op.ActorAgent {
				actor.AgentID = "agt_1"
			}
			return actor, nil
		}}
}

const fakeKey = "loci_live_toy"

// A testTerminal is a person's machine on which loci runs.
type testTerminal struct {
	*program
	service   *fakeService
	out, err  bytes.Buffer
	home      string
	in        io.Reader
	openCount int
}

func newTestTerminal(t *testing.T, environ ...string) *testTerminal {
	d := &testTerminal{service: &fakeService{}, home: t.TempDir()}
	d.program = &program{Console: console.Console{Environ: append([]string{"HOME=" + d.home}, environ...)}}
	d.deps = deps{table: fakeTable(), signInTimeout: 10 * time.Second, hookTime: time.Minute,
		openLocal: func(context.Context, string, bool) (op.Caller, func() error, error) {
			d.openCount++
			return fakeCaller{d.table, d.service.host()}, func() error { return nil }, nil
		}}
	return d
}

// A fakeCaller runs the operation of a table that has the name of the called one.
type fakeCaller struct {
	table *op.Table
	host  *op.Host
}

func (c fakeCaller) Call(ctx context.Context, o *op.Op, call *op.Call, a op.Args) ([]byte, error) {
	if o = c.table.Op(o.Name); o == nil {
		return nil, loci.NewError(loci.CodeNotFound)
	}
	return c.host.Call(ctx, o, call, a)
}

// run runs one command and returns its exit code.
func (d *testTerminal) run(args ...string) int {
	d.out.Reset()
	d.err.Reset()
	p := &program{Console: console.Console{In: d.in, Out: &d.out, Err: &d.err, Environ: d.Environ}, keyring: d.keyring,
		deps: d.deps}
	if p.In == nil {
		p.In = strings.NewReader("")
	}
	return p.run(context.Background(), args)
}

// newFakeServer serves the fake service as a Loci server does.
func newFakeServer(t *testing.T, s *fakeService) *httptest.Server {
	server := httptest.NewServer(s.routes())
	t.Cleanup(server.Close)
	return server
}

// routes returns the REST API of the fake service.
func (t *fakeService) routes() http.Handler {
	mux := http.NewServeMux()
	host := t.host()
	for _, o := range fakeTable().Ops {
		mux.HandleFunc(o.Method+" "+o.Path, func(w http.ResponseWriter, r *http.Request) {
			c := &op.Call{Transport: "rest", Credential: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
				IdempotencyKey: r.Header.Get("Idempotency-Key"),
				IfMatch:        r.Header.Get("If-Match"), ActorHeader: r.Header.Get("X-Loci-Actor"),
				RequestID: r.Header.Get("X-Request-Id")}
			body, _ := io.ReadAll(r.Body)
			a := op.Args{JSON: body, FromHTTP: true}
			for _, f := range o.Fields() {
				if f.Location == op.InPath {
					a.Params = append(a.Params, op.Param{Name: f.Name, Value: r.PathValue(f.Name), Location: op.InPath})
				}
			}
			for name, values := range r.URL.Query() {
				for _, value := range values {
					a.Params = append(a.Params, op.Param{Name: name, Value: value, Location: op.InQuery})
				}
			}
			raw, err := host.Call(r.Context(), o, c, a)
			if err != nil {
				w.WriteHeader(loci.AsError(err).Code.Status())
				raw, _ = op.Encode(op.NewErrorBody(err, c.RequestID))
			}
			w.Header().Set("ETag", c.ETag)
			_, _ = w.Write(raw)
		})
	}
	mux.HandleFunc("GET /v1/agent-messages/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: ready\ndata: {\"ok\":true,\"agentId\":\"agt_1\",\"unread\":[{\"id\":%q,"+
			"\"workspaceId\":%q}]}\n\nevent: auth.revoked\ndata: {\"ok\":true}\n\n", fakeID,
			r.URL.Query().Get("workspace_id"))
	})
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"paths":{"/v1/memories/{memoryId}":{"`+cmp.Or(t.variant, "delete")+`":{}}}}`)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok":true,"service":"loci"}`)
	})
	return mux
}
