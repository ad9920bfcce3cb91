package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestHTTPHandshakeOfOlderRevisions(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	for _, version := range handshakeVersions {
		c := client{t: t, url: url, key: "ann"}
		info := c.result("initialize", object{"protocolVersion": version, "capabilities": object{},
			"clientInfo": object{"name": "t", "version": "1"}})
		if info["protocolVersion"] != version || info["serverInfo"].(object)["version"] != "1.2.3" {
			t.Errorf("initialize of %s: %v", version, info)
		}
		for _, name := range []string{"tools", "resources", "prompts", "completions"} {
			caps := info["capabilities"].(object)
			if has, ok := caps[name].(object); len(caps) != 4 || !ok || len(has) > 0 {
				t.Errorf("capabilities: %v", caps)
			}
		}
		conforms(t, version, "InitializeResult", info)
		c.version = version
		if a := c.post(c.message("notifications/initialized", nil)); a.StatusCode != 202 || len(a.body) > 0 {
			t.Errorf("initialized: %d %s", a.StatusCode, a.body)
		}
		if pong := c.result("ping", nil); len(pong) != 0 {
			t.Errorf("ping: %v", pong)
		}
		conforms(t, version, "ListToolsResult", c.result("tools/list", nil))
	}
}

func TestHTTPOffersKnownRevision(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newFakeService()), key: "ann"}
	info := c.result("initialize", object{"protocolVersion": "1999-01-01", "capabilities": object{},
		"clientInfo": object{"name": "t", "version": "1"}})
	testenv.Equal(t, info["protocolVersion"], "2025-11-25", "offered")
}

func TestHTTPServesStatelessRevision(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newFakeService()), version: statelessVersion, key: "ann"}
	found := c.result("server/discover", nil)
	conforms(t, statelessVersion, "DiscoverResult", found)
	testenv.Equal(t, found["cacheScope"], "private", "cacheScope")
	list := c.result("tools/list", nil)
	conforms(t, statelessVersion, "ListToolsResult", list)
	if list["resultType"] != "complete" || list["cacheScope"] != "private" {
		t.Errorf("tools/list: %v, %v", list["resultType"], list["cacheScope"])
	}
	call := c.result("tools/call", object{"name": "memory_create", "arguments": object{"content": "Stateless."}})
	conforms(t, statelessVersion, "CallToolResult", call)
	a := c.post(c.message("tools/list", nil))
	if a.Header.Get("Mcp-Session-Id") != "" || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("headers %v", a.Header)
	}
	if a := c.post(c.message("notifications/cancelled", object{"requestId": 99})); a.StatusCode != 202 ||
		len(a.body) > 0 {
		t.Errorf("a notification: %d %s", a.StatusCode, a.body)
	}
}

func TestHTTPChecksProtocolVersion(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	old := client{t: t, url: url, version: "2025-11-25", key: "ann"}
	if a := (client{t: t, url: url, key: "ann"}).post(old.message("tools/list", nil)); a.StatusCode != 200 ||
		a.rpc["result"] == nil {
		t.Errorf("no version header: %d %s", a.StatusCode, a.body)
	}
	old.post(old.message("tools/list", nil), "MCP-Protocol-Version", "1999-01-01").want(400, -32600,
		"a version header that names nothing")
	if a := old.post(old.message("memories/steal", nil)); a.StatusCode != 200 || a.code() != -32601 ||
		a.rpc["id"] != 7.0 {
		t.Errorf("unknown method: %d %s", a.StatusCode, a.body)
	}
	if a := old.post(old.message("notifications/unheard", nil)); a.StatusCode != 202 || len(a.body) > 0 {
		t.Errorf("unknown notification: %d %s", a.StatusCode, a.body)
	}
	c := client{t: t, url: url, version: statelessVersion, key: "ann"}
	future := c.message("tools/list", nil)
	future["params"].(object)["_meta"].(object)["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
	a := c.post(future, "MCP-Protocol-Version", "2099-01-01")
	if data, _ := json.Marshal(a.rpc["error"]); a.StatusCode != 400 || a.code() != -32022 ||
		!bytes.Contains(data, []byte(`"requested":"2099-01-01"`)) || !bytes.Contains(data, []byte(statelessVersion)) {
		t.Errorf("a version to come: %d %s", a.StatusCode, a.body)
	}
	c.post(c.message("memories/steal", nil)).want(404, -32601, "unknown method")
}

func TestHTTPRejectsHeadersThatDifferFromMeta(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newFakeService()), version: statelessVersion, key: "ann"}
	for field, code := range map[string]int{"protocolVersion": -32602, "clientCapabilities": -32602, "clientInfo": 0} {
		m := c.message("tools/list", nil)
		delete(m["params"].(object)["_meta"].(object), "io.modelcontextprotocol/"+field)
		if a := c.post(m); a.code() != code || (code == 0) != (a.StatusCode == 200) {
			t.Errorf("without %s: %d %s", field, a.StatusCode, a.body)
		}
	}
	call := c.message("tools/call", object{"name": "memory_list", "arguments": object{}})
	for _, headers := range [][]string{{"Mcp-Name", "memory_create"}, {"Mcp-Name", ""}, {"Mcp-Method", ""}} {
		c.post(call, headers...).want(400, -32020, headers)
	}
	for name, second := range map[string]string{"Mcp-Method": "tools/list", "Mcp-Name": "memory_create",
		"Mcp-Protocol-Version": "2025-11-25"} {
		c.post(call, name+"+", second).want(400, -32020, "two values of", name)
	}
	long := strings.Repeat("x", 10_000)
	for _, a := range []answer{c.post(call, "Mcp-Name", long),
		c.post(c.message("tools/call", object{"name": long, "arguments": object{}}), "Mcp-Name", "memory_list"),
		c.post(object{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": object{"_meta": object{
			"io.modelcontextprotocol/protocolVersion":    "3" + long,
			"io.modelcontextprotocol/clientCapabilities": object{}}}},
			"MCP-Protocol-Version", "3"+long)} {
		if a.StatusCode != 400 || len(a.body) > 500 {
			t.Errorf("long names: %d %.100s, %d bytes", a.StatusCode, a.body, len(a.body))
		}
	}
	c.post(call, "Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte("memory_list"))+
		"?=").want(200, 0, "an encoded name")
}

