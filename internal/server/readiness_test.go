package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestReadinessReportsFailures(t *testing.T) {
	t.Parallel()
	out := &logtest.Buffer{}
	var away error
	draining := make(chan struct{})
	r := &readiness{check: func(context.Context) error { return away }, log: slog.New(slog.NewTextHandler(out, nil)),
		draining: draining}
	for _, c := range []struct {
		away     error
		draining bool
		status   int
		says     []string
	}{
		{nil, false, 200, []string{`{"ok":true}`}},
		{errors.New("connection refused"), false, 503,
			[]string{`"ok":false`, `"check":"database"`, "connection refused"}},
		{errors.New("connection refused"), false, 503, []string{"database"}},
		{nil, false, 200, []string{`{"ok":true}`}},
		{nil, true, 503, []string{`"check":"server"`, "shutting down"}},
	} {
		away = c.away
		if c.draining {
			close(draining)
		}
		r.checkOnce(context.Background())
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/ready", nil))
		if retry := w.Header().Get("Retry-After"); (retry == "2") != (c.status == 503) {
			t.Errorf("%+v: Retry-After: %q", c, retry)
		}
		for _, s := range c.says {
			if w.Code != c.status || !strings.Contains(w.Body.String(), s) {
				t.Errorf("%+v: %d %s", c, w.Code, w.Body)
			}
		}
	}
	if got := out.String(); strings.Count(got, "does not answer") != 1 || strings.Count(got, "answers again") != 1 {
		t.Errorf("the log has %s", got)
	}
}

// page reads a page of the metrics listener.
func page(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}

// A server with damage continues: a restart would repair nothing.
func TestReadyReportsDamage(t *testing.T) {
	t.Parallel()
	r := &readiness{check: func(context.Context) error { return nil }, log: slog.New(slog.DiscardHandler),
		damage: func() []Problem { return []Problem{{"index", "1 search met it"}} }}
	r.checkOnce(context.Background())
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", "/ready", nil))
	if want := `{"ok":true,"damage":[{"check":"index","cause":"1 search met it"}]}`; w.Code != 200 ||
		strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestReadyAndStatusNameFullDisk(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]string{-1: "", MinFreeBytes: "", MinFreeBytes - 1: "disk", 0: "disk"} {
		r := &readiness{check: func(context.Context) error { return nil }, log: slog.New(slog.DiscardHandler),
			free: func(context.Context) int64 { return free }}
		r.checkOnce(context.Background())
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/ready", nil))
		state := r.state()
		if named := strings.Contains(w.Body.String(), `{"check":"disk"`); w.Code != 200 || named != (want != "") ||
			!state.Ready || len(state.Problems) > 0 != (want != "") {
			t.Errorf("%d free bytes: %d %s, %+v", free, w.Code, w.Body, state)
		}
	}
}

// Users read no cause of the operator, and each check has a text for them.
func TestStatusNamesEachProblemForUsers(t *testing.T) {
	t.Parallel()
	checks := []string{"index", "file", "samples"}
	r := &readiness{check: func(context.Context) error { return errors.New("at 10.0.0.7: tuna") },
		log: slog.New(slog.DiscardHandler), damage: func() (list []Problem) {
			for _, c := range checks {
				list = append(list, Problem{c, "tuna"})
			}
			return list
		}, free: func(context.Context) int64 { return 0 }}
	r.checkOnce(context.Background())
	state := r.state()
	if state.Ready || len(state.Problems) != len(checks)+2 || slices.Contains(state.Problems, "") ||
		strings.Contains(strings.Join(state.Problems, " "), "tuna") {
		t.Errorf("%+v", state)
	}
}

