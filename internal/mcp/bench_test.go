package mcp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/loci-memory/loci/internal/op"
)

// BenchmarkCall compares a call of a tool with the same operation behind the
// least that an HTTP door does. Both skip the network.
func BenchmarkCall(b *testing.B) {
	s := newFakeService()
	host := s.host()
	in := json.RawMessage(`{"content":"` + string(bytes.Repeat([]byte("word "), 140)) + `"}`)
	create := fakeTable.Op("memory.create")
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		out, err := host.Call(r.Context(), create, &op.Call{Credential: "ann"}, op.Args{JSON: body})
		if err != nil {
			b.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out)
	})
	b.Run("bare", func(b *testing.B) { benchmarkCalls(b, s, bare, client{version: "2025-11-25"}, in) })
	for _, version := range []string{"2025-11-25", statelessVersion} {
		c := client{version: version}
		body, err := json.Marshal(c.message("tools/call", object{"name": "memory_create", "arguments": in}))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(version, func(b *testing.B) { benchmarkCalls(b, s, s.newServer().HTTP(), c, body) })
	}
}

func benchmarkCalls(b *testing.B, s *fakeService, h http.Handler, c client, body []byte) {
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), "POST", "http://localhost/mcp", bytes.NewReader(body))
		for name, value := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Authorization": "Bearer ann",
			"MCP-Protocol-Version": c.version, "Mcp-Method": "tools/call", "Mcp-Name": "memory_create"} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 200 {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
		s.memories, s.calls = s.memories[:0], s.calls[:0]
	}
}
