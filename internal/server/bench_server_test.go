package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// exerciseBenchServer makes a BenchServer, writes a memory and reads it from a second server on it.
func exerciseBenchServer(t *testing.T, address string) *BenchServer {
	t.Helper()
	benchServer, err := NewBenchServer(t.Context(), address,
		[]string{"LOCI_DB=postgres://nobody@127.0.0.1:1/x", "LOCI_CONTRACT=nonsense", "HOME=/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range [][3]string{{"POST", "/v1/memories", `{"content": "The cat is called Ada."}`},
		{"GET", "/v1/memories", ""}} {
		url, stop, err := benchServer.Start(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		status, answer := callAPI(t, call[0], url+call[1], benchServer.Key, call[2])
		if err := stop(); err != nil {
			t.Error(err)
		}
		if list, _ := answer["memories"].([]any); status/100 != 2 || call[0] == http.MethodGet && len(list) != 1 {
			t.Errorf("%v: %d %v", call, status, answer)
		}
	}
	if n, err := benchServer.Bytes(t.Context()); err != nil || n < 100<<10 {
		t.Errorf("the database has %d bytes, %v", n, err)
	}
	return benchServer
}

func TestBenchServerLeavesNoFiles(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	left := func() {
		t.Helper()
		if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
			t.Error("left behind: ", files, err)
		}
	}
	benchServer := exerciseBenchServer(t, "")
	if want := "sqlite (" + sqlite.Driver + ")"; benchServer.Engine != want {
		t.Errorf("the engine is %q, not %q", benchServer.Engine, want)
	}
	if !strings.HasPrefix(benchServer.Model, "minilm") {
		t.Errorf("the model is %q", benchServer.Model)
	}
	if _, err := os.Stat(filepath.Join(benchServer.settings.Data, "loci.db")); err != nil {
		t.Error(err)
	}
	if err := benchServer.Close(); err != nil {
		t.Error(err)
	}
	left()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewBenchServer(interrupted, "", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	left()
	if _, err := NewBenchServer(t.Context(), "mysql://x", nil); err == nil {
		t.Error("a database that is none is taken")
	}
	if _, err := NewBenchServer(t.Context(), "", []string{"LOCI_EMBED_URL=nowhere"}); err == nil ||
		!strings.HasPrefix(err.Error(), "LOCI_EMBED_URL: ") {
		t.Error("the embedder is not that of the environment: ", err)
	}
	left()
}

func TestBenchServerLeavesNoTablesInPostgres(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	benchServer := exerciseBenchServer(t, d.Address)
	if err := benchServer.Close(); err != nil {
		t.Error(err)
	}
	if left := d.Query(t,
		`SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname LIKE 'loci%' OR `+
			`nspname = 'public'`); len(left) > 0 {
		t.Error("left behind: ", left)
	}
}
