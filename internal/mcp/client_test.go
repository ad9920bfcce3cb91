package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/testenv"
)

const statelessVersion = "2026-07-28"

var (
	handshakeVersions = []string{"2025-06-18", "2025-11-25"}
	revisions         = append(handshakeVersions, statelessVersion)
)

type object = map[string]any

// A client speaks one revision of the protocol with nothing but HTTP.
type client struct {
	t       *testing.T
	url     string
	version string // empty sends no version header
	key     string
}

type answer struct {
	*http.Response
	t    *testing.T
	body []byte
	rpc  object
}

func (c client) message(method string, params object) object {
	if params == nil {
		params = object{}
	}
	if c.version == statelessVersion {
		params["_meta"] = object{
			"io.modelcontextprotocol/protocolVersion":    statelessVersion,
			"io.modelcontextprotocol/clientCapabilities": object{},
			"io.modelcontextprotocol/clientInfo":         object{"name": "test", "version": "1"},
		}
	}
	m := object{"jsonrpc": "2.0", "method": method, "params": params}
	if !strings.HasPrefix(method, "notifications/") {
		m["id"] = 7
	}
	return m
}

// post sends a message, or a body as it is; headers go in pairs. An empty value takes one away, and a
// name with a plus at its end adds a value.
func (c client) post(message any, headers ...string) answer {
	c.t.Helper()
	body, ok := message.([]byte)
	if !ok {
		body = testenv.Must(json.Marshal(message))(c.t)
	}
	r := testenv.Must(http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, bytes.NewReader(body)))(c.t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.version != "" {
		r.Header.Set("MCP-Protocol-Version", c.version)
	}
	if m, ok := message.(object); ok && c.version == statelessVersion {
		r.Header.Set("Mcp-Method", m["method"].(string))
		params, _ := m["params"].(object)
		for _, named := range []string{"name", "uri"} {
			if name, ok := params[named].(string); ok {
				r.Header.Set("Mcp-Name", name)
			}
		}
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		case strings.HasSuffix(headers[i], "+"):
			r.Header.Add(strings.TrimSuffix(headers[i], "+"), headers[i+1])
		case headers[i] == "Host":
			r.Host = headers[i+1]
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return do(c.t, r)
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	resp := testenv.Must(testenv.Client.Do(r))(t)
	defer resp.Body.Close()
	body := testenv.Must(io.ReadAll(resp.Body))(t)
	a := answer{Response: resp, t: t, body: body}
	_ = json.Unmarshal(body, &a.rpc) // a stream or an empty body is no object
	return a
}

// result asks and returns the result.
func (c client) result(method string, params object) object {
	c.t.Helper()
	a := c.post(c.message(method, params))
	result, ok := a.rpc["result"].(object)
	if !ok || a.StatusCode != 200 || a.rpc["id"] != 7.0 {
		c.t.Fatalf("%s: %d %s", method, a.StatusCode, a.body)
	}
	return result
}

// tool calls a tool and returns its object.
func (c client) tool(name string, args any) (value object, failed bool) {
	c.t.Helper()
	return unpack(c.t, c.result("tools/call", object{"name": name, "arguments": args}))
}

// unpack reads the result of a tool: one text, and nothing that repeats it.
func unpack(t *testing.T, result object) (value object, failed bool) {
	t.Helper()
	content := result["content"].([]any)
	text := content[0].(object)["text"].(string)
	if len(text) > 32<<10 || len(content) != 1 || result["structuredContent"] != nil {
		t.Errorf("a result of %d bytes in %d parts, and %.100v", len(text), len(content), result["structuredContent"])
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("the text is not JSON: %v: %.200s", err, text)
	}
	failed, _ = result["isError"].(bool)
	return value, failed
}

// want compares the status and the code of the JSON-RPC error. The words name the request in the report.
func (a answer) want(status, code int, words ...any) {
	a.t.Helper()
	if a.StatusCode != status || a.code() != code {
		a.t.Errorf("%v: %d %s, want %d and %d", words, a.StatusCode, a.body, status, code)
	}
}

// code returns the code of the answer's JSON-RPC error, or 0.
func (a answer) code() int {
	e, _ := a.rpc["error"].(object)
	code, _ := e["code"].(float64)
	return int(code)
}

// An authorizer sends ann's key with every request.
type authorizer struct{ http.RoundTripper }

func (a authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ann")
	return a.RoundTripper.RoundTrip(r)
}

// TestServerServesSDKClient holds both transports to the client of the official SDK.
func TestServerServesSDKClient(t *testing.T) {
	t.Parallel()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	clientIn, serverOut := io.Pipe()
	serverIn, clientOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- newFakeService().newServer().Stdio(t.Context(), serverIn, serverOut)
		serverOut.Close()
	}()
	for name, transport := range map[string]sdk.Transport{
		"http": &sdk.StreamableClientTransport{Endpoint: serve(t, newFakeService()),
			HTTPClient: &http.Client{Transport: authorizer{transport}}},
		"stdio": &sdk.IOTransport{Reader: clientIn, Writer: clientOut},
	} {
		s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport,
			nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 10 {
			t.Errorf("%s: %v, %v", name, tools, err)
		}
		made, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_create",
			Arguments: object{"content": "Basalt."}})
		if err != nil || made.IsError || len(made.Content) != 1 {
			t.Errorf("%s: %v, %v", name, made, err)
		}
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_explode"}); err == nil {
			t.Errorf("%s: an unknown tool was called", name)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	testenv.NoError(t, <-ended)
}

