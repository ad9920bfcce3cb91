package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func readDataset(t *testing.T, name string) relevance.Dataset {
	t.Helper()
	return testenv.Must(relevance.ReadDataset(datasettest.Dir(t, name)))(t)
}

// A runningServer is a running server with a person's key and an atlas for each corpus.
type runningServer struct {
	url, key string
	atlases  map[string]string
	names    map[loci.ID]string // the corpus's name of a document, by the memory's id
}

// noEmbedder is an address that refuses connections: its server searches by keywords alone.
const noEmbedder = "http://127.0.0.1:9/v1"

// startServer runs a server on a database: that at a PostgreSQL address, or SQLite. Without the address of an embedder
// it embeds by the built-in model.
func startServer(t *testing.T, postgres, embedder string) *runningServer {
	t.Helper()
	s, _, err := server.Load(map[string]string{"data": t.TempDir(), "db": postgres, "listen": "127.0.0.1:0",
		"rate-limit": "0", "drain": "0", "embed-url": embedder}, nil)
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := server.Start(s, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop() })
	ctx := t.Context()
	admin := testenv.Must(server.OpenAdmin(ctx, s))(t)
	defer admin.Close()
	testenv.Must(admin.CreateUser(ctx, "ann@example.com", "", ""))(t)
	key := testenv.Must(admin.CreateKey(ctx, "ann@example.com", ""))(t)
	return &runningServer{url: url, key: key.APIKey, atlases: map[string]string{}, names: map[loci.ID]string{}}
}

// post sends a body and decodes the answer into out.
func (p *runningServer) post(t *testing.T, path string, body, out any) {
	t.Helper()
	p.send(t, "POST", path, body, out)
}

func (p *runningServer) send(t *testing.T, method, path string, body, out any) {
	t.Helper()
	t.Helper()
	var b []byte
	if body != nil {
		b = testenv.Must(json.Marshal(body))(t)
	}
	r := testenv.Must(http.NewRequest(method, p.url+path, bytes.NewReader(b)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+p.key)
	w := testenv.Must(testenv.Client.Do(r))(t)
	defer w.Body.Close()
	raw, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode >= 300 {
		t.Fatal(path, w.StatusCode, string(raw), err)
	}
	testenv.NoError(t, json.Unmarshal(raw, out))
}

// ingest stores documents of a corpus in an atlas of its own, in order.
func (p *runningServer) ingest(t *testing.T, name string, documents []relevance.Document) {
	t.Helper()
	var made loci.CreatedAtlas
	p.post(t, "/v1/atlases", loci.CreateAtlas{Name: loci.Name(name)}, &made)
	p.atlases[name] = string(made.Atlas.ID)
	for _, d := range documents {
		var out loci.CreatedMemory
		p.post(t, "/v1/memories", loci.CreateMemory{AtlasID: made.Atlas.ID, Title: loci.Title(d.Title),
			Content: loci.Content(d.Text)}, &out)
		p.names[out.Memory.ID] = d.ID
	}
}

func (p *runningServer) searchBody(mode loci.Mode, name, query string) map[string]any {
	return map[string]any{"query": query, "mode": mode, "atlas_id": p.atlases[name], "limit": 10}
}

// namesOf returns the resolved mode and the names of the hits.
func (p *runningServer) namesOf(found loci.FoundMemories) []string {
	list := []string{string(found.Mode)}
	for _, m := range found.Memories {
		list = append(list, p.names[m.ID])
	}
	return list
}

func (p *runningServer) byREST(t *testing.T, mode loci.Mode, name, query string) []string {
	t.Helper()
	var found loci.FoundMemories
	p.post(t, "/v1/memories/search", p.searchBody(mode, name, query), &found)
	return p.namesOf(found)
}

func (p *runningServer) byMCP(t *testing.T, mode loci.Mode, name, query string) []string {
	t.Helper()
	var answer struct {
		Result struct {
			Content []struct{ Text string } `json:"content"`
		} `json:"result"`
	}
	p.post(t, "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": "memory_search", "arguments": p.searchBody(mode, name, query)}}, &answer)
	var found loci.FoundMemories
	testenv.RequireEqual(t, len(answer.Result.Content), 1, query)
	testenv.NoError(t, json.Unmarshal([]byte(answer.Result.Content[0].Text), &found))
	return p.namesOf(found)
}

