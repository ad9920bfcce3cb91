package mcp

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

func TestTruncateKeepsMarkdownWhole(t *testing.T) {
	t.Parallel()
	text, long := strings.Repeat("m", 20_000), strings.Repeat("c", 40_000)
	shown := op.Presentation{Whole: "markdown"}
	out, _ := truncateResult([]byte(`{"groups":[{"memories":[{"content":"`+long+`"}]}],"markdown":"`+text+`"}`), -1,
		maxResult, shown)
	if !strings.Contains(string(out), `"markdown":"`+text+`"`) || !strings.Contains(string(out), `"truncated":true`) ||
		len(out) > maxResult {
		t.Errorf("%d bytes: %.100s", len(out), out)
	}
	if out, _ := truncateResult([]byte(`{"groups":[],"markdown":"`+long+`"}`), -1, maxResult, shown); out != nil {
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
	if got, ok := paged.reduceArguments(args, 0); ok {
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
