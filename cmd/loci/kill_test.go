package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// rounds returns how often a test kills the server: whole times in a whole run, a fifth of it in an ordinary one, and
// LOCI_TORTURE times where it is set.
func rounds(t *testing.T, whole int) int {
	if s := os.Getenv("LOCI_TORTURE"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal("LOCI_TORTURE must be a number: ", s)
		}
		return n
	}
	if testenv.Whole() {
		return whole
	}
	return whole / 5
}

// A testServer is a server that gets killed.
type testServer struct {
	bin, key string
	store    []string // the flags that name the database
	env      []string // further settings
	running  *exec.Cmd
	base     string
	client   *http.Client
}

// storeFlags returns the flags of a server that uses a database.
func storeFlags(t *testing.T, d storetest.Database) []string {
	if d.Address == "" {
		return []string{"--data", d.Dir}
	}
	return []string{"--data", t.TempDir(), "--db", d.Address}
}

func newTestServer(t *testing.T, bin string, store ...string) *testServer {
	v := &testServer{bin: bin, store: store}
	v.admin(t, "user", "create", "--email", "ann@example.com")
	var made struct{ APIKey string }
	if err := json.Unmarshal(v.admin(t, "key", "create", "--email", "ann@example.com", "--name", "k"),
		&made); err != nil || made.APIKey == "" {
		t.Fatalf("no key was made: %v", err)
	}
	v.key = made.APIKey
	t.Cleanup(v.kill)
	return v
}

func (v *testServer) admin(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(v.bin, slices.Concat([]string{"admin"}, args, []string{"--json"}, v.store)...).Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// start runs the server and waits until it prints its address.
func (v *testServer) start(t *testing.T) {
	t.Helper()
	v.running = exec.Command(v.bin, append([]string{"serve", "--listen", "127.0.0.1:0"}, v.store...)...)
	v.running.Env = slices.Concat(os.Environ(), []string{"LOCI_RATE_LIMIT=0", "LOCI_LOG_LEVEL=error",
		"LOCI_DRAIN=0"}, v.env)
	var complaints bytes.Buffer
	v.running.Stderr = &complaints
	out, err := v.running.StdoutPipe()
	if err == nil {
		err = v.running.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, rest, found := strings.Cut(line, "http://")
	if err != nil || !found {
		v.kill()
		t.Fatalf("the server says %q: %v\n%s", line, err, complaints.String())
	}
	v.base = "http://" + strings.Fields(rest)[0]
	v.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 20 * time.Second}
}

func (v *testServer) kill() {
	if v.running != nil {
		v.running.Process.Kill()
		v.running.Wait()
		if v.client != nil { // it has started
			v.client.CloseIdleConnections()
		}
		v.running = nil
	}
}

// call sends in and decodes the answer into out.
func (v *testServer) call(method, path, key string, in, out any) (status int, err error) {
	return v.callAs(http.Header{"Authorization": {"Bearer " + v.key}}, method, path, key, in, out)
}

// callAs is call with the headers of another caller.
func (v *testServer) callAs(caller http.Header, method, path, key string, in, out any) (status int, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	if in == nil {
		body = nil
	}
	r, err := http.NewRequest(method, v.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = caller.Clone()
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := v.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode >= 300 {
		return res.StatusCode, fmt.Errorf("%s %s: %d: %s", method, path, res.StatusCode, answer)
	}
	if res.StatusCode == http.StatusNoContent {
		return res.StatusCode, nil
	}
	return res.StatusCode, json.Unmarshal(answer, out)
}

// create stores a memory and returns its id.
func (v *testServer) create(content, key string) (id string, status int, err error) {
	var out loci.CreatedMemory
	status, err = v.call("POST", "/v1/memories", key, map[string]string{"content": content}, &out)
	return string(out.Memory.ID), status, err
}

// runUntilKilled runs clients until the server is killed after a delay.
func (v *testServer) runUntilKilled(n int, after time.Duration, client func(i int)) {
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() { client(i) })
	}
	time.Sleep(after)
	v.kill()
	clients.Wait()
}