func TestHTTPRejectsMalformedBody(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	for _, version := range append(revisions, "") {
		c := client{t: t, url: url, version: version, key: "ann"}
		one, _ := json.Marshal(c.message("tools/list", nil))
		halfBatch := -32600
		if version == "" { // it may be the one that has batches
			halfBatch = -32700
		}
		for body, code := range map[string]int{
			"[]":                -32600,
			" [" + string(one):  halfBatch,
			"{ no json":         -32700,
			"":                  -32700,
			"{}":                -32600,
			`{"jsonrpc":"1.0"}`: -32600,
		} {
			a := c.post([]byte(body))
			if a.StatusCode != 400 || a.code() != code || a.rpc["jsonrpc"] != "2.0" {
				t.Errorf("%q of %s: %d %s", body, version, a.StatusCode, a.body)
			}
		}
		large := append(one, bytes.Repeat([]byte(" "), httpapi.MaxBody-len(one))...)
		c.post(large, "Mcp-Method", "tools/list").want(200, 0, "a body of 1 MiB")
		if a := c.post(append(large, ' ')); a.StatusCode != 413 || a.rpc["code"] != "payload_too_large" ||
			a.rpc["message"] != loci.CodePayloadTooLarge.Hint() {
			t.Errorf("a larger body: %d %s", a.StatusCode, a.body)
		}
		c.post(one, "Content-Type", "text/plain").want(415, 0, "a text")
	}
}

func TestHTTPAnswersBatch(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	d := s.newServer()
	admitted := 0
	d.Authenticate = func(ctx context.Context, c *op.Call) error {
		if admitted++; admitted%5 == 0 {
			return &loci.Error{Code: loci.CodeRateLimited, Message: "slower", RetryAfter: time.Second}
		}
		return authenticate(ctx, c)
	}
	url := serveHandler(t, d.HTTP())
	const create = `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"memory_create",` +
		`"arguments":{"content":"%[1]s"}}}`
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	body := "[" + strings.Join([]string{fmt.Sprintf(create, "basalt"), note, `{"jsonrpc":"2.0","id":2,"method":"shout"}`,
		"5", fmt.Sprintf(create, "granite"), fmt.Sprintf(create, "refused"), `{"jsonrpc":"2.0","id":3,"method":` +
			`"initialize","params":{}}`, `{"jsonrpc":"2.0","id":4,"method":"ping"}`}, ",") + "]"
	for _, version := range []string{"", "2025-03-26"} {
		admitted = 0
		c := client{t: t, url: url, version: version, key: "ann"}
		a := c.post([]byte(body))
		var out []struct {
			ID     any
			Result object
			Error  struct{ Code int }
		}
		if err := json.Unmarshal(a.body, &out); err != nil || a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		var got []string
		for _, x := range out {
			got = append(got, fmt.Sprint(x.ID, " ", x.Error.Code))
		}
		testenv.EqualSlices(t, got, []string{"basalt 0", "2 -32601", "<nil> -32600", "granite 0", "refused -32000",
			"3 -32600", "4 0"}, "answers")
		if a := c.post([]byte("[" + note + "]")); a.StatusCode != 202 || len(a.body) > 0 {
			t.Errorf("a batch of notifications: %d %s", a.StatusCode, a.body)
		}
		many := strings.Repeat(note+",", 19) + note
		c.post([]byte("["+many+"]")).want(202, 0, "20 messages")
		c.post([]byte("["+many+","+note+"]")).want(400, -32600, "21 messages")
	}
	testenv.Equal(t, len(s.memories), 4, "memories")
}

