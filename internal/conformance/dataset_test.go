package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func readDataset(t *testing.T, name string) relevance.Dataset {
	t.Helper()
	return Must(relevance.ReadDataset(datasettest.Dir(t, name)))(t)
}

// A runningServer is a running server with a person's key and an atlas for each corpus.
type runningServer struct {
	url, key string
	atlases  map[string]string
	names    map[loci.ID]string // the corpus's name of a document, by the memory's id
}

// startServer runs a server on a database: that at a PostgreSQL address, or SQLite. It embeds nothing, because nobody
// answers at the embedder's address.
func startServer(t *testing.T, postgres string) *runningServer {
	t.Helper()
	s, _, err := server.Load(map[string]string{"data": t.TempDir(), "db": postgres, "listen": "127.0.0.1:0",
		"rate-limit": "0", "embed-url": "http://127.0.0.1:9/v1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := server.Start(s, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop() })
	ctx := t.Context()
	admin, err := server.OpenAdmin(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.CreateUser(ctx, "ann@example.com", "", ""); err != nil {
		t.Fatal(err)
	}
	key, err := admin.CreateKey(ctx, "ann@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	return &runningServer{url: url, key: key.APIKey, atlases: map[string]string{}, names: map[loci.ID]string{}}
}

// post sends a body and decodes the answer into out.
func (p *runningServer) post(t *testing.T, path string, body, out any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("POST", p.url+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+p.key)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	raw, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode >= 300 {
		t.Fatal(path, w.StatusCode, string(raw), err)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
}

// ingest stores a corpus in an atlas of its own, in order.
func (p *runningServer) ingest(t *testing.T, name string) {
	var made loci.CreatedAtlas
	p.post(t, "/v1/atlases", loci.CreateAtlas{Name: loci.Name(name)}, &made)
	p.atlases[name] = string(made.Atlas.ID)
	for _, d := range readDataset(t, name).Documents {
		var out loci.CreatedMemory
		p.post(t, "/v1/memories", loci.CreateMemory{AtlasID: made.Atlas.ID, Title: loci.Title(d.Title),
			Content: loci.Content(d.Text)}, &out)
		p.names[out.Memory.ID] = d.ID
	}
}

func (p *runningServer) searchBody(name, query string) map[string]any {
	return map[string]any{"query": query, "mode": "keyword", "atlas_id": p.atlases[name], "limit": 10}
}

func (p *runningServer) namesOf(found loci.FoundMemories) (list []string) {
	for _, m := range found.Memories {
		list = append(list, p.names[m.ID])
	}
	return list
}

func (p *runningServer) byREST(t *testing.T, name, query string) []string {
	var found loci.FoundMemories
	p.post(t, "/v1/memories/search", p.searchBody(name, query), &found)
	return p.namesOf(found)
}

func (p *runningServer) byMCP(t *testing.T, name, query string) []string {
	var answer struct {
		Result struct {
			Content []struct{ Text string } `json:"content"`
		} `json:"result"`
	}
	p.post(t, "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": "memory_search", "arguments": p.searchBody(name, query)}}, &answer)
	var found loci.FoundMemories
	if len(answer.Result.Content) != 1 {
		t.Fatalf("%d texts answer %q", len(answer.Result.Content), query)
	}
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &found); err != nil {
		t.Fatal(err)
	}
	return p.namesOf(found)
}

func (p *runningServer) byCommand(t *testing.T, binary, name, query string) []string {
	cmd := exec.Command(binary, "memory", "search", "--json", "--mode", "keyword", "--limit", "10", "--atlas-id",
		p.atlases[name], "--", query)
	cmd.Env = append(os.Environ(), "LOCI_URL="+p.url, "LOCI_API_KEY="+p.key)
	raw, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found loci.FoundMemories
	if err := json.Unmarshal(raw, &found); err != nil {
		t.Fatal(err)
	}
	return p.namesOf(found)
}

// program builds the binary with the database driver of this test.
func program(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "loci")
	args := []string{"build", "-o", path}
	if sqldb.Driver == "mattn" {
		args = append(args, "-tags", "sqlite_fts5")
	}
	if out, err := exec.Command("go", append(args, "../../cmd/loci")...).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	return path
}

// TestEveryTransportAndDatabaseReturnsTheSameHits writes real texts through REST. Every transport finds them, and both
// databases have the same top ten for every query.
func TestEveryTransportAndDatabaseReturnsTheSameHits(t *testing.T) {
	t.Parallel()
	file, served := startServer(t, ""), startServer(t, storetest.NewPostgresDatabase(t).Address)
	binary := program(t)
	for _, name := range datasettest.Present(t, "docs", "code", "xquad-zh") {
		file.ingest(t, name)
		served.ingest(t, name)
		questions := readDataset(t, name).Queries
		empty := 0
		for i, q := range questions {
			want := file.byREST(t, name, q.Text)
			if len(want) == 0 {
				empty++
			}
			others := map[string][]string{"postgres": served.byREST(t, name, q.Text)}
			if i%10 == 0 {
				others["mcp"] = file.byMCP(t, name, q.Text)
			}
			if i%100 == 0 {
				others["command"] = file.byCommand(t, binary, name, q.Text)
			}
			for handler, got := range others {
				if !slices.Equal(got, want) {
					t.Errorf("%s, %q: %s finds\n%s\nSQLite by REST\n%s", name, q.Text, handler, strings.Join(got, "\n"),
						strings.Join(want, "\n"))
				}
			}
		}
		if empty > len(questions)/50 {
			t.Errorf("%s: %d of %d questions find nothing", name, empty, len(questions))
		}
		t.Logf("%s: %d questions", name, len(questions))
	}
}
