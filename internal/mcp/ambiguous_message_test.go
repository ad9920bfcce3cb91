package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestResponseReturnsIDUnchanged(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newFakeService()), version: "2025-11-25", key: "ann"}
	for _, id := range []any{0.0, -5.0, 9007199254740991.0, "seven", "", "\u2028<\""} {
		m := c.message("tools/call", object{"name": "memory_list"})
		m["id"] = id
		if a := c.post(m); a.rpc["id"] != id || a.rpc["result"] == nil {
			t.Errorf("%v: %s", id, a.body)
		}
	}
	var m object
	_ = json.Unmarshal([]byte(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"memory_list"}}`), &m)
	if a := c.post(m); a.StatusCode != 400 {
		t.Errorf("no id: %d %s", a.StatusCode, a.body)
	}
}

// A message must be one JSON value in UTF-8; otherwise not even its first part runs.
func TestHTTPRejectsInvalidIDs(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: "2025-11-25", key: "ann"}
	call := `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"memory_create",` +
		`"arguments":{"content":"x"}}}`
	one := fmt.Sprintf(call, "1")
	for message, code := range map[string]int{
		one + "\n" + fmt.Sprintf(call, "2"):          -32700,
		one + " garbage}{":                           -32700,
		fmt.Sprintf(call, "\"\xff\""):                -32700,
		fmt.Sprintf(call, "9007199254740993"):        -32600,
		fmt.Sprintf(call, "1.5"):                     -32600,
		fmt.Sprintf(call, "1e3"):                     -32600,
		fmt.Sprintf(call, "{}"):                      -32600,
		"[" + one + "]":                              -32600,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: -32600,
	} {
		if a := c.post([]byte(message)); a.StatusCode != 400 || a.code() != code || a.rpc["id"] != nil {
			t.Errorf("%q: %d %s", message, a.StatusCode, a.body)
		}
	}
	if len(s.memories) > 0 {
		t.Errorf("%d memories were stored", len(s.memories))
	}
}

// A message that two readers could take for different calls is rejected. The
// operation judges the arguments, and returns its own errors.
func TestHTTPRejectsAmbiguousJSON(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	url := serve(t, s)
	k := startStdio(t.Context(), t, s)
	k.initialize("2025-11-25")
	const head = `{"jsonrpc":"2.0","id":1,"method":"tools/call",`
	for message, hint := range map[string]string{
		head +
			`"params":{"name":"memory_list","name":"memory_create","arguments":{"content":"x"}}}`: "params.name is " +
			"given twice",
		head +
			`"params":{"name":"memory_list","n\u0061me":"memory_create","arguments":{"content":"x"}}}`: "params.name " +
			"is given twice",
		head +
			`"params":{"name":"memory_create","arguments":{},"arguments":{"content":"x"}}}`: "params.arguments is " +
			"given twice",
		head +
			`"params":{"name":"memory_list"},"params":{"name":"memory_create",` +
			`"arguments":{"content":"x"}}}`: "params is given twice",
		head +
			`"id":2,"params":{"name":"memory_create","arguments":{"content":"x"}}}`: "id is given twice",
		head +
			`"params":{"name":"memory_create","_meta":{"progressToken":1,"progressToken":2},` +
			`"arguments":{"content":"x"}}}`: "params._meta.progressToken is given twice",
		`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`: "id must hold no NUL and no lone surrogate",
		`{"jsonrpc":"2.0","id":"\u0000","method":"ping"}`: "id must hold no NUL and no lone surrogate",
		`{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{"name":"memory_create",` +
			`"arguments":{"content":"x"}}}`: "id must hold no NUL and no lone surrogate",
		head +
			`"params":{"name":"memory_create","_meta":{"progressToken":"\udc00"},` +
			`"arguments":{"content":"x"}}}`: "params._meta.progressToken must hold",
		`{"jsonrpc":"2.0","id":1,"method":"` + "ping\\ud800" + `"}`: "method must hold",
	} {
		for _, version := range append(revisions, "") {
			c := client{t: t, url: url, version: version, key: "ann"}
			a := c.post([]byte(message))
			if text, _ := a.rpc["error"].(object)["message"].(string); a.StatusCode != 400 || a.code() != -32700 ||
				a.rpc["id"] != nil || !strings.Contains(text, hint) {
				t.Errorf("%s of %s: %d %s", message, version, a.StatusCode, a.body)
			}
		}
		k.send(message)
		m := k.receive()
		if e, _ := m["error"].(object); e["code"] != -32700.0 || m["id"] != nil ||
			!strings.Contains(e["message"].(string), hint) {
			t.Errorf("%s: %v", message, m)
		}
	}
	c := client{t: t, url: url, version: "2025-11-25", key: "ann"}
	for args, hint := range map[string]string{`{"content":"x","content":"y"}`: "content is given twice",
		`{"content":"\ud800"}`: "lone surrogate"} {
		a := c.post([]byte(head + `"params":{"name":"memory_create","arguments":` + args + `}}`))
		if v, failed := unpack(t, a.rpc["result"].(object)); !failed || v["code"] != "invalid_query" ||
			!strings.Contains(v["message"].(string), hint) {
			t.Errorf("%s: %s", args, a.body)
		}
	}
	// The letters of a name count.
	if a := c.post([]byte(head +
		`"params":{"name":"memory_list","NAME":"memory_create","Arguments":{"content":"x"}}}`)); a.rpc["result"] ==
		nil {
		t.Errorf("%s", a.body)
	}
	if len(s.memories) > 0 {
		t.Errorf("%d memories were stored", len(s.memories))
	}
	testenv.NoError(t, k.close())
}

// A request that is a response too has no answer that its sender waits for.
func TestRequestWithResultIsRejected(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: "2025-11-25", key: "ann"}
	k := startStdio(t.Context(), t, s)
	k.initialize("2025-11-25")
	for _, extra := range []string{`"result":{}`, `"result":null`, `"error":{}`, `"error":1`} {
		text := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_create",` +
			`"arguments":{"content":"x"}},` + extra + `}`
		if a := c.post([]byte(text)); a.StatusCode != 400 || a.code() != -32600 || a.rpc["id"] != 1.0 {
			t.Errorf("%s: %d %s", extra, a.StatusCode, a.body)
		}
		k.send(text)
		if e, _ := k.receive()["error"].(object); e["code"] != -32600.0 {
			t.Errorf("%s on stdio: %v", extra, e)
		}
	}
	if len(s.memories) > 0 {
		t.Errorf("%d memories were stored", len(s.memories))
	}
	testenv.NoError(t, k.close())
}