func TestHTTPChecksCredentialFirst(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	challenge := `Bearer resource_metadata="` + metadataURL + `", scope="mcp"`
	for _, test := range []struct {
		key, code, challenge, retry string
		status                      int
	}{
		{"", "missing_api_key", challenge, "", 401},
		{"stranger", "invalid_key", challenge + `, error="invalid_token"`, "", 401},
		{"revoked", "revoked", "", "", 403},
		{"quick", "rate_limited", "", "2", 429},
		{"later", "unavailable", "", "1", 503},
	} {
		c := client{t: t, url: url, version: "2025-11-25", key: test.key}
		a := c.post([]byte("{ no json"))
		if a.StatusCode != test.status || a.rpc["error"] != test.code || a.rpc["code"] != test.code ||
			a.rpc["message"] == "" || a.rpc["requestId"] != a.Header.Get("X-Request-Id") {
			t.Errorf("%q: %d %s", test.key, a.StatusCode, a.body)
		}
		if a.Header.Get("WWW-Authenticate") != test.challenge || a.Header.Get("Retry-After") != test.retry {
			t.Errorf("%q: %v", test.key, a.Header)
		}
	}
	c := client{t: t, url: url + "?api_key=ann", version: "2025-11-25"}
	if a := c.post(c.message("tools/list", nil)); a.StatusCode != 401 {
		t.Errorf("a key in the query: %d", a.StatusCode)
	}
	if a := c.post(c.message("tools/list", nil), "Authorization", "Basic ann"); a.rpc["code"] != "missing_api_key" {
		t.Errorf("another scheme: %s", a.body)
	}
}

func TestHTTPAcceptsQueryKeyWhenAllowed(t *testing.T) {
	t.Parallel()
	d := newFakeService().newServer()
	d.AllowQueryKey = true
	c := client{t: t, url: serveHandler(t, d.HTTP()) + "?api_key=ann", version: "2025-11-25"}
	c.post(c.message("tools/list", nil)).want(200, 0)
	c.version = statelessVersion
	c.post(c.message("tools/list", nil)).want(401, 0, "the stateless revision")
	c = client{t: t, url: serveHandler(t, d.HTTP()) + "?api_key=" + identity.NewAccessToken(), version: "2025-11-25"}
	if a := c.post(c.message("tools/list", nil)); a.StatusCode != 401 || a.rpc["code"] != "missing_api_key" {
		t.Errorf("an access token in the query: %d %s", a.StatusCode, a.body)
	}
}

func TestHTTPRejectsOtherHostsAndOrigins(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	c := client{t: t, url: url, version: "2025-11-25", key: "ann"}
	for _, test := range []struct {
		name, value string
		status      int
	}{
		{"Origin", "https://evil.example", 403},
		{"Origin", "null", 403},
		{"Origin", "file://", 403},
		{"Origin", "http://localhost.evil.example:8080", 403},
		{"Origin", "http://127.0.0.1:1", 403},
		{"Origin", url, 200},
		{"Origin", "https://loci.example", 200},
		{"Origin", "https://app.example", 200},
		{"Host", "evil.example", 403},
		{"Host", "localhost.evil.example", 403},
		{"Host", "LOCI.example", 200},
		{"Host", "loci.internal:7007", 200},
		{"Host", "localhost:7007", 200},
		{"Host", "[::1]:7007", 200},
	} {
		c.post(c.message("tools/list", nil), test.name, test.value).want(test.status, 0, test.name, test.value)
	}
}

func TestHTTPAllowsOnlyPost(t *testing.T) {
	t.Parallel()
	url := serve(t, newFakeService())
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		r, _ := http.NewRequestWithContext(t.Context(), method, url, nil)
		if a := do(t, r); a.StatusCode != 405 || a.Header.Get("Allow") != "POST" ||
			a.rpc["code"] != "method_not_allowed" {
			t.Errorf("%s: %d %s", method, a.StatusCode, a.body)
		}
	}
}

