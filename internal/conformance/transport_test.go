package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// A testServer is a world with all its transports.
type testServer struct {
	*conformance.World
	t     testing.TB
	table *op.Table
	url   string
	pipes map[[2]string]*mcp.Server // by credential and actor
}

func newTestServer(t testing.TB, w *conformance.World) *testServer {
	t.Helper()
	return serveTable(t, w, service.Ops, func(h http.Handler) http.Handler { return h })
}

// serveTable serves a table of operations through a wrapper of the handler.
func serveTable(t testing.TB, w *conformance.World, table *op.Table, wrap func(http.Handler) http.Handler) *testServer {
	t.Helper()
	tools := mcp.New(mcp.Options{Table: table, Caller: w.Host, Version: "test",
		AcquireStream: w.Host.AcquireStream,
		Authenticate: func(ctx context.Context, c *op.Call) error {
			actor, err := w.Host.Admit(ctx, nil, c)
			if err == nil {
				c.UserID = actor.UserID
			}
			return err
		}})
	handler := rest.New(rest.Options{Table: table, Host: w.Host, Log: slog.New(slog.DiscardHandler),
		ExtraRoutes: []httpapi.Route{{Pattern: "/mcp", Handler: tools.HTTP(), Reason: "it speaks another protocol"}}})
	server := httptest.NewServer(wrap(handler))
	t.Cleanup(server.Close)
	return &testServer{w, t, table, server.URL, map[[2]string]*mcp.Server{}}
}

// An answer is the answer of a transport: the object, and the parts that only HTTP has.
type answer struct {
	object args
	status int
}

// code returns the error code of an answer.
func (a answer) code() loci.Code {
	code, _ := a.object["error"].(string) // the field code is also that of a referral
	return loci.Code(code)
}

func (h *testServer) parseAnswer(raw []byte, err error) answer {
	h.t.Helper()
	if err != nil {
		raw = testenv.Must(json.Marshal(op.NewErrorBody(err, "")))(h.t)
	}
	var a answer
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&a.object); err != nil {
		h.t.Fatalf("%v: %s", err, raw)
	}
	return a
}

// A transport is a way to call operations.
type transport struct {
	name string
	// supports reports whether the transport has the operation and can send the call.
	supports func(o *op.Op, q callShape) bool
	call     func(h *testServer, o *op.Op, c *op.Call, in args) answer
}

// A callShape describes the requirements of a case.
type callShape struct {
	in        args
	invalid   bool // the input has unknown fields, or lacks required ones
	headers   bool // headers are sent beside the fields: If-Match, Idempotency-Key
	duplicate bool // another case tests the same for commands, each of which is a process
	tokenless bool // the caller has no key that can be exchanged for a file token
	noAgent   bool // no header names the caller as an agent; over MCP it is one
}

// hasFiles reports whether a transport of REST can send a call: operations of files need a file token there.
func hasFiles(o *op.Op, q callShape) bool { return o.Access != op.File || !q.tokenless }

var transports = []transport{
	{"host", func(*op.Op, callShape) bool { return true }, viaHost},
	{"rest", hasFiles, viaREST},
	{"client", func(o *op.Op, q callShape) bool {
		return o.Exposure != op.BrowserOnly && !o.Streams && hasFiles(o, q)
	}, viaClient},
	{"tool", func(o *op.Op, q callShape) bool { return isFullTool(o) && !q.headers && !q.noAgent }, viaTool},
	{"pipe", func(o *op.Op, q callShape) bool { return isFullTool(o) && !q.headers && !q.noAgent }, viaStdio},
	{"command", func(o *op.Op, q callShape) bool {
		return o.Exposure != op.BrowserOnly && !o.Streams && o.Access != op.File && !q.invalid && !q.duplicate &&
			(!q.headers || !o.ReadOnly)
	}, viaCommand},
}

func isConfirm(f op.Field) bool { return f.Name == "confirm" }

func isFullTool(o *op.Op) bool { return slices.Contains(o.Exposure.Toolsets(), op.FullTools) }

// viaHost returns the answer of the host itself. That of a stream is its first event.
func viaHost(h *testServer, o *op.Op, c *op.Call, in args) answer {
	ctx, leave := context.WithCancel(h.t.Context())
	defer leave()
	var first []byte
	if o.Streams {
		c.Send = func(event any) (more bool, err error) {
			first, err = op.Marshal(event)
			return false, err
		}
	}
	raw, err := h.Host.Call(ctx, o, c, op.Args{JSON: testenv.Must(json.Marshal(in))(h.t)})
	if o.Streams {
		raw = first
	}
	return h.parseAnswer(raw, err)
}

