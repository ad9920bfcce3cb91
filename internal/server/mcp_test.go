package server

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"
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
	admin, err := OpenAdmin(t.Context(), Settings{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.CreateUser(t.Context(), "ann@example.com", "Ann", ""); err != nil {
		t.Fatal(err)
	}
	made, err := admin.CreateKey(t.Context(), "ann@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	return url, made.APIKey, stop
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestMCPChallengeNamesMetadata(t *testing.T) {
	t.Parallel()
	url, _, _, _ := start(t, map[string]string{"public-url": "https://loci.example/"})
	challenge := `Bearer resource_metadata="https://loci.example/.well-known/oauth-protected-resource/mcp", scope="mcp"`
	for path, status := range map[string]int{"/mcp": 401, "/mcp/": 401, "/mcp/?toolset=core": 401, "/mcp/x": 404,
		"//mcp": 404} {
		for key, suffix := range map[string]string{"": "", "nonsense": `, error="invalid_token"`} {
			res, err := http.DefaultClient.Do(mcpRequest(t, url+path, key, listTools))
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
	for path, size := range map[string]int{"/mcp/": 32, "/mcp/?toolset=core": 11, "/mcp?toolset=stable": 31} {
		status, v := callAPI(t, "POST", url+path, key, listTools)
		result, _ := v["result"].(map[string]any)
		if list, _ := result["tools"].([]any); status != 200 || len(list) != size {
			t.Errorf("%s: %d, %d tools", path, status, len(list))
		}
	}
}

func TestMCPSubscriptionEndsWhenServerStops(t *testing.T) {
	t.Parallel()
	url, key, stop := startWithKey(t)
	r := mcpRequest(t, url+"/mcp", key, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{`+
		`"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
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
	begun := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if last := next(); !strings.Contains(last, `"result"`) {
		t.Errorf("last %q", last)
	}
	if err := <-stopped; err != nil || time.Since(begun) > 10*time.Second {
		t.Errorf("stopped after %s: %v", time.Since(begun), err)
	}
}