func (p *runningServer) byCommand(t *testing.T, binary string, mode loci.Mode, name, query string) []string {
	t.Helper()
	cmd := exec.Command(binary, "memory", "search", "--json", "--mode", string(mode), "--limit", "10",
		"--atlas-id", p.atlases[name], "--", query)
	cmd.Env = append(os.Environ(), "LOCI_URL="+p.url, "LOCI_API_KEY="+p.key)
	raw := testenv.Must(cmd.Output())(t)
	var found loci.FoundMemories
	testenv.NoError(t, json.Unmarshal(raw, &found))
	return p.namesOf(found)
}

// requireHits compares the hits of a transport or database with those of SQLite by REST.
func requireHits(t *testing.T, got, want []string, handler, name, query string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s, %q: %s finds\n%s\nSQLite by REST\n%s", name, query, handler, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// TestEveryTransportAndDatabaseReturnsTheSameHits writes real texts through REST. Every transport finds them, and both
// databases have the same top ten for every query. Without a PostgreSQL server it compares the transports on SQLite.
func TestEveryTransportAndDatabaseReturnsTheSameHits(t *testing.T) {
	t.Parallel()
	binary := testenv.Program(t)
	t.Run("keyword", func(t *testing.T) { t.Parallel(); compareKeywordHits(t, binary) })
	t.Run("semantic", func(t *testing.T) { t.Parallel(); compareSemanticHits(t, binary) })
}

// maxQueries is the number of queries of a dataset that are compared.
const maxQueries = 250

func compareKeywordHits(t *testing.T, binary string) {
	file, served := startServer(t, "", noEmbedder), (*runningServer)(nil)
	if storetest.HasPostgres(t) {
		served = startServer(t, storetest.NewPostgresDatabase(t).Address, noEmbedder)
	}
	for _, name := range datasettest.Present(t, "docs", "code", "xquad-zh") {
		s := readDataset(t, name)
		file.ingest(t, name, s.Documents)
		if served != nil {
			served.ingest(t, name, s.Documents)
		}
		empty := 0
		queries := s.Queries[:min(len(s.Queries), maxQueries)]
		for i, q := range queries {
			want := file.byREST(t, loci.ModeKeyword, name, q.Text)
			if len(want) == 1 {
				empty++
			}
			if served != nil {
				requireHits(t, served.byREST(t, loci.ModeKeyword, name, q.Text), want, "PostgreSQL", name, q.Text)
			}
			if i%10 == 0 {
				requireHits(t, file.byMCP(t, loci.ModeKeyword, name, q.Text), want, "MCP", name, q.Text)
			}
			if i%100 == 0 {
				requireHits(t, file.byCommand(t, binary, loci.ModeKeyword, name, q.Text), want, "the command", name,
					q.Text)
			}
		}
		if empty > len(queries)/50 {
			t.Errorf("%s: %d of %d queries find nothing", name, empty, len(queries))
		}
	}
}

// compareSemanticHits embeds texts by the built-in model, and compares the transports on SQLite. Another test compares
// the databases.
func compareSemanticHits(t *testing.T, binary string) {
	p, s := startServer(t, "", ""), readDataset(t, "docs")
	p.ingest(t, s.Name, s.Documents[:30])
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var status loci.AccountStatus
		p.send(t, "GET", "/v1/status", nil, &status)
		if status.Indexing.Failed > 0 || time.Now().After(end) {
			t.Fatalf("waiting for vectors: %+v", status.Indexing)
		}
		if status.Indexing.Pending == 0 {
			break
		}
	}
	for i, q := range s.Queries[:20] {
		for _, mode := range []loci.Mode{loci.ModeSemantic, loci.ModeHybrid} {
			want := p.byREST(t, mode, s.Name, q.Text)
			// On a busy machine the query's vector exceeds its time limit at first.
			for try := 0; try < 20 && want[0] != string(mode); try++ {
				time.Sleep(50 * time.Millisecond)
				want = p.byREST(t, mode, s.Name, q.Text)
			}
			if want[0] != string(mode) || len(want) < 2 {
				t.Fatalf("%s, %q: REST finds %v", mode, q.Text, want)
			}
			requireHits(t, p.byMCP(t, mode, s.Name, q.Text), want, "MCP", s.Name, q.Text)
			if i%10 == 0 {
				requireHits(t, p.byCommand(t, binary, mode, s.Name, q.Text), want, "the command", s.Name, q.Text)
			}
		}
	}
}
