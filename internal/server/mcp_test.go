package server

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// mcpRequest returns a message for /mcp.
func mcpRequest(t *testing.T, url, key, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

// startWithKey runs a server, and returns its address, a key and its stop function.
func startWithKey(t *testing.T) (url, key string, stop func() error) {
	t.Helper()
	dir := t.TempDir()
	url, _, _, stop = start(t, map[string]string{"data": dir})
	return url, addKey(t, dir, "ann@example.com"), stop
}

// addKey adds a user to the data folder, and returns a key.
func addKey(t *testing.T, dir, email string) string {
	t.Helper()
	admin, err := OpenAdmin(t.Context(), Settings{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.CreateUser(t.Context(), email, "", ""); err != nil {
		t.Fatal(err)
	}
	made, err := admin.CreateKey(t.Context(), email, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.APIKey
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestMCPChallengeNamesMetadata(t *testing.T) {
	t.Parallel()
	url, _, _, _ := start(t, map[string]string{"public-url": "https://loci.example/"})
	challenge := `Bearer resource_metadata="https://loci.example/.well-known/oauth-protected-resource/mcp", scope="mcp"`
	for path, status := range map[string]int{"/mcp": 401, "/mcp/": 401, "/mcp/?toolset=core": 401, "/mcp/x": 404,
		"//mcp": 404} {
		for key, suffix := range map[string]string{"": "", "nonsense": `, error="invalid_token"`} {
			res, err := testenv.Client.Do(mcpRequest(t, url+path, key, listTools))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			got := res.Header.Get("WWW-Authenticate")
			if res.StatusCode != status || status == 401 && got != challenge+suffix || status == 404 && got != "" {
				t.Errorf("%s with %q: %d %s", path, key, res.StatusCode, got)
			}
		}
	}
}

func TestMCPSlashIsSameEndpoint(t *testing.T) {
	t.Parallel()
	url, key, _ := startWithKey(t)
	for path, size := range map[string]int{"/mcp/": 46, "/mcp/?toolset=core": 11, "/mcp?toolset=stable": 32} {
		status, v := callAPI(t, "POST", url+path, key, listTools)
		result, _ := v["result"].(map[string]any)
		if list, _ := result["tools"].([]any); status != 200 || len(list) != size {
			t.Errorf("%s: %d, %d tools", path, status, len(list))
		}
	}
}

// subscribe opens a subscription, and returns a function that waits for its next message.
func subscribe(t *testing.T, url, key string) (next func() string) {
	t.Helper()
	r := mcpRequest(t, url+"/mcp", key, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{`+
		`"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	res, err := testenv.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	next = func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	if first := next(); !strings.Contains(first, "notifications/subscriptions/acknowledged") {
		t.Fatalf("first %d %q", res.StatusCode, first)
	}
	return next
}

func TestMCPSubscriptionEndsWhenServerStops(t *testing.T) {
	t.Parallel()
	url, key, stop := startWithKey(t)
	next := subscribe(t, url, key)
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if last := next(); !strings.Contains(last, `"result"`) {
		t.Errorf("last %q", last)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestMCPSubscriptionEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	url, key, _ := startWithKey(t)
	_, v := callAPI(t, "POST", url+"/v1/api-keys", key, `{"name":"laptop"}`)
	made := v["key"].(map[string]any)["id"].(string)
	next := subscribe(t, url, v["apiKey"].(string))
	if status, v := callAPI(t, "DELETE", url+"/v1/api-keys/"+made, key, ""); status != http.StatusOK {
		t.Fatal(status, v)
	}
	if last := next(); !strings.Contains(last, `"result"`) {
		t.Errorf("last %q", last)
	}
}

func TestMCPResourcesCountAsOperationsOfTheirReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, _, _, _ := start(t, map[string]string{"data": dir})
	ann, eve := addKey(t, dir, "ann@example.com"), addKey(t, dir, "eve@example.com")
	_, v := callAPI(t, "POST", url+"/v1/memories", ann, `{"content":"The bridge stands on basalt."}`)
	memory := v["memory"].(map[string]any)
	read := `"resources/read","params":{"uri":"loci://memory/` + memory["id"].(string) + `"}`
	snapshot := `"resources/read","params":{"uri":"loci://atlas/` + memory["atlasId"].(string) + `/context"}`
	recall := `"prompts/get","params":{"name":"recall","arguments":{"query":"bridge"`
	used := func(key string) float64 {
		_, v := callAPI(t, "GET", url+"/v1/status", key, "")
		return v["usage"].(map[string]any)["operations"].(map[string]any)["used"].(float64)
	}
	for _, c := range []struct {
		key, method, want string
		operations        float64
	}{
		{ann, read, "│ The bridge stands on basalt.", 1},
		{ann, snapshot, "│ The bridge stands on basalt.", 1},
		{ann, recall + `}}`, "│ The bridge stands on basalt.", 1},
		{ann, recall + `,"atlas":"inbox"}}`, "│ The bridge stands on basalt.", 2},
		{ann, `"resources/list"`, "loci://atlas/" + memory["atlasId"].(string) + "/context", 1},
		{ann, `"prompts/list"`, "handover", 0},
		{ann, `"tools/list"`, "memory_create", 0},
		{eve, read, "Resource not found.", 1},
		{eve, snapshot, "Resource not found.", 1},
		{eve, recall + `,"atlas":"` + memory["atlasId"].(string) + `"}}`, "not_found", 1},
		{eve, recall + `}}`, "There are no memories to show.", 1},
	} {
		before := used(c.key)
		_, v := callAPI(t, "POST", url+"/mcp", c.key, `{"jsonrpc":"2.0","id":1,"method":`+c.method+`}`)
		text := fmt.Sprint(v)
		if !strings.Contains(text, c.want) || c.key == eve && strings.Contains(text, "basalt") {
			t.Errorf("%s: %v, want %q", c.method, v, c.want)
		}
		if n := used(c.key) - before; n != c.operations {
			t.Errorf("%s: %v operations, want %v", c.method, n, c.operations)
		}
	}
}