// The process counts the damage, and /ready and the metrics show it.
func TestDamagedIndexIsReportedByReadyAndMetrics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLocal(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	m := createMemory(t, l, "The bridge stands on basalt.")
	if err := errors.Join(l.store.Flush(t.Context(), m.WorkspaceID), l.Close()); err != nil {
		t.Fatal(err)
	}
	storetest.Database{Dir: dir}.Exec(t, `UPDATE segments SET header = x'ff01'`)
	if l, err = OpenLocal(t.Context(), dir, false); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	createMemory(t, l, "Another one.")
	if err := l.store.Flush(t.Context(), m.WorkspaceID); err == nil {
		t.Fatal("the fold met no damage")
	}
	ready := &readiness{check: l.store.Ping, damage: seenDamage, log: slog.New(slog.DiscardHandler)}
	h := newMetrics(l.store, ready).handler()
	if status, text := page(t, h, "/ready"); status != 200 || !strings.Contains(text, `{"check":"index","cause":"`) ||
		!strings.Contains(text, "--repair") {
		t.Errorf("%d %s", status, text)
	}
	if _, text := page(t, h, "/metrics"); !strings.Contains(text, "\nloci_index_corrupt_total ") ||
		strings.Contains(text, "\nloci_index_corrupt_total 0\n") {
		t.Error("the metrics show no damaged index")
	}
}

func TestMetricsAnswerWhenDatabaseIsDown(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st := d.Open(t, store.Options{})
		ready := &readiness{check: st.Ping, log: slog.New(slog.DiscardHandler)}
		h := newMetrics(st, ready).handler()
		want := []string{"loci_database_up 1", "loci_embeddings_pending 0", "loci_database_connections ",
			"loci_database_connections_in_use ",
			"loci_database_connection_waits_total ", "loci_database_bytes ", "process_open_fds"}
		if d.Dir != "" {
			want = append(want, "loci_writer_queue 0", "loci_wal_bytes ", "loci_disk_free_bytes ")
		}
		ready.checkOnce(context.Background())
		status, text := page(t, h, "/metrics")
		for _, s := range want {
			if status != 200 || !strings.Contains(text, "\n"+s) {
				t.Errorf("%d without %s", status, s)
			}
		}
		if status, _ := page(t, h, "/ready"); status != 200 {
			t.Errorf("/ready is %d", status)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		for _, looked := range []bool{false, true} {
			if looked {
				ready.checkOnce(context.Background())
			}
			status, text = page(t, h, "/metrics")
			up := map[bool]string{false: "\nloci_database_up 1\n", true: "\nloci_database_up 0\n"}[looked]
			if status != 200 || !strings.Contains(text, up) || strings.Contains(text, "\nloci_embeddings_pending ") ||
				!strings.Contains(text, "\nloci_statements_total ") {
				t.Errorf("of a closed database, looked %v: %d %s", looked, status, text)
			}
		}
		if status, text := page(t, h, "/ready"); status != 503 || !strings.Contains(text, "database") {
			t.Errorf("/ready is %d %s", status, text)
		}
	})
}

func TestMetricsListenerServesOnlyMetricsAndReady(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	metrics := "http://" + address
	url, _, _, _ := start(t, map[string]string{"metrics-listen": address})
	for address, want := range map[string]int{
		metrics + "/metrics": 200, metrics + "/ready": 200, metrics + "/health": 404, metrics + "/v1/status": 404,
		url + "/metrics": 404, url + "/ready": 404, url + "/health": 200,
	} {
		res, err := testenv.Client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != want {
			t.Errorf("%s is %d, not %d: %v", address, res.StatusCode, want, err)
		}
	}
}

func TestMetricsListenerHasTimeouts(t *testing.T) {
	t.Parallel()
	srv := (&metrics{}).server(slog.New(slog.DiscardHandler))
	for name, d := range map[string]time.Duration{"header": srv.ReadHeaderTimeout, "read": srv.ReadTimeout,
		"write": srv.WriteTimeout, "idle": srv.IdleTimeout} {
		if d <= 0 {
			t.Errorf("the time for %s has no bound", name)
		}
	}
}
