package server

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestMetricsShowRecordsRefusalsAndRoom(t *testing.T) {
	t.Parallel()
	dir, metrics := t.TempDir(), freeAddress(t)
	key := addKey(t, dir, "ann@example.com")
	url, _, log, _ := start(t, map[string]string{"data": dir, "metrics-listen": metrics})
	for range 2 {
		r := testenv.Must(http.NewRequestWithContext(t.Context(), "GET", url+"/health", nil))(t)
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		testenv.NoError(t, testenv.Must(testenv.Client.Do(r))(t).Body.Close())
	}
	if n := strings.Count(log.String(), "a proxy is not trusted"); n != 1 {
		t.Errorf("%d warnings of an ignored proxy", n)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v1/nothing", "", 404}, {"GET", "/v1//memories", "", 404}, {"PUT", "/v1/memories", "", 405},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tuna"}}`, 200},
		{"POST", "/v1/auth/login", `{"email":"tuna@example.com","password":"wrong"}`, 401},
		{"POST", "/v1/auth/login", `{"email":"ann@example.com","password":"wrong"}`, 401},
		{"POST", "/v1/memories", `{"content":"The bridge stands on basalt."}`, 201},
	} {
		if status, v := callAPI(t, c.method, url+c.path, key, c.body); status != c.status {
			t.Errorf("%s %s: %d %v", c.method, c.path, status, v)
		}
	}
	read := func() []string {
		_, _, text := answers(t, "http://"+metrics+"/metrics")
		return strings.Split(text, "\n")
	}
	waittest.Until(t, func() bool { return slices.Contains(read(), "loci_users 1") })
	text := read()
	for _, line := range []string{`loci_unmatched_total{kind="path"} 2`, `loci_unmatched_total{kind="method"} 1`,
		`loci_unmatched_total{kind="tool"} 1`, `loci_signins_refused_total{cause="address"} 1`,
		`loci_signins_refused_total{cause="password"} 1`, `loci_signins_refused_total{cause="disabled"} 0`,
		`loci_signins_refused_total{cause="limit"} 0`, "loci_workspaces 1", "loci_ignored_proxies_total 2"} {
		if !slices.Contains(text, line) {
			t.Errorf("the metrics show no %s", line)
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(read(), func(line string) bool { return strings.HasPrefix(line, name+" ") })
	}
	if !has("loci_files_free_bytes") || !has("loci_memories") || has("loci_last_backup_seconds") {
		t.Errorf("before a backup the metrics are %s", strings.Join(text, "\n"))
	}
	before := time.Now().Add(-time.Second)
	s, _, err := Load(map[string]string{"data": dir}, nil)
	testenv.NoError(t, err)
	file := filepath.Join(t.TempDir(), "loci.tar")
	testenv.Must(s.Backup(t.Context(), file, false, io.Discard, func(int64, int64) {}))(t)
	if at, err := backup.Last(dir); err != nil || at.Before(before) || !has("loci_last_backup_seconds") {
		t.Errorf("the last backup is of %v, %v", at, err)
	}
	before = time.Now().Add(-time.Hour)
	testenv.NoError(t, os.Chtimes(filepath.Join(dir, backup.LastFile), before, before))
	testenv.Must(s.Backup(t.Context(), "-", false, io.Discard, func(int64, int64) {}))(t)
	if at, err := backup.Last(dir); err != nil || !at.After(before) {
		t.Errorf("a backup to a pipe leaves %v, %v", at, err)
	}
	if strings.Contains(strings.Join(read(), "\n"), "tuna") {
		t.Error("a name of a caller is a label")
	}
}