// text returns a value as a path, a query or a flag has it.
func text(v any) string {
	if list, ok := v.([]any); ok {
		items := make([]string, len(list))
		for i := range list {
			items[i] = text(list[i])
		}
		return strings.Join(items, ",")
	}
	if object, ok := v.(args); ok {
		b, _ := json.Marshal(object) // it came from JSON
		return string(b)
	}
	return fmt.Sprint(v)
}

func viaREST(h *testServer, o *op.Op, c *op.Call, in args) answer {
	h.t.Helper()
	res, raw := exchange(h, o, c, in)
	a := h.parseAnswer(raw, nil)
	a.status = res.StatusCode
	return a
}

// exchange sends the request for the arguments.
func exchange(h *testServer, o *op.Op, c *op.Call, in args) (*http.Response, []byte) {
	h.t.Helper()
	if o.Access == op.File && identity.ValidKey(c.Credential) {
		c = h.withFileToken(c)
	}
	locations := map[string]op.Location{}
	for _, f := range o.Fields() {
		locations[f.Name] = f.Location
	}
	path, query, rest := o.Path, url.Values{}, args{}
	for name, v := range in {
		switch locations[name] {
		case op.InPath:
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text(v)))
		case op.InQuery:
			query.Set(name, text(v))
		default:
			rest[name] = v
		}
	}
	var body io.Reader
	if o.Method == "GET" || o.Method == "DELETE" {
		for name, v := range rest { // an unknown field
			query.Set(name, text(v))
		}
	} else {
		body = bytes.NewReader(testenv.Must(json.Marshal(rest))(h.t))
	}
	return h.send(o.Method, path+"?"+query.Encode(), c, body)
}

// withFileToken returns a call with a file token in place of its key.
func (h *testServer) withFileToken(c *op.Call) *op.Call {
	h.t.Helper()
	out := *c
	_, raw := h.send(service.FileExchange.Method, service.FileExchange.Path, &op.Call{Credential: c.Credential}, nil)
	out.Credential, _ = h.parseAnswer(raw, nil).object["token"].(string)
	return &out
}

func (h *testServer) send(method, path string, c *op.Call, body io.Reader) (*http.Response, []byte) {
	h.t.Helper()
	r := testenv.Must(http.NewRequestWithContext(h.t.Context(), method, h.url+path, body))(h.t)
	for name, value := range map[string]string{"X-Loci-Actor": c.ActorHeader, "If-Match": c.IfMatch,
		"Idempotency-Key": c.IdempotencyKey, "Last-Event-ID": c.LastEventID} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if c.Credential != "" {
		r.Header.Set("Authorization", "Bearer "+c.Credential)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res := testenv.Must(testenv.Client.Do(r))(h.t)
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return res, firstEvent(h.t, res.Body)
	}
	return res, testenv.Must(io.ReadAll(res.Body))(h.t)
}

// firstEvent returns the data of the first event of a stream.
func firstEvent(t testing.TB, stream io.Reader) []byte {
	t.Helper()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 2<<20)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			return bytes.Clone(data)
		}
	}
	t.Fatalf("the stream ended without an event: %v", lines.Err())
	return nil
}

func viaClient(h *testServer, o *op.Op, c *op.Call, in args) answer {
	h.t.Helper()
	options := []client.CallOption{client.IfMatch(c.IfMatch), client.IdempotencyKey(c.IdempotencyKey)}
	if c.ActorHeader != "" {
		options = append(options, client.AsAgent())
	}
	return h.parseAnswer(h.client(c).Do(h.t.Context(), o.Method, o.Pattern,
		testenv.Must(json.Marshal(in))(h.t), options...))
}

func (h *testServer) client(c *op.Call) *client.Client {
	h.t.Helper()
	return testenv.Must(client.New(h.url, client.WithKey(c.Credential), client.WithRetry(1, 0)))(h.t)
}

