package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// errorCases are requests of which the params, or the time, are wrong.
var errorCases = []struct {
	method, params string
	code           int
	hint           string
}{
	{"initialize", `{"protocolVersion":1}`, -32602, "params.protocolVersion must be a string."},
	{"initialize", `{"clientInfo":5}`, -32602, "params.clientInfo must be an object."},
	{"initialize", `{"capabilities":[]}`, -32602, "params.capabilities must be an object."},
	{"initialize", `[]`, -32602, "params must be an object."},
	{"initialize", `null`, -32602, "params is required."},
	{"tools/call", `{"name":5}`, -32602, "params.name must be a string."},
	{"tools/call", `null`, -32602, "params is required."},
	{"tools/call", `{"name":"unknown "}`, -32602, `unknown tool "unknown "`},
	{"tools/call", `{"name":"` + strings.Repeat("x", 1000) + `"}`, -32602, "x...\""},
	{"tools/list", `[]`, -32602, "params must be an object."},
	{"tools/list", `{"_meta":5}`, -32602, "params._meta must be an object."},
	{"tools/list", `{"cursor":"x"}`, -32602, "params.cursor does not belong"},
	{"ping", `5`, -32602, "params must be an object."},
	{"resources/subscribe", `{"uri":"x"}`, -32601, "There is no such method."},
	{"resources/list", `{"cursor":"x"}`, -32602, "params.cursor does not belong"},
	{"resources/read", `{"uri":"x"}`, -32002, "Resource not found."},
	{"resources/read", `{"uri":["x"]}`, -32602, "params.uri must be a string."},
	{"resources/read", `{}`, -32602, "params.uri is required."},
	{"prompts/list", `{"cursor":"x"}`, -32602, "params.cursor does not belong"},
	{"prompts/get", `{"name":"explode"}`, -32602, `unknown prompt "explode"`},
	{"prompts/get", `{"name":"recall"}`, -32602, "params.arguments.query is required."},
	{"prompts/get", `{"name":"recall","arguments":{"query":" "}}`, -32602, "params.arguments.query is required."},
	{"prompts/get", `{"name":"recall","arguments":{"query":1}}`, -32602, "params.arguments.query must be a string."},
	{"prompts/get", `{"name":"recall","arguments":[]}`, -32602, "params.arguments must be an object."},
	{"prompts/get", `{"name":"recall","arguments":{"query":"a","query":"b"}}`, -32602, "query is given twice"},
	{"prompts/get", `{"name":"recall","arguments":{"query":"a","words":"b"}}`, -32602, `unknown argument "words"`},
	{"prompts/get", `{"name":"recall","arguments":{"query":"a","atlas":"b"}}`, -32602, "There is no atlas"},
	{"prompts/get", `{"name":"recall","arguments":{"query":"fail"}}`, -32000, "The plan has no room"},
	{"completion/complete", `{"argument":{"name":"atlas","value":""}}`, -32602, "params.ref must be an object."},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"recall"}}`, -32602, "params.argument must be"},
	{"completion/complete", `{"ref":{"type":"ref/tool"},"argument":{"name":"a","value":""}}`, -32602, "ref.type must"},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}}`, -32602,
		`unknown prompt "x"`},
	{"completion/complete", `{"ref":{"type":"ref/resource","uri":"x"},"argument":{"name":"a","value":""}}`, -32602,
		"params.ref.uri must be"},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"recall"},"argument":{"name":"a","value":""}}`, -32602,
		"must be one of query, atlas"},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"recall"},"argument":{"name":"a"}}`, -32602,
		"params.argument.value is required."},
	{"prompts/steal", `{}`, -32601, "There is no such method."},
}

// checkError compares an error with what it should be; none tells of types of Go.
func checkError(t *testing.T, what string, e object, code int, hint string) {
	t.Helper()
	text, _ := e["message"].(string)
	if e["code"] != float64(code) || !strings.Contains(text, hint) || strings.Contains(text, "mcp.") ||
		strings.Contains(text, "json:") {
		t.Errorf("%s: %v, want %d %s", what, e, code, hint)
	}
}

func TestErrorsNameParam(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: "2025-11-25", key: "ann"}
	k := startStdio(t.Context(), t, s)
	for _, f := range errorCases[:5] {
		k.send(`{"jsonrpc":"2.0","id":1,"method":"` + f.method + `","params":` + f.params + `}`)
		checkError(t, f.params, k.receive()["error"].(object), f.code, f.hint)
	}
	k.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_list"}}`)
	checkError(t, "before initialize", k.receive()["error"].(object), -32600, "send initialize first")
	k.initialize("2025-11-25")
	k.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	checkError(t, "a second initialize", k.receive()["error"].(object), -32600, "initialize is sent once")
	for i, f := range errorCases {
		message := `{"jsonrpc":"2.0","id":"a","method":"` + f.method + `","params":` + f.params + `}`
		a := c.post([]byte(message))
		e, _ := a.rpc["error"].(object)
		if checkError(t, message, e, f.code, f.hint); a.StatusCode != 200 || a.rpc["id"] != "a" {
			t.Errorf("%s: %d %s", message, a.StatusCode, a.body)
		}
		if i < 5 {
			continue
		}
		k.send(message)
		m := k.receive()
		e, _ = m["error"].(object)
		if checkError(t, message, e, f.code, f.hint); m["id"] != "a" {
			t.Errorf("%s: %v", message, m)
		}
	}
	for _, message := range []string{`"x"`, `{"jsonrpc":1,"id":1}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"error":5}`} {
		e, _ := c.post([]byte(message)).rpc["error"].(object)
		checkError(t, message, e, -32600, "It is no message")
		k.send(message)
		e, _ = k.receive()["error"].(object)
		checkError(t, message, e, -32600, "It is no message")
	}
	c.version = statelessVersion
	m := c.message("tools/list", object{"cursor": 5})
	a := c.post(m)
	e, _ := a.rpc["error"].(object)
	if checkError(t, "the stateless revision", e, -32602, "params.cursor must be a string."); a.StatusCode != 400 {
		t.Errorf("%d", a.StatusCode)
	}
	a = c.post(c.message("subscriptions/listen", object{"notifications": 5}))
	e, _ = a.rpc["error"].(object)
	checkError(t, "a subscription", e, -32602, "params.notifications must be an object.")
	testenv.NoError(t, k.close())
}

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
	c.post(m).want(400, -32600, "no id")
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
	const head, create = `{"jsonrpc":"2.0","id":1,"method":"tools/call",`, `"arguments":{"content":"x"}}}`
	const broken = "id must hold no NUL and no lone surrogate"
	for message, hint := range map[string]string{
		head + `"params":{"name":"memory_list","name":"memory_create",` + create:            "params.name is given twice",
		head + `"params":{"name":"memory_list","n\u0061me":"memory_create",` + create:       "params.name is given twice",
		head + `"params":{"name":"memory_create","arguments":{},` + create:                  "params.arguments is given twice",
		head + `"params":{"name":"memory_list"},"params":{"name":"memory_create",` + create: "params is given twice",
		head + `"id":2,"params":{"name":"memory_create",` + create:                          "id is given twice",
		head + `"params":{"name":"memory_create","_meta":{"progressToken":1,"progressToken":2},` +
			create: "params._meta.progressToken is given twice",
		`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`:                                                 broken,
		`{"jsonrpc":"2.0","id":"\u0000","method":"ping"}`:                                                 broken,
		`{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{"name":"memory_create",` + create: broken,
		head + `"params":{"name":"memory_create","_meta":{"progressToken":"\udc00"},` +
			create: "params._meta.progressToken must hold",
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
