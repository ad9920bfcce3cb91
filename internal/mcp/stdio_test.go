package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// A stdioClient is a conversation over pipes.
type stdioClient struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

func startStdio(ctx context.Context, t *testing.T, s *fakeService) *stdioClient {
	t.Helper()
	in, to := io.Pipe()
	offset, out := io.Pipe()
	k := &stdioClient{t: t, in: to, out: bufio.NewReader(offset), ended: make(chan error, 1)}
	go func() {
		err := s.newServer().Stdio(ctx, in, out)
		out.Close()
		k.ended <- err
	}()
	t.Cleanup(func() { to.Close() })
	return k
}

func (k *stdioClient) send(line string) {
	k.t.Helper()
	testenv.Must(io.WriteString(k.in, line+"\n"))(k.t)
}

func (k *stdioClient) receive() object {
	k.t.Helper()
	line := testenv.Must(k.out.ReadBytes('\n'))(k.t)
	var m object
	if err := json.Unmarshal(line, &m); err != nil || m["jsonrpc"] != "2.0" {
		k.t.Fatalf("no message: %s", line)
	}
	return m
}

// call sends a request and returns the answer's result.
func (k *stdioClient) call(id int, method, params string) object {
	k.t.Helper()
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	m := k.receive()
	result, ok := m["result"].(object)
	if !ok || m["id"] != float64(id) {
		k.t.Fatalf("%s: %v", method, m)
	}
	return result
}

func (k *stdioClient) initialize(version string) object {
	k.t.Helper()
	info := k.call(1, "initialize", `{"protocolVersion":"`+version+
		`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return info
}

func (k *stdioClient) close() error {
	k.in.Close()
	if rest, err := io.ReadAll(k.out); err != nil || len(rest) > 0 {
		k.t.Errorf("the rest: %s, %v", rest, err)
	}
	return <-k.ended
}

func TestStdioServesClient(t *testing.T) {
	t.Parallel()
	for _, version := range handshakeVersions {
		k := startStdio(t.Context(), t, newFakeService())
		info := k.initialize(version)
		testenv.Equal[any](t, info["protocolVersion"], version, "version")
		conforms(t, version, "InitializeResult", info)
		if got := names(k.call(2, "tools/list", "{}")); len(got) != 10 {
			t.Errorf("tools %v", got)
		}
		made, failed := unpack(t, k.call(3, "tools/call", `{"name":"memory_create","arguments":{"content":"Basalt."}}`))
		if id := made["memory"].(object)["id"]; failed || id == "" {
			t.Errorf("made %v", made)
		}
		if v, failed := unpack(t, k.call(4, "tools/call",
			`{"name":"memory_get","arguments":{"memoryId":"x"}}`)); !failed || v["code"] != "not_found" {
			t.Errorf("got %v", v)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStdioServesStatelessRevision(t *testing.T) {
	t.Parallel()
	const meta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}`
	k := startStdio(t.Context(), t, newFakeService())
	found := k.call(1, "server/discover", meta)
	conforms(t, statelessVersion, "DiscoverResult", found)
	if list := k.call(2, "tools/list", meta); list["resultType"] != "complete" {
		t.Errorf("%v", list)
	}
	testenv.NoError(t, k.close())
}

func TestStdioContinuesAfterInvalidMessages(t *testing.T) {
	t.Parallel()
	k := startStdio(t.Context(), t, newFakeService())
	k.initialize("2025-11-25")
	for line, code := range map[string]float64{
		"this is no json":                       -32700,
		"{}":                                    -32600,
		"[]":                                    -32600,
		`[{"jsonrpc":"2.0"}]`:                   -32600,
		`{"jsonrpc":"1.0","method":"ping"}`:     -32600,
		"5":                                     -32600,
		strings.Repeat("x", 4<<20+1):            -32600,
		`{"jsonrpc":"2.0","id":2,"method":"x"}`: -32601,
	} {
		k.send("")
		k.send(line)
		if m := k.receive(); m["error"].(object)["code"] != code {
			t.Errorf("%.40s: %v", line, m)
		}
	}
	k.send(`{"jsonrpc":"2.0","id":99,"result":{}}` + "\r")
	if pong := k.call(3, "ping", "{}"); len(pong) != 0 {
		t.Errorf("ping %v", pong)
	}
	testenv.NoError(t, k.close())
}

func TestStdioAnswersBatch(t *testing.T) {
	t.Parallel()
	k := startStdio(t.Context(), t, newFakeService())
	k.initialize("2025-03-26")
	k.send(`[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_create","arguments":` +
		`{"content":"Basalt."}}},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":3,` +
		`"method":"tools/call","params":{"name":"memory_list","arguments":{}}},{"jsonrpc":"2.0","id":4,"method":"x"}]`)
	line := testenv.Must(k.out.ReadString('\n'))(t)
	var answers []object
	if err := json.Unmarshal([]byte(line), &answers); err != nil || len(answers) != 3 || answers[0]["id"] != 2.0 ||
		!strings.Contains(line, `Basalt.`) || !strings.Contains(line, `"id":4,"error":{"code":-32601`) {
		t.Errorf("%v: %s", err, line)
	}
	k.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`) // has no answer
	k.call(5, "ping", "{}")
	testenv.NoError(t, k.close())
}

func TestStdioEndsWithItsInput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := newFakeService().newServer().Stdio(t.Context(), strings.NewReader(""), &out); err != nil ||
		out.Len() > 0 {
		t.Errorf("%v, %s", err, &out)
	}
}

func TestStdioAnswersPendingRequestsAtEOF(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	in.WriteString(
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	for i := range 50 {
		fmt.Fprintf(&in,
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_create",`+
				`"arguments":{"content":"%d"}}}`+"\n", i+1, i)
	}
	var out bytes.Buffer
	s := newFakeService()
	testenv.NoError(t, s.newServer().Stdio(t.Context(), strings.NewReader(strings.TrimSuffix(in.String(), "\n")),
		&out))
	if n := bytes.Count(out.Bytes(), []byte(`"result"`)); n != 51 || len(s.memories) != 50 {
		t.Errorf("%d answers, %d memories", n, len(s.memories))
	}
}