func toolCall(h *testServer, o *op.Op, in args) []byte {
	return testenv.Must(json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": args{"name": o.ToolName(), "arguments": in}}))(h.t)
}

// result returns the object in the answer to a tool call.
func result(h *testServer, raw []byte) answer {
	h.t.Helper()
	var m struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil || len(m.Result.Content) != 1 || m.Result.StructuredContent != nil {
		h.t.Fatalf("%v: %s", err, raw)
	}
	a := h.parseAnswer([]byte(m.Result.Content[0].Text), nil)
	testenv.Equal(h.t, m.Result.IsError, (a.code() != ""), "isError", raw)
	return a
}

func viaTool(h *testServer, o *op.Op, c *op.Call, in args) answer {
	h.t.Helper()
	res, raw := h.send("POST", "/mcp", c, bytes.NewReader(toolCall(h, o, in)))
	if res.StatusCode != http.StatusOK {
		// a rejected credential is reported before the protocol starts
		return h.parseAnswer(raw, nil)
	}
	return result(h, raw)
}

// A keyedCaller has a credential, as a server's client does; a pipe has none.
type keyedCaller struct {
	op.Caller
	c *op.Call
}

func (k keyedCaller) Call(ctx context.Context, o *op.Op, c *op.Call, a op.Args) ([]byte, error) {
	c.Credential, c.ActorHeader = k.c.Credential, k.c.ActorHeader
	return k.Caller.Call(ctx, o, c, a)
}

// pipe returns the server at the end of a pipe of a caller. It is made once, because its tools take long to print.
func (h *testServer) pipe(c *op.Call) *mcp.Server {
	caller := [2]string{c.Credential, c.ActorHeader}
	if h.pipes[caller] == nil {
		h.pipes[caller] = mcp.New(mcp.Options{Table: h.table, Caller: keyedCaller{h.Host, c}, Version: "test"})
	}
	return h.pipes[caller]
}

func viaStdio(h *testServer, o *op.Op, c *op.Call, in args) answer {
	h.t.Helper()
	var out bytes.Buffer
	lines := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + string(toolCall(h, o, in)) + "\n"
	testenv.NoError(h.t, h.pipe(c).Stdio(h.t.Context(), strings.NewReader(lines), &out))
	for s := bufio.NewScanner(bufio.NewReaderSize(&out, 1<<20)); s.Scan(); {
		if bytes.Contains(s.Bytes(), []byte(`"id":1,`)) {
			return result(h, bytes.Clone(s.Bytes()))
		}
	}
	h.t.Fatalf("no answer: %s", out.Bytes())
	return answer{}
}

func viaCommand(h *testServer, o *op.Op, c *op.Call, in args) answer {
	h.t.Helper()
	words, stdin := commandLine(o, in)
	line := []string{"--json"}
	for flag, value := range map[string]string{"--if-match": c.IfMatch, "--idempotency-key": c.IdempotencyKey} {
		if value != "" {
			line = append(line, flag, value)
		}
	}
	if c.ActorHeader != "" && o.Access != op.Agent { // these commands are for agents alone
		line = append(line, "--agent")
	}
	if (o.Has(op.Destructive) || o.Method == http.MethodDelete) && !slices.ContainsFunc(o.Fields(), isConfirm) {
		line = append(line, "--yes") // no terminal to confirm on
	}
	line = append(slices.Clone(words[:2]), append(line, words[2:]...)...)
	home := h.t.TempDir()
	r := runCommand(h.t, command{Args: line, Stdin: stdin, Env: []string{"LOCI_URL", h.url,
		"LOCI_API_KEY", c.Credential, "HOME", home, "XDG_CONFIG_HOME", home, "XDG_DATA_HOME", home}})
	if len(r.Stdout) == 0 {
		h.t.Fatalf("loci %s: exit code %d, %s", line, r.Code, r.Stderr)
	}
	a := h.parseAnswer(r.Stdout, nil)
	failed := 0
	if a.code() == "" {
		failed, _ = output.Failures(o, r.Stdout) // rows of an answer
	}
	if (r.Code == 0) != (a.code() == "" && failed == 0) {
		h.t.Errorf("loci %s: exit code %d, %s", line, r.Code, r.Stdout)
	}
	return a
}

// commandLine writes arguments as people would; a value that is too long for a line is read from the standard input.
func commandLine(o *op.Op, in args) (line []string, stdin string) {
	resource, verb, _ := strings.Cut(o.Name, ".")
	line = []string{resource, verb}
	var words, flags []string
	for _, f := range o.Fields() {
		v, given := in[f.Name]
		switch object, nested := v.(args); {
		case !given:
		case f.Location == op.InPath || f.Name == "query" && f.Required:
			words = append(words, text(v))
		case nested && len(f.Fields) > 0:
			for name, inner := range object {
				flags = append(flags, "--"+flagName(f.Name)+"-"+flagName(name)+"="+text(inner))
			}
		default:
			value := text(v)
			if f.List && f.Type == "object" { // a flag of its JSON
				raw, _ := json.Marshal(v) // arguments always marshal
				value = string(raw)
			}
			if len(value) > 100_000 {
				value, stdin = "-", value
			}
			flags = append(flags, "--"+flagName(f.Name)+"="+value)
		}
	}
	slices.Sort(flags)
	return append(append(line, flags...), append([]string{"--"}, words...)...), stdin
}

func flagName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(b.String(), "_", "-")
}

