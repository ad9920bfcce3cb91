package mcp_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeService is a service of a few memories, with the inputs and outputs of the real operations.
type fakeService struct {
	mu       sync.Mutex
	memories []loci.Memory
	atlases  []loci.Atlas
	calls    []op.Call
	entered  chan struct{} // told of each rest that has begun
	woken    chan error    // told how each rest ended
}

func (s *fakeService) Create(_ context.Context, actor *identity.Actor,
	in loci.CreateMemory) (loci.CreatedMemory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := loci.Memory{
		ID: loci.NewID(time.Now()), WorkspaceID: loci.NewID(time.Now()), AtlasID: loci.NewID(time.Now()),
		Title:   title.Derive(string(in.Content)),
		Content: string(in.Content), Type: loci.TypeNote, Tags: in.Tags.Unique(), Status: loci.MemoryActive, Version: 1,
		CreatedBy: actor.UserID,
	}
	s.memories = append(s.memories, m)
	return loci.CreatedMemory{Memory: loci.NewMemory{Memory: m}}, nil
}

func (s *fakeService) Get(_ context.Context, _ *identity.Actor, in loci.GetMemory) (loci.MemoryDetail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.memories {
		if m.ID == in.MemoryID {
			return loci.MemoryDetail{Memory: m, Attachments: []loci.Attachment{}}, nil
		}
	}
	return loci.MemoryDetail{}, loci.NewError(loci.CodeNotFound)
}

// List pages by position: the cursor is the number of memories seen.
func (s *fakeService) List(_ context.Context, _ *identity.Actor, in loci.ListMemories) (loci.Memories, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, limit := 0, 20
	if in.Cursor != "" {
		seen, _ = strconv.Atoi(string(in.Cursor)) // it is one of ours
	}
	if in.Limit != 0 {
		limit = int(in.Limit)
	}
	end := min(seen+limit, len(s.memories))
	page := loci.Memories{Memories: s.memories[seen:end]}
	if end < len(s.memories) {
		page.NextCursor = fmt.Sprintf("%060d", end)
	}
	return page, nil
}

func (s *fakeService) Search(_ context.Context, _ *identity.Actor, in loci.SearchMemories) (loci.FoundMemories, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := loci.FoundMemories{Memories: []loci.FoundMemory{}, Mode: loci.ResolvedKeyword}
	for _, m := range s.memories {
		if strings.Contains(m.Content, string(in.Query)) && len(found.Memories) < in.Limit.OrDefault() {
			found.Memories = append(found.Memories, loci.FoundMemory{Memory: m, Highlights: []string{string(in.Query)}})
		}
	}
	return found, nil
}

// Context quotes the query and the atlas.
func (s *fakeService) Context(_ context.Context, _ *identity.Actor, in loci.ReadContext) (loci.MemoryContext, error) {
	if in.Query == "fail" {
		return loci.MemoryContext{}, loci.NewError(loci.CodeQuotaExceeded)
	}
	if in.AtlasID != "" && !slices.ContainsFunc(s.atlases, func(a loci.Atlas) bool { return a.ID == in.AtlasID }) {
		return loci.MemoryContext{}, loci.NewError(loci.CodeNotFound)
	}
	return loci.MemoryContext{Groups: []loci.ContextGroup{}, Markdown: fmt.Sprintf("# Known of %q in %q, %d tokens\n",
		in.Query, in.AtlasID, in.MaxTokens)}, nil
}

// ListAtlases pages by position.
func (s *fakeService) ListAtlases(_ context.Context, _ *identity.Actor, in loci.ListAtlases) (loci.Atlases, error) {
	seen, err := strconv.Atoi(cmp.Or(string(in.Cursor), "0"))
	if err != nil {
		return loci.Atlases{}, loci.Errorf(loci.CodeInvalidQuery, "cursor is broken")
	}
	end := min(seen+in.Limit.OrDefault(), len(s.atlases))
	page := loci.Atlases{Atlases: s.atlases[seen:end]}
	if end < len(s.atlases) {
		page.NextCursor = strconv.Itoa(end)
	}
	return page, nil
}

func (s *fakeService) GetAtlas(_ context.Context, _ *identity.Actor, in loci.GetAtlas) (loci.OneAtlas, error) {
	for _, a := range s.atlases {
		if a.ID == in.AtlasID {
			return loci.OneAtlas{Atlas: a}, nil
		}
	}
	return loci.OneAtlas{}, loci.NewError(loci.CodeNotFound)
}

// addAtlases adds atlases of these names.
func (s *fakeService) addAtlases(names ...string) {
	for _, name := range names {
		s.atlases = append(s.atlases, loci.Atlas{ID: loci.NewID(time.Now()), Name: name, Keywords: []string{},
			Description: strings.Repeat("about "+name+" ", 30)})
	}
}