func TestStdioCancelsOneCallWhileOthersRun(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	k := startStdio(t.Context(), t, s)
	k.initialize("2025-11-25")
	k.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shelf_rest","arguments":{}}}`)
	<-s.entered
	k.call(3, "ping", "{}")
	k.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := k.receive(); m["error"].(object)["code"] != -32600.0 {
		t.Errorf("a taken id: %v", m)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if err := <-s.woken; err == nil {
		t.Error("the call was not cancelled")
	}
	k.call(4, "ping", "{}")
	k.send(`{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"shelf_rest","arguments":{}}}`)
	<-s.entered
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}`)
	<-s.woken
	go func() {
		for {
			select {
			case <-s.entered:
			case <-s.woken:
			case <-t.Context().Done():
				return
			}
		}
	}()
	// Of these, some are cancelled before their tool runs.
	for id := 5; id < 25; id++ {
		k.send(
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"shelf_rest","arguments":{}}}`,
				id))
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	for _, params := range []string{`{"requestId":99}`, `{"requestId":[]}`, `{}`, `5`} {
		k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`)
	}
	k.call(30, "ping", "{}")
	testenv.NoError(t, k.close())
}

func TestStdioEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newFakeService()
	k := startStdio(ctx, t, s)
	k.initialize("2025-11-25")
	k.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shelf_rest","arguments":{}}}`)
	<-s.entered
	cancel()
	go func() { _, _ = io.Copy(io.Discard, k.out) }()
	testenv.NoError(t, <-k.ended)
	k.in.Close()
}