// conforms validates a value by the protocol's official schema of a revision.
func conforms(t *testing.T, version, name string, value any) {
	t.Helper()
	data := testenv.Must(os.ReadFile("testdata/mcp-" + version + ".schema.json"))(t)
	var s jsonschema.Schema
	testenv.NoError(t, json.Unmarshal(data, &s))
	s.Ref = "#/$defs/" + name
	if s.Defs == nil {
		s.Ref = "#/definitions/" + name
	}
	resolved := testenv.Must(s.Resolve(nil))(t)
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s of %s: %v", name, version, err)
	}
}

// recordedRequest is one request of a real client, as it was on the wire.
type recordedRequest struct {
	Method  string            `json:"m"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"h"`
	RPC     string            `json:"rpc"`
	Version string            `json:"ver"`
	Info    object            `json:"ci"`
	Caps    object            `json:"caps"`
	Status  int               `json:"status"`
}

func TestHTTPServesRecordedClients(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/mcp-wire-*.jsonl")
	testenv.Equal(t, len(files), 6, "recordings want 6")
	url := serveHandler(t, newFakeService().newServer().HTTP())
	for _, file := range files {
		f := testenv.Must(os.Open(file))(t)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var q recordedRequest
			testenv.NoError(t, json.Unmarshal(lines.Bytes(), &q))
			if q.URL == "/" {
				q.replay(t, url, filepath.Base(file))
			}
		}
	}
}

// replay sends the request again, with a key, and expects the same status.
func (q recordedRequest) replay(t *testing.T, url, file string) {
	var body string
	if q.RPC != "" {
		m := object{"jsonrpc": "2.0", "method": q.RPC, "params": q.params()}
		if !strings.HasPrefix(q.RPC, "notifications/") {
			m["id"] = 0
		}
		b, _ := json.Marshal(m)
		body = string(b)
	}
	r, _ := http.NewRequestWithContext(t.Context(), q.Method, url, strings.NewReader(body))
	for name, value := range q.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Authorization", "Bearer ann")
	if q.RPC == "subscriptions/listen" { // it lasts until the client leaves
		a := testenv.Must(testenv.Client.Do(r))(t)
		a.Body.Close()
		testenv.Equal(t, a.StatusCode, q.Status, file)
		return
	}
	if a := do(t, r); a.StatusCode != q.Status || a.code() != 0 {
		t.Errorf("%s: %s %s: %d %s, recorded %d", file, q.Method, q.RPC, a.StatusCode, a.body, q.Status)
	}
}

func (q recordedRequest) params() object {
	switch {
	case q.RPC == "initialize":
		return object{"protocolVersion": q.Version, "capabilities": q.Caps, "clientInfo": q.Info}
	case q.Version == "":
		return object{}
	}
	params := object{"_meta": object{
		"io.modelcontextprotocol/protocolVersion":    q.Version,
		"io.modelcontextprotocol/clientCapabilities": q.Caps,
		"io.modelcontextprotocol/clientInfo":         q.Info,
	}}
	if q.RPC == "subscriptions/listen" {
		params["notifications"] = object{"toolsListChanged": true, "promptsListChanged": true,
			"resourcesListChanged": true}
	}
	return params
}