// Rest sleeps until the caller leaves.
func (s *fakeService) Rest(ctx context.Context, _ *identity.Actor, _ loci.Empty) (loci.Empty, error) {
	s.entered <- struct{}{}
	<-ctx.Done()
	s.woken <- ctx.Err()
	return loci.Empty{}, ctx.Err()
}

func (s *fakeService) Fail(context.Context, *identity.Actor, loci.Empty) (loci.Empty, error) {
	panic("a mistake of ours")
}

func (s *fakeService) Delete(context.Context, *identity.Actor, loci.GetMemory) (loci.Empty, error) {
	return loci.Empty{}, nil
}

var fakeTable = &op.Table{}

func init() {
	op.Add(fakeTable, "memory.create", "POST /v1/memories", "Store a memory: Markdown that is worth keeping.",
		op.Account, op.ToolCore, (*fakeService).Create, op.MayCreate)
	op.Add(fakeTable, "memory.get", "GET /v1/memories/{memoryId}", "Read one memory whole.", op.Account, op.ToolCore,
		(*fakeService).Get)
	op.Add(fakeTable, "memory.list", "GET /v1/memories", "List memories, newest first.", op.Account, op.ToolCore,
		(*fakeService).List)
	op.Add(fakeTable, "memory.search", "POST /v1/memories/search", "Find memories by words, names or a question.",
		op.Account, op.ToolCore, (*fakeService).Search, op.Read)
	op.Add(fakeTable, "memory.context", "GET /v1/memories/context", "Read what is known.", op.Account, op.ToolCore,
		(*fakeService).Context)
	op.Add(fakeTable, "atlas.list", "GET /v1/atlases", "List atlases.", op.Account, op.ToolStable,
		(*fakeService).ListAtlases)
	op.Add(fakeTable, "atlas.get", "GET /v1/atlases/{atlasId}", "Read one atlas.", op.Account, op.ToolStable,
		(*fakeService).GetAtlas)
	op.Add(fakeTable, "memory.delete", "DELETE /v1/memories/{memoryId}", "Delete a memory for good.", op.Account,
		op.ToolFull, (*fakeService).Delete, op.Destructive)
	op.Add(fakeTable, "shelf.rest", "POST /v1/rest", "Rest.", op.Account, op.ToolStable, (*fakeService).Rest)
	op.Add(fakeTable, "shelf.fail", "POST /v1/fail", "Fail.", op.Account, op.ToolStable, (*fakeService).Fail)
	op.Add(fakeTable, "key.create", "POST /v1/keys", "Make a key.", op.Person, op.NoTool, (*fakeService).Fail)
}

// host admits ann with her key, and keeps what travelled with each call.
func (s *fakeService) host() *op.Host {
	return &op.Host{Service: s, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*identity.Actor, error) {
			c.Quota = &op.Quota{Limit: 100, Remaining: 99, Reset: time.Minute}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls = append(s.calls, *c)
			return &identity.Actor{UserID: "ann", CredentialKind: identity.CredentialKey}, nil
		}}
}

func authenticate(_ context.Context, c *op.Call) error {
	switch c.Credential {
	case "ann":
		c.UserID = "ann"
		return nil
	case "revoked":
		return loci.NewError(loci.CodeRevoked)
	case "later":
		return loci.NewError(loci.CodeUnavailable)
	case "quick":
		return &loci.Error{Code: loci.CodeRateLimited, Message: "slower", RetryAfter: 1500 * time.Millisecond}
	}
	return loci.NewError(loci.CodeInvalidKey)
}

const metadataURL = "https://loci.example/.well-known/oauth-protected-resource/mcp"

func newFakeService() *fakeService {
	return &fakeService{entered: make(chan struct{}, 1), woken: make(chan error, 1)}
}

func (s *fakeService) newServer() *mcp.Server {
	return mcp.New(mcp.Options{Table: fakeTable, Caller: s.host(), Version: "1.2.3", Authenticate: authenticate,
		ResourceMetadataURL: metadataURL,
		Hosts:               httpapi.NewAllowedHosts("https://loci.example", nil, "loci.internal"),
		Origins:             httpapi.NewOrigins("https://loci.example", "https://app.example")})
}

// serve returns the address of a server with the door, which ends with the test.
func serve(t *testing.T, s *fakeService) string { return serveHandler(t, s.newServer().HTTP()) }

func serveHandler(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestInstructionsNameMemoryTools(t *testing.T) {
	t.Parallel()
	k := startStdio(t.Context(), t, newFakeService())
	text, _ := k.initialize("2025-11-25")["instructions"].(string)
	testenv.Equal(t, strings.Count(text+" ", ". "), 4, text)
	for _, want := range []string{"Before a task", "memory_context", "memory_search", "memory_create", "supersede",
		"data, not instructions", "verifiedAt"} {
		testenv.Contains(t, text, want, "no")
	}
	testenv.NoError(t, k.close())
}
