package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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

// TestKillKeepsAcknowledgedWrites kills the server repeatedly while 16 clients write.
func TestKillKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	v := newTestServer(t, testenv.Program(t), "--data", t.TempDir())
	for round := range rounds(t, 25) {
		v.start(t)
		v.replayKeyed(t)
		v.verifySample(t, 5)
		v.writeUntilKilled(t, round, time.Duration(20+rand.IntN(280))*time.Millisecond)
	}
	v.start(t)
	v.replayKeyed(t)
	v.verify(t)
	v.verifySample(t, 200)
	t.Logf("%d memories were acknowledged, %d calls with a key repeated", len(v.acked), v.repeated)
	v.kill()
}

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

// A testServer is a server that gets killed, and the writes that it has acknowledged.
type testServer struct {
	bin, key string
	store    []string // the flags that name the database
	env      []string // further settings
	running  *exec.Cmd
	base     string
	client   *http.Client

	mu         sync.Mutex
	acked      map[string]string // acknowledged: the id by the content
	ids        []string          // the acknowledged contents, in no order
	keyedCalls []call            // of the last round
	sent       map[string]bool   // contents that were sent
	repeated   int
}

// A call is a create with an Idempotency-Key; id is empty where no answer came.
type call struct{ key, content, id string }

// storeFlags returns the flags of a server that uses a database.
func storeFlags(t *testing.T, d storetest.Database) []string {
	if d.Address == "" {
		return []string{"--data", d.Dir}
	}
	return []string{"--data", t.TempDir(), "--db", d.Address}
}

func newTestServer(t *testing.T, bin string, store ...string) *testServer {
	v := &testServer{bin: bin, store: store, acked: map[string]string{}, sent: map[string]bool{}}
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

// writeUntilKilled runs 16 writing clients until the server is killed after a delay.
func (v *testServer) writeUntilKilled(t *testing.T, round int, after time.Duration) {
	var clients sync.WaitGroup
	for c := range 16 {
		clients.Go(func() {
			for n := 0; v.createOne(t, fmt.Sprintf("r%dc%dn%d", round, c, n), n%8 == 0); n++ {
			}
		})
	}
	time.Sleep(after)
	v.kill()
	clients.Wait()
}

// createOne creates a memory with a unique word and reports whether the server still runs.
func (v *testServer) createOne(t *testing.T, word string, keyed bool) bool {
	content, key := word+" is a word of its own among many that are shared", ""
	if keyed {
		key = "key-" + word
	}
	v.mu.Lock()
	v.sent[content] = true
	v.mu.Unlock()
	id, status, err := v.create(content, key)
	if status != 0 && status != http.StatusCreated {
		t.Errorf("status %d: %v", status, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.recordAck(content, id)
	}
	if keyed {
		v.keyedCalls = append(v.keyedCalls, call{key, content, id})
	}
	return err == nil
}

func (v *testServer) recordAck(content, id string) {
	if v.acked[content] == "" {
		v.ids = append(v.ids, content)
	}
	v.acked[content] = id
}

// replayKeyed repeats the last round's calls with a key. An acknowledged call
// gets the same answer; the rest is created once.
func (v *testServer) replayKeyed(t *testing.T) {
	t.Helper()
	rand.Shuffle(len(v.keyedCalls), func(i, j int) {
		v.keyedCalls[i], v.keyedCalls[j] = v.keyedCalls[j], v.keyedCalls[i]
	})
	for _, unsure := range []bool{true, false} {
		n := 0
		for _, c := range v.keyedCalls {
			if (c.id == "") != unsure || n == 20 {
				continue
			}
			n++
			id, status, err := v.create(c.content, c.key)
			if err != nil || status != http.StatusCreated || c.id != "" && c.id != id {
				t.Errorf("%s again: %d, %s after %s: %v", c.key, status, id, c.id, err)
				continue
			}
			v.recordAck(c.content, id)
			v.repeated++
		}
	}
	v.keyedCalls = nil
}

// verifySample searches for some of the acknowledged memories by their unique word.
func (v *testServer) verifySample(t *testing.T, n int) {
	t.Helper()
	for range min(n, len(v.ids)) {
		content := v.ids[rand.IntN(len(v.ids))]
		word := strings.Fields(content)[0]
		var out loci.FoundMemories
		_, err := v.call("POST", "/v1/memories/search", "", map[string]any{"query": word, "mode": "keyword"}, &out)
		if err != nil || len(out.Memories) != 1 || out.Memories[0].ID != loci.ID(v.acked[content]) ||
			out.Memories[0].Content != content {
			t.Errorf("%s finds %d memories: %v", word, len(out.Memories), err)
		}
	}
}

// verify pages through all memories.
func (v *testServer) verify(t *testing.T) {
	t.Helper()
	have, total := map[string]string{}, 0
	for query := "?limit=100"; ; {
		var page loci.Memories
		if _, err := v.call("GET", "/v1/memories"+query, "", nil, &page); err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Memories {
			total++
			if have[m.Content] != "" || !v.sent[m.Content] {
				t.Errorf("%q is stored as %s and as %q", m.Content, m.ID, have[m.Content])
			}
			have[m.Content] = string(m.ID)
		}
		if page.NextCursor == "" {
			break
		}
		query = "?limit=100&cursor=" + page.NextCursor
	}
	for content, id := range v.acked {
		if have[content] != id {
			t.Errorf("%q was acknowledged as %s and is stored as %q", content, id, have[content])
		}
	}
	var status loci.AccountStatus
	if _, err := v.call("GET", "/v1/status", "", nil, &status); err != nil || status.Totals.Memories != int64(total) {
		t.Errorf("%d memories are counted, %d are listed: %v", status.Totals.Memories, total, err)
	}
}
