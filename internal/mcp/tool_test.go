package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func names(list object) []string {
	var out []string
	for _, t := range list["tools"].([]any) {
		out = append(out, t.(object)["name"].(string))
	}
	slices.Sort(out)
	return out
}

func TestToolsetIsSelectedByQuery(t *testing.T) {
	t.Parallel()
	d := newFakeService().newServer()
	d.Toolset = op.StableTools
	url := serveHandler(t, d.HTTP())
	core := []string{"memory_context", "memory_create", "memory_get", "memory_list", "memory_search"}
	stable := append(append([]string{"atlas_get", "atlas_list"}, core...), "shelf_fail", "shelf_rest")
	full := slices.Insert(slices.Clone(stable), 4, "memory_delete")
	for query, want := range map[string][]string{"": stable, "?toolset=core": core, "?toolset=stable": stable,
		"?toolset=full": full, "?other=1": stable} {
		for _, version := range revisions {
			c := client{t: t, url: url + query, version: version, key: "ann"}
			testenv.EqualSlices(t, names(c.result("tools/list", nil)), want, query)
		}
	}
	c := client{t: t, url: url + "?toolset=core", version: "2025-11-25", key: "ann"}
	for _, tool := range []string{"shelf_rest", "key_create", "memory_explode"} {
		a := c.post(c.message("tools/call", object{"name": tool, "arguments": object{}}))
		a.want(200, -32602, tool)
	}
	for query, text := range map[string]string{"?toolset=none": "toolset must be one of core, stable, full",
		"?toolset=core%": "percent-encoded", "?%zz": "percent-encoded", "?toolset=core;a=b": "percent-encoded",
		"?toolset=core&toolset=full": "given twice"} {
		c.url = url + query
		if a := c.post(c.message("tools/list", nil)); a.StatusCode != 400 || a.rpc["code"] != "invalid_query" ||
			!strings.Contains(string(a.body), text) {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.body)
		}
	}
}

