package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// A recordService answers with a record, lists and a snapshot side by side.
type recordService struct {
	listed, memories int
	content          string
}

type recordInput struct {
	MaxTokens loci.TokenBudget `json:"max_tokens,omitzero"`
}

type recordItem struct {
	ID      string `json:"id"`
	Content string `json:"content"`
}

type recordOutput struct {
	Record  recordItem          `json:"record"`
	Items   []recordItem        `json:"items"`
	Context *loci.MemoryContext `json:"context,omitzero"`
	History []recordItem        `json:"history"`
}

type createdRecord struct{ recordOutput }

func (s recordService) Get(_ context.Context, _ *identity.Actor, in recordInput) (out recordOutput, err error) {
	out.Record = recordItem{"record", s.content}
	for i := range s.listed {
		out.Items = append(out.Items, recordItem{fmt.Sprint("item-", i), s.content})
		out.History = append(out.History, recordItem{fmt.Sprint("change-", i), "changed"})
	}
	memories := make([]fence.Memory, s.memories)
	for i := range memories {
		memories[i] = fence.Memory{ID: fmt.Sprint("memory-", i), Content: strings.Repeat("known \n", 100)}
	}
	_, markdown := fence.MarkdownWithin([]fence.Group{{Name: "fact", Memories: memories}}, int(in.MaxTokens), "")
	out.Context = &loci.MemoryContext{Groups: []loci.ContextGroup{}, Markdown: markdown}
	return out, nil
}

func (s recordService) Create(ctx context.Context, actor *identity.Actor, in recordInput) (createdRecord, error) {
	out, err := s.Get(ctx, actor, in)
	return createdRecord{out}, err
}

// callRecord returns the answer of the tool of one method of the service.
func (s recordService) callRecord(t *testing.T, name string) (out recordOutput, raw []byte, calls int) {
	t.Helper()
	host := &op.Host{Service: s, Log: slog.New(slog.DiscardHandler),
		Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) { return &identity.Actor{}, nil }}
	table, counter := &op.Table{}, &callCounter{Caller: host}
	op.Add(table, "record.get", "GET /record", "Read.", op.Account, op.ToolCore, recordService.Get)
	op.Add(table, "record.create", "POST /record", "Make.", op.Account, op.ToolCore, recordService.Create, op.Creates)
	d := New(Options{Table: table, Caller: counter})
	raw, failed := d.callTool(t.Context(), d.tools[op.CoreTools][name], &op.Call{}, nil)
	if err := json.Unmarshal(raw, &out); failed || err != nil || len(raw) > maxResult {
		t.Fatalf("%v, %d bytes: %.200s", err, len(raw), raw)
	}
	return out, raw, counter.calls
}

// TestListsBesideSnapshotLoseItems reads a record whose lists have no room: the newest items stay, in their order.
func TestListsBesideSnapshotLoseItems(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]recordService{
		"lists alone":     {100, 0, strings.Repeat("c", 32<<10)},
		"a long snapshot": {100, 100, strings.Repeat("c", 32<<10)},
		"a snapshot":      {0, 20, "short"},
		"short items":     {100, 10, "short"},
	} {
		out, raw, _ := s.callRecord(t, "record_get")
		_, whole := fence.MarkdownWithin(nil, 0, "")
		if s.memories > 0 {
			whole = out.Context.Markdown
			if fence.Prefix(whole+"x", len(whole)) != whole || !strings.Contains(whole, "Memory memory-0 ") {
				t.Errorf("%s: the snapshot ends in the middle:\n%s", name, whole)
			}
		}
		if out.Context.Markdown != whole || len(out.Items) < min(s.listed, 5) || len(out.History) < min(s.listed, 5) {
			t.Errorf("%s: %d items, %d changes, %d bytes", name, len(out.Items), len(out.History), len(raw))
		}
		for i, item := range out.Items {
			if item.ID != fmt.Sprint("item-", i) || len(item.Content) < min(len(s.content), minText) {
				t.Errorf("%s: item %d is %s with %d bytes", name, i, item.ID, len(item.Content))
			}
		}
		if cut := strings.Contains(string(raw), `"truncated":true`); cut != (len(out.Items) < s.listed ||
			len(s.content) > len(out.Record.Content)) {
			t.Errorf("%s: truncated is %v with %d items", name, cut, len(out.Items))
		}
	}
}