func TestCallCarriesHeaders(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: "2025-11-25", key: "ann"}
	call := c.message("tools/call", object{"name": "memory_list"})
	a := c.post(call, "X-Loci-Actor", "agent", "X-Request-Id", "mine.1")
	if a.Header.Get("X-Request-Id") != "mine.1" || a.Header.Get("RateLimit-Limit") != "100" ||
		a.Header.Get("RateLimit-Remaining") != "99" || a.Header.Get("RateLimit-Reset") != "60" {
		t.Errorf("headers %v", a.Header)
	}
	c.post(call, "X-Service-Actor", "agent", "X-Request-Id", "not mine")
	one, two := s.calls[0], s.calls[1]
	if one.Transport != "mcp" || one.Credential != "ann" || one.ActorHeader != "agent" || one.RequestID != "mine.1" ||
		one.Address != "127.0.0.1" {
		t.Errorf("call %+v", one)
	}
	if two.ActorHeader != "agent" || len(two.RequestID) != 36 {
		t.Errorf("call %+v", two)
	}
	for _, headers := range [][]string{{"X-Loci-Actor", "human"}, {"X-Loci-Agent-Id", "agt_1"},
		{"X-Loci-Actor", "agent", "X-Service-Actor", "human"}} {
		if v, failed := unpack(t, c.post(call, headers...).rpc["result"].(object)); !failed ||
			v["code"] != "invalid_query" {
			t.Errorf("%v: %v", headers, v)
		}
	}
}

func TestHTTPChecksRepeatedHeadersAndMediaType(t *testing.T) {
	t.Parallel()
	d := newFakeService().newServer()
	d.AllowQueryKey = true
	c := client{t: t, url: serveHandler(t, d.HTTP()) + "?api_key=ann", version: "2025-11-25"}
	body, _ := json.Marshal(c.message("tools/call", object{"name": "memory_list"}))
	for _, test := range []struct {
		name   string
		values []string
		status int
		code   any
	}{
		{"Authorization", []string{"Bearer ann", "Bearer bob"}, 401, "missing_api_key"},
		{"Authorization", []string{"Bearer ann", "Bearer ann"}, 401, "missing_api_key"},
		{"Content-Type", []string{"application/json", "text/plain"}, 415, "unsupported_media_type"},
		{"X-Loci-Actor", []string{"agent", "human"}, 200, "invalid_query"},
		{"X-Loci-Actor", []string{"human", "agent"}, 200, "invalid_query"},
		{"X-Loci-Actor", []string{""}, 200, "invalid_query"},
		{"X-Loci-Actor", []string{"agent", "agent"}, 200, nil},
		{"X-Request-Id", []string{"one", "two"}, 200, nil},
		{"Content-Type", []string{"application/json; charset=utf-8"}, 200, nil},
		{"Content-Type", []string{"application/json; charset=latin1"}, 415, "unsupported_media_type"},
		{"Content-Encoding", []string{"gzip"}, 415, "unsupported_media_type"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", c.url, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header[test.name] = test.values
		a := do(t, r)
		code := a.rpc["code"]
		if result, ok := a.rpc["result"].(object); ok {
			v, _ := unpack(t, result)
			code = v["code"]
		}
		if a.StatusCode != test.status || code != test.code || a.Header.Get("X-Content-Type-Options") != "nosniff" ||
			slices.Contains(test.values, a.Header.Get("X-Request-Id")) {
			t.Errorf("%s %q: %d %v %s", test.name, test.values, a.StatusCode, a.Header, a.body)
		}
	}
}

func TestHTTPServesConcurrentCalls(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: statelessVersion, key: "ann"}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 5 {
				c.post(c.message("tools/call", object{"name": "memory_create",
					"arguments": object{"content": "One of many."}}))
			}
		})
	}
	group.Wait()
	testenv.Equal(t, len(s.memories), 100, "memories")
}

func TestHTTPCancelsCallWhenClientLeaves(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: statelessVersion, key: "ann"}
	body, _ := json.Marshal(c.message("tools/call", object{"name": "shelf_rest"}))
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", c.url, bytes.NewReader(body))
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer ann",
		"MCP-Protocol-Version": statelessVersion, "Mcp-Method": "tools/call", "Mcp-Name": "shelf_rest"} {
		r.Header.Set(name, value)
	}
	go func() {
		if resp, err := testenv.Client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	<-s.entered
	leave()
	<-s.woken
}

func TestCallHasAddressBehindTrustedProxy(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	d := s.newServer()
	d.TrustedProxies = httpapi.Proxies{netip.MustParsePrefix("127.0.0.0/8")}
	c := client{t: t, url: serveHandler(t, d.HTTP()), version: "2025-11-25", key: "ann"}
	c.post(c.message("tools/call", object{"name": "memory_list"}), "X-Forwarded-For", "198.51.100.7, 203.0.113.9")
	testenv.Equal(t, s.calls[0].Address, "203.0.113.9", "the address is")
}

// TestReadBodyAllocatesAsBytesArrive announces large bodies and sends small ones. It measures the whole process, so
// that it runs alone.
func TestReadBodyAllocatesAsBytesArrive(t *testing.T) {
	h := newFakeService().newServer().HTTP()
	const requests = 32
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader("{"))
		r.ContentLength = 4 << 20
		r.Header.Set("Authorization", "Bearer ann")
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / requests; each > 256<<10 {
		t.Errorf("a body of one byte takes %d KiB", each>>10)
	}
}
