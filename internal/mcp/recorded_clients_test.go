package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

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
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, _ := http.NewRequestWithContext(ctx, q.Method, url, strings.NewReader(body))
	for name, value := range q.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Authorization", "Bearer ann")
	if q.RPC == "subscriptions/listen" { // it lasts until the client leaves
		a := testenv.Must(http.DefaultClient.Do(r))(t)
		if a.Body.Close(); a.StatusCode != q.Status {
			t.Errorf("%s: %d, recorded %d", file, a.StatusCode, q.Status)
		}
		return
	}
	a := do(t, r)
	if a.StatusCode != q.Status || a.code() != 0 {
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