// TestSnapshotOfWriteLosesMemories starts a record with more memories than fit. It cannot be asked for again.
func TestSnapshotOfWriteLosesMemories(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"short", strings.Repeat("\n", 40<<10)} {
		s := recordService{listed: 0, memories: 1000, content: content}
		out, raw, calls := s.callRecord(t, "record_create")
		markdown := out.Context.Markdown
		if calls != 1 || strings.Count(markdown, "Memory memory-") < 20 || fence.Prefix(markdown+"x",
			len(markdown)) != markdown || !strings.Contains(string(raw), `"truncated":true`) {
			t.Errorf("%d calls, %d bytes of %d:\n%s", calls, len(markdown), len(raw), markdown)
		}
	}
}

func TestTruncateKeepsMarkdownWhole(t *testing.T) {
	t.Parallel()
	text, long := strings.Repeat("m", 20_000), strings.Repeat("c", 40_000)
	shown := op.Presentation{Whole: "markdown"}
	out, _ := truncateResult([]byte(`{"groups":[{"memories":[{"content":"`+long+`"}]}],"markdown":"`+text+`"}`),
		shown)
	if !strings.Contains(string(out), `"markdown":"`+text+`"`) || !strings.Contains(string(out), `"truncated":true`) ||
		len(out) > maxResult {
		t.Errorf("%d bytes: %.100s", len(out), out)
	}
	if out, _ := truncateResult([]byte(`{"groups":[],"markdown":"`+long+`"}`), shown); out != nil {
		t.Errorf("a text of %d bytes was cut to %d", len(long), len(out))
	}
}

func TestToolReducesTokensWhenResultIsTooLong(t *testing.T) {
	t.Parallel()
	budgeted := &tool{defaults: []op.Field{{Name: "max_tokens", ToolDefault: 8000}}}
	for given, want := range map[string]string{
		`{"max_tokens":8000}`: `{"max_tokens":6000}`, `{"max_tokens":1e9,"limit":3}`: `{"max_tokens":6000,"limit":3}`,
		`{"max_tokens":1}`: `{"max_tokens":1}`, `{"limit":3,"max_tokens":100}`: `{"max_tokens":75,"limit":3}`,
		`{"max_token\u0073":1e2}`: `{"max_tokens":75}`,
	} {
		if got, ok := budgeted.reduceArguments([]byte(given), 9); !ok || string(got) != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
	paged := &tool{isPaged: true, defaults: []op.Field{{Name: "limit", ToolDefault: 10}}}
	args := []byte(`{"limit":50}`)
	if got, ok := paged.reduceArguments(args, 33); !ok || string(got) != `{"limit":30}` {
		t.Errorf("a page: %s", got)
	}
	if got, ok := paged.reduceArguments(args, 0); !ok || string(got) != `{"limit":1}` {
		t.Errorf("a page of which no item fits: %s", got)
	}
}

type emptyService struct{}

func (emptyService) readContext(context.Context, *identity.Actor, loci.ReadContext) (loci.MemoryContext, error) {
	return loci.MemoryContext{Markdown: strings.Repeat("m", 2*maxResult)}, nil
}

// A callCounter counts the calls of a Caller.
type callCounter struct {
	op.Caller
	calls int
}

func (c *callCounter) Call(ctx context.Context, o *op.Op, call *op.Call, a op.Args) ([]byte, error) {
	c.calls++
	return c.Caller.Call(ctx, o, call, a)
}

func TestToolRepeatsOnlyReadsWhenResultIsTooLong(t *testing.T) {
	t.Parallel()
	host := &op.Host{Service: emptyService{}, Log: slog.New(slog.DiscardHandler),
		Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) { return &identity.Actor{}, nil }}
	for traits, want := range map[op.Trait]int{0: 1, op.Read: 1 + maxRetries} {
		table, counter := &op.Table{}, &callCounter{Caller: host}
		op.Add(table, "memory.context", "POST /context", "Read.", op.Account, op.ToolCore, emptyService.readContext,
			traits)
		d := New(Options{Table: table, Caller: counter})
		out, failed := d.callTool(t.Context(), d.tools[op.CoreTools]["memory_context"], &op.Call{}, nil)
		if failed || counter.calls != want {
			t.Errorf("traits %d: %d calls, want %d: %.100s", traits, counter.calls, want, out)
		}
	}
}