// tools returns every operation that is a tool.
func tools() []*op.Op {
	return slices.DeleteFunc(slices.Clone(service.Ops.Ops), func(o *op.Op) bool { return o.Exposure <= op.NoTool })
}

// TestToolsReadArgumentsThatModelsFillIn sends the call of each fixture with null or "" in all other fields, and with
// each number, boolean and list as a text.
func TestToolsReadArgumentsThatModelsFillIn(t *testing.T) {
	t.Parallel()
	s := testScene{conformance.New(t, conformance.OpenSQLite, withMail), t}
	for _, o := range tools() {
		f := fixtureOf(t, o.Name)
		in := f.args(testScene{f.world(t, s.World, conformance.OpenSQLite), t})
		want := readArguments(t, o, in)
		for name, empty := range map[string]any{"null": nil, "an empty text": ""} {
			filled := args{}
			for _, field := range o.Fields() {
				value, given := in[field.Name]
				switch {
				case given:
					filled[field.Name] = quoted(t, value)
				case empty == nil || !slices.Contains(o.InputSchema().Properties[field.Name].Types, "null"):
					filled[field.Name] = empty
				}
			}
			testenv.Equal(t, readArguments(t, o, filled), want, o.Name, name, filled)
		}
	}
}

// readArguments returns the input that an operation gets of a tool's arguments.
func readArguments(t *testing.T, o *op.Op, in args) string {
	t.Helper()
	given := testenv.Must(json.Marshal(in))(t)
	lenient, err := o.Lenient(given)
	if err == nil {
		lenient, err = o.Canonical(op.Args{JSON: lenient})
	}
	if err != nil {
		t.Errorf("%s: %s: %v", o.Name, given, err)
	}
	return string(lenient)
}

// quoted returns a value as a text, unless it is one or an object.
func quoted(t *testing.T, value any) any {
	t.Helper()
	switch value.(type) {
	case string, args:
		return value
	}
	raw := testenv.Must(json.Marshal(value))(t)
	if raw[0] == '"' || raw[0] == '{' {
		return value
	}
	return string(raw)
}

// spellings returns the names of a field in other cases: snake_case, camelCase, kebab-case and upper case.
func spellings(name string) []string {
	kebab := flagName(name)
	words := strings.Split(kebab, "-")
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	list := []string{strings.ReplaceAll(kebab, "-", "_"), strings.Join(words, ""), kebab, strings.ToUpper(name)}
	return slices.DeleteFunc(list, func(s string) bool { return s == name })
}

// TestToolsReadNamesOfFieldsInAnyCase spells each field of each tool in other cases; the strict decoder refuses that.
func TestToolsReadNamesOfFieldsInAnyCase(t *testing.T) {
	t.Parallel()
	for _, o := range tools() {
		read := func(fields []op.Field, wrap string) {
			for _, f := range fields {
				for _, other := range spellings(f.Name) {
					given := fmt.Appendf(nil, wrap, fmt.Sprintf("%q:%q", other, "1"))
					got, err := o.Lenient(given)
					want, _ := o.Lenient(fmt.Appendf(nil, wrap, fmt.Sprintf("%q:%q", f.Name, "1")))
					if err != nil || string(got) != string(want) || bytes.Equal(got, given) {
						t.Errorf("%s: %s became %s %v", o.Name, given, got, err)
					}
					_, err = o.Canonical(op.Args{JSON: given})
					if err == nil || !strings.Contains(err.Error(), "unknown field") {
						t.Errorf("%s: %s: %v", o.Name, given, err)
					}
				}
			}
		}
		read(o.Fields(), "{%s}")
		for _, f := range slices.DeleteFunc(o.Fields(), func(f op.Field) bool { return f.List }) {
			read(f.Fields, fmt.Sprintf(`{%q:{%%s}}`, f.Name))
		}
	}
}

