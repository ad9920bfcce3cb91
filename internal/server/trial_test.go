package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// try makes a trial, writes a memory and reads it from another server on it.
func try(t *testing.T, address string) *Trial {
	t.Helper()
	trial, err := NewTrial(t.Context(), address, []string{"LOCI_DB=postgres://nobody@127.0.0.1:1/x", "LOCI_CONTRACT=nonsense", "HOME=/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range [][3]string{{"POST", "/v1/memories", `{"content": "The cat is called Ada."}`}, {"GET", "/v1/memories", ""}} {
		url, stop, err := trial.Start(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		status, answer := ask(t, call[0], url+call[1], trial.Key, call[2])
		if err := stop(); err != nil {
			t.Error(err)
		}
		if list, _ := answer["memories"].([]any); status/100 != 2 || call[0] == http.MethodGet && len(list) != 1 {
			t.Errorf("%v: %d %v", call, status, answer)
		}
	}
	if n, err := trial.Bytes(t.Context()); err != nil || n < 100<<10 {
		t.Errorf("the database has %d bytes, %v", n, err)
	}
	return trial
}

func TestATrialLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	left := func() {
		t.Helper()
		if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
			t.Error("left behind: ", files, err)
		}
	}
	trial := try(t, "")
	if want := "sqlite (" + store.Driver + ")"; trial.Engine != want {
		t.Errorf("the engine is %q, not %q", trial.Engine, want)
	}
	if !strings.HasPrefix(trial.Model, "minilm") {
		t.Errorf("the model is %q", trial.Model)
	}
	if _, err := os.Stat(filepath.Join(trial.settings.Data, "loci.db")); err != nil {
		t.Error(err)
	}
	if err := trial.Close(); err != nil {
		t.Error(err)
	}
	left()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewTrial(interrupted, "", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	left()
	if _, err := NewTrial(t.Context(), "mysql://x", nil); err == nil {
		t.Error("a database that is none is taken")
	}
	if _, err := NewTrial(t.Context(), "", []string{"LOCI_EMBED_URL=nowhere"}); err == nil || !strings.HasPrefix(err.Error(), "LOCI_EMBED_URL: ") {
		t.Error("the embedder is not that of the environment: ", err)
	}
	left()
}

// A busy machine would else make a feature look worth what meaning is.
func TestATrialWithoutAFeatureWaitsForTheMeaningOfAQuery(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Input) != 1 {
			t.Errorf("asked for %v, %v", asked.Input, err)
			return
		}
		if asked.Input[0] == "a question" {
			time.Sleep(400 * time.Millisecond)
		}
		io.WriteString(w, `{"data": [{"index": 0, "embedding": [0.6, 0.8]}]}`)
	}))
	defer provider.Close()
	trial, err := NewTrial(t.Context(), "", []string{"LOCI_EMBED_URL=" + provider.URL, "LOCI_EMBED_MODEL=slow"})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	for want, start := range map[string]func(io.Writer) (string, func() error, error){
		"keyword_fallback": trial.Start,
		"hybrid":           func(logs io.Writer) (string, func() error, error) { return trial.StartWithout("pairs", logs) },
	} {
		url, stop, err := start(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		_, answer := ask(t, "POST", url+"/v1/memories/search", trial.Key, `{"query": "a question", "mode": "hybrid"}`)
		if meta, _ := answer["meta"].(map[string]any); meta["resolvedMode"] != want {
			t.Errorf("%v is not answered by %s", answer, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestATrialOnPostgresLeavesNothing(t *testing.T) {
	t.Parallel()
	d := storetest.Own(t)
	trial := try(t, d.Address)
	if err := trial.Close(); err != nil {
		t.Error(err)
	}
	if left := d.Query(t, `SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname LIKE 'loci%' OR nspname = 'public'`); len(left) > 0 {
		t.Error("left behind: ", left)
	}
}