func TestToolsDescribeOperations(t *testing.T) {
	t.Parallel()
	out := mcp.List(fakeTable, op.FullTools)
	for _, want := range []string{
		`{"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"readOnlyHint":true,` +
			`"title":"Memory get"},"description":"Read one memory whole. part (of a long text, from 1)",` +
			`"inputSchema":{"type":"object","properties":{"memoryId":{"type":"string"},"part":{"type":"integer"}},` +
			`"required":["memoryId"]},"name":"memory_get"}`,
		`"annotations":{"destructiveHint":false,"idempotentHint":false,"openWorldHint":false,` +
			`"readOnlyHint":false,"title":"Memory create"}`,
		`"annotations":{"destructiveHint":true,"idempotentHint":true,"openWorldHint":false,` +
			`"readOnlyHint":false,"title":"Memory delete"}`,
		`"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,` +
			`"readOnlyHint":true,"title":"Memory search"}`,
		`"type":{"type":"string","enum":["fact","decision","preference","task","architecture","note"]}`,
		`"limit":{"type":"integer"}`,
		"newest first. tags (all of these), since/until (created: date, time, 7d), cursor (last nextCursor)",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	for _, useless := range []string{`"format"`, `"default"`, `"pattern"`, `"null"`, `outputSchema`, "Default:"} {
		if bytes.Contains(out, []byte(useless)) {
			t.Errorf("%s in %s", useless, out)
		}
	}
	if fakeTable.Op("memory.get").InputSchema().Properties["offset"] != nil {
		t.Error("the operation itself has changed")
	}
}

type emptyService struct{}

func noop[In, Out any](emptyService, context.Context, *identity.Actor, In) (out Out, err error) {
	return
}

// TestCoreToolsetFitsMaxListBytes measures the core set with inputs as large as those of the real operations.
func TestCoreToolsetFitsMaxListBytes(t *testing.T) {
	t.Parallel()
	const line = "Do one thing with a memory, briefly."
	table := &op.Table{}
	op.Add(table, "memory.create", "POST /create", line, op.Account, op.ToolCore,
		noop[loci.CreateMemory, loci.CreatedMemory], op.MayCreate)
	op.Add(table, "memory.list", "GET /list", line, op.Account, op.ToolCore, noop[loci.ListMemories, loci.Memories])
	op.Add(table, "memory.search", "POST /search", line, op.Account, op.ToolCore,
		noop[loci.SearchMemories, loci.FoundMemories], op.Read)
	op.Add(table, "memory.update", "PATCH /update/{memoryId}", line, op.Account, op.ToolCore,
		noop[loci.UpdateMemory, loci.OneMemory])
	op.Add(table, "memory.context", "GET /context", line, op.Account, op.ToolCore,
		noop[loci.ReadContext, loci.MemoryContext])
	for _, verb := range []string{"get", "append", "verify", "supersede", "archive", "restore"} {
		op.Add(table, "memory."+verb, "GET /"+verb+"/{memoryId}", line, op.Account, op.ToolCore,
			noop[loci.GetMemory, loci.MemoryDetail])
	}
	out := mcp.List(table, op.CoreTools)
	if t.Logf("%d bytes", len(out)); len(out) > mcp.MaxListBytes(op.CoreTools) {
		t.Errorf("%d bytes, at most %d", len(out), mcp.MaxListBytes(op.CoreTools))
	}
	for _, want := range []string{
		`title (\"\": from the text)`, `"title":{"type":"string"}`, // null would be a second type
		"max_tokens (omits the rest; default 8000)",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

func TestToolErrorsAreResultsWithCode(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	for _, version := range revisions {
		c := client{t: t, url: url, version: version, key: "ann"}
		for _, test := range []struct {
			tool, code, hint string
			args             object
		}{
			{"memory_get", "not_found", "", object{"memoryId": "nonsense"}},
			{"memory_get", "invalid_query", "memoryId", object{}},
			{"memory_get", "invalid_query", "part", object{"memoryId": "x", "part": -1}},
			{"memory_get", "invalid_query", "part", object{"memoryId": "x", "part": "one"}},
			{"memory_create", "invalid_query", `"contents": did you mean "content"`,
				object{"content": "x", "contents": "y"}},
			{"memory_create", "invalid_query", "content", object{"content": ""}},
			{"memory_list", "invalid_query", "limit", object{"limit": "many"}},
			{"shelf_fail", "internal_error", "", object{}},
		} {
			v, failed := c.tool(test.tool, test.args)
			if !failed || v["code"] != test.code || v["error"] != test.code || len(v["requestId"].(string)) != 36 ||
				!strings.Contains(v["message"].(string), test.hint) {
				t.Errorf("%s %v: %v", test.tool, test.args, v)
			}
		}
	}
	c := client{t: t, url: url, version: "2025-11-25", key: "ann"}
	for _, params := range []string{`{"name":"memory_create","arguments":{"content":"x","content":"y"}}`,
		`{"name":"memory_get","arguments":{"memoryId":"x","part":1,"part":2}}`} {
		a := c.post([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`))
		if v, failed := unpack(t, a.rpc["result"].(object)); !failed || v["code"] != "invalid_query" ||
			!strings.Contains(v["message"].(string), "twice") {
			t.Errorf("a duplicate key: %s", a.body)
		}
	}
}

func TestToolAcceptsMissingArguments(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newFakeService()), version: "2025-11-25", key: "ann"}
	for _, params := range []string{`{"name":"memory_list"}`, `{"name":"memory_list","arguments":null}`,
		`{"name":"memory_list","arguments":{}}`} {
		a := c.post(json.RawMessage(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`))
		if v, failed := unpack(t, a.rpc["result"].(object)); failed || v["ok"] != true {
			t.Errorf("%s: %v", params, v)
		}
	}
}

// TestPutToolTakesQueryFields takes a field of the query as any argument. A repeated PUT has no further effect.
func TestPutToolTakesQueryFields(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	op.Add(table, "memory.update", "PUT /update/{memoryId}?content", "Replace.", op.Account, op.ToolCore,
		noop[loci.UpdateMemory, loci.OneMemory])
	if out := mcp.List(table, op.CoreTools); !bytes.Contains(out, []byte(`"idempotentHint":true`)) {
		t.Errorf("%s", out)
	}
	host := newFakeService().host()
	host.Service = emptyService{}
	d := mcp.New(mcp.Options{Table: table, Caller: host, Authenticate: authenticate})
	c := client{t: t, url: serveHandler(t, d.HTTP()), version: "2025-11-25", key: "ann"}
	if v, failed := c.tool("memory_update", object{"memoryId": "x", "content": "y"}); failed {
		t.Errorf("%v", v)
	}
}

func TestToolReadsLenientArguments(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	op.Add(table, "memory.update", "PATCH /update/{memoryId}", "Change.", op.Account, op.ToolCore,
		noop[loci.UpdateMemory, loci.OneMemory])
	host := newFakeService().host()
	host.Service = emptyService{}
	d := mcp.New(mcp.Options{Table: table, Caller: host, Authenticate: authenticate})
	c := client{t: t, url: serveHandler(t, d.HTTP()), version: "2025-11-25", key: "ann"}
	for args, message := range map[string]string{
		`{"memoryId":"x","title":null}`:            "send at least one field to change",
		`{"memoryId":"x","content":"","type":""}`:  "send at least one field to change",
		`{"memoryId":"x","tags":"a","tags":["b"]}`: "tags is given twice",
		`{"memoryId":"x","title":""}`:              "",
		`{"memoryId":"x","tags":"a, b"}`:           "",
	} {
		value, failed := c.tool("memory_update", json.RawMessage(args))
		if got, _ := value["message"].(string); failed != (message != "") || !strings.Contains(got, message) {
			t.Errorf("%s: %v", args, value)
		}
	}
}
