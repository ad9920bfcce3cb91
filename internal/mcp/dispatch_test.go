package mcp_test

import (
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