// TestOnlyToolsReadNamesOfFieldsInAnyCase sends the call of each fixture with all names in other cases.
func TestOnlyToolsReadNamesOfFieldsInAnyCase(t *testing.T) {
	t.Parallel()
	h := newTestServer(t, conformance.New(t, conformance.OpenSQLite, withMail))
	for _, o := range tools() {
		f := fixtureOf(t, o.Name)
		for i := range 4 {
			at := h.alone(f)
			in, renamed := f.args(testScene{at.World, t}), args{}
			for name, value := range in {
				all := spellings(name)
				renamed[all[i%len(all)]] = value
			}
			if len(in) == 0 || !isFullTool(o) {
				continue
			}
			a := viaREST(at, o, at.Call(ownerOf(o)), renamed)
			testenv.Equal(t, a.code() != "", true, o.Name, "via REST", renamed, a.object)
			a = viaTool(at, o, at.Call(ownerOf(o)), renamed)
			testenv.Equal(t, a.code(), loci.Code(""), o.Name, renamed, a.object)
		}
	}
}

// TestToolsReadSynonymsOfIDs names the one required id "id", and each id by its record.
func TestToolsReadSynonymsOfIDs(t *testing.T) {
	t.Parallel()
	count := 0
	for _, o := range tools() {
		var required []string
		for _, f := range o.Fields() {
			if f.Required && f.Resource != "" && !f.List {
				required = append(required, f.Name)
			}
			record, ok := strings.CutSuffix(strings.TrimSuffix(f.Name, "Id"), "_id")
			if f.Resource == "" || !ok && !strings.HasSuffix(f.Name, "Id") {
				continue
			}
			count++
			want := f.Name
			if o.Name == "memory.update" && record == "atlas" { // it would be a move
				want = record
			}
			got, err := o.Lenient(fmt.Appendf(nil, `{%q:"1"}`, record))
			testenv.Equal(t, string(got), fmt.Sprintf(`{%q:"1"}`, want), o.Name, record, err)
		}
		got, err := o.Lenient([]byte(`{"id":"1"}`))
		want := `{"id":"1"}`
		if len(required) == 1 {
			want = fmt.Sprintf(`{%q:"1"}`, required[0])
		}
		testenv.Equal(t, string(got), want, o.Name, err)
	}
	if count < 40 {
		t.Errorf("%d ids", count)
	}
	for _, o := range tools() {
		if f := o.InputSchema().Properties; f["content"] != nil && f["text"] == nil {
			got, err := o.Lenient([]byte(`{"text":"1"}`))
			testenv.Equal(t, string(got), `{"content":"1"}`, o.Name, err)
		}
	}
}

// TestToolsNameTheKindOfUnknownRecords says the same of an id that is unknown, deleted or none at all.
func TestToolsNameTheKindOfUnknownRecords(t *testing.T) {
	t.Parallel()
	h := newTestServer(t, conformance.New(t, conformance.OpenSQLite, conformance.Options{}))
	s := testScene{h.World, t}
	_, deleted := s.newMemory()
	viaREST(h, service.MemoryDelete.Op, h.Call(conformance.CallerOwner), args{"memoryId": deleted})
	unknown := loci.NewID(s.Clock.Now())
	for _, id := range []loci.ID{unknown, deleted, "The title of a memory"} {
		for o, want := range map[*op.Op]string{
			service.MemoryGet.Op: "There is no such memory within your reach: give its id, as in the answer of " +
				"memory_list or memory_search.",
			service.SessionGet.Op: "There is no such session within your reach: give its id, as in the answer of " +
				"session_list.",
		} {
			for _, via := range []func(*testServer, *op.Op, *op.Call, args) answer{viaTool, viaStdio} {
				a := via(h, o, h.Call(conformance.CallerOwner), args{strings.Split(o.ToolName(), "_")[0] + "Id": id})
				testenv.Equal(t, a.object["message"].(string), want, o.Name, id)
			}
		}
	}
}
