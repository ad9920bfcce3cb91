package server

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// TestDrainServesCallsWhileNotReady stops a server, and ends its drain after calls.
func TestDrainServesCallsWhileNotReady(t *testing.T) {
	t.Parallel()
	metrics, dir := freeAddress(t), t.TempDir()
	key := addKey(t, dir, "ann@example.com")
	s, _, err := Load(map[string]string{"data": dir, "listen": "127.0.0.1:0", "metrics-listen": metrics, "drain": "7s"},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	type timer struct {
		after time.Duration
		end   func()
	}
	begun, ended := make(chan timer, 1), make(chan error, 1)
	s.after = func(d time.Duration, end func()) { begun <- timer{d, end} }
	url, _, log, stop := serve(t, s)
	authorized := http.Header{"Authorization": {"Bearer " + key}, "X-Loci-Actor": {"agent"}}
	get := func(address string, header http.Header) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		res, err := testenv.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	stream := get(url+"/v1/agent-messages/events", authorized)
	if res := get("http://"+metrics+"/ready", nil); res.StatusCode != 200 || res.Close {
		t.Errorf("before the drain /ready is %d, closes %v", res.StatusCode, res.Close)
	}
	go func() { ended <- stop() }()
	drain := <-begun
	if drain.after != 7*time.Second {
		t.Errorf("the drain lasts %v", drain.after)
	}
	if res := get("http://"+metrics+"/ready", nil); res.StatusCode != 503 || res.Header.Get("Retry-After") != "2" {
		t.Errorf("/ready is %d, headers %v", res.StatusCode, res.Header)
	}
	for events := bufio.NewScanner(stream.Body); events.Scan(); { // the stream has ended
	}
	if res := get(url+"/v1/agent-messages/events", authorized); res.StatusCode != 503 ||
		res.Header.Get("Retry-After") != "2" {
		t.Errorf("a later stream is %d, headers %v", res.StatusCode, res.Header)
	}
	for range 2 {
		for path, header := range map[string]http.Header{"/health": nil, "/v1/memories": authorized} {
			if res := get(url+path, header); res.StatusCode != 200 || !res.Close {
				t.Errorf("%s is %d, closes %v", path, res.StatusCode, res.Close)
			}
		}
		if status, v := callAPI(t, "POST", url+"/v1/memories", key, `{"content":"The bridge stands."}`); status != 201 {
			t.Errorf("a write: %d %v", status, v)
		}
		res, err := testenv.Client.Do(mcpRequest(t, url+"/mcp", key, listTools))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 || !res.Close {
			t.Errorf("/mcp is %d, closes %v", res.StatusCode, res.Close)
		}
	}
	select {
	case err := <-ended:
		t.Error("the server ends before its drain: ", err)
	default:
	}
	drain.end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `"drain":"7s"`) {
		t.Errorf("the log has %s", log)
	}
	if res, err := testenv.Client.Get(url + "/health"); err == nil {
		res.Body.Close()
		t.Error("the listener is open")
	}
}

func TestLoadReadsDrain(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{"": 2 * time.Second, "0": 0, "0s": 0, "2s": 2 * time.Second,
		"1m30s": 90 * time.Second, "1h": time.Hour} {
		s, _, err := Load(map[string]string{"data": t.TempDir()}, []string{"LOCI_DRAIN=" + value})
		if err != nil || s.Drain != want || s.IsGiven("drain") != (value != "") {
			t.Errorf("%q: %v, given %v, %v", value, s.Drain, s.IsGiven("drain"), err)
		}
	}
	for _, bad := range []string{"2", "-1s", "61m", "soon", "1h1ns"} {
		_, _, err := Load(map[string]string{"data": t.TempDir(), "drain": bad}, nil)
		if err == nil || err.Error() != "--drain: must be a duration from 0 to 1h, such as 10s" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
