package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture/spool"
	"github.com/loci-memory/loci/internal/cli/hook"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A hookServer answers the calls of hooks as the contract describes them.
type hookServer struct {
	mu      sync.Mutex
	policy  loci.Policy
	events  []loci.SendEvent
	audits  []loci.RecordAudit
	starts  []loci.StartSession
	actors  map[string]int // of the actor header
	refusal loci.Code
	waiting int64 // candidates; negative refuses to count them

	workspaces map[string]int // of which the policy was read
}

func newHookServer(t *testing.T) (*hookServer, string) {
	h := &hookServer{policy: loci.DefaultPolicy(), actors: map[string]int{}, workspaces: map[string]int{}}
	h.policy.Enabled = true
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server.URL
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.actors[r.Header.Get("X-Loci-Actor")]++
	if h.refusal != "" {
		w.WriteHeader(h.refusal.Status())
		_ = json.NewEncoder(w).Encode(map[string]any{"code": h.refusal, "error": h.refusal, "message": "No."})
		return
	}
	in := json.NewDecoder(r.Body)
	var out any
	switch path := r.URL.Path; {
	case path == "/v1/auto":
		h.workspaces[r.URL.Query().Get("workspace_id")]++
		out = loci.OnePolicy{Policy: h.policy}
	case path == "/v1/status" && h.waiting >= 0:
		out = loci.AccountStatus{Waiting: loci.Waiting{Candidates: h.waiting}}
	case path == "/v1/sessions":
		var s loci.StartSession
		_ = in.Decode(&s)
		h.starts = append(h.starts, s)
		out = loci.StartedSession{Session: loci.Session{ID: fakeID}, Context: loci.MemoryContext{
			Groups: []loci.ContextGroup{{}}, Markdown: "# Memories\n\nuse <Quartz>"}}
	case path == "/v1/auto/redaction-audits":
		var a loci.RecordAudit
		_ = in.Decode(&a)
		h.audits = append(h.audits, a)
		out = loci.RecordedAudit{}
	case path == "/v1/sessions/"+fakeID+"/events":
		var e loci.SendEvent
		_ = in.Decode(&e)
		h.events = append(h.events, e)
		out = loci.ReceivedEvent{}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

// refuse answers all further calls with a code, or none with "".
func (h *hookServer) refuse(code loci.Code) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusal = code
}

// contents returns what the server was sent.
func (h *hookServer) contents() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		all = append(all, string(e.Type)+" "+string(e.Content))
	}
	return all
}

// runHook runs a hook with a payload, and checks that it ends well.
func (d *testTerminal) runHook(t *testing.T, agent string, payload any, flags ...string) (out string) {
	t.Helper()
	text, ok := payload.(string)
	if !ok {
		b := testenv.Must(json.Marshal(payload))(t)
		text = string(b)
	}
	d.in = strings.NewReader(text)
	if code := d.run(append([]string{"hook", agent}, flags...)...); code != 0 ||
		strings.Contains(d.err.String(), "needs the name of an agent") != (agent == "unknown") {
		t.Errorf("loci hook %s ends with %d: %s", agent, code, d.err.String())
	}
	return d.out.String()
}

func claudeHook(event string, more ...string) map[string]string {
	p := map[string]string{"session_id": "s1", "cwd": "/home/ann/proj", "hook_event_name": event, "prompt_id": "p1"}
	for i := 0; i < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return p
}

// forgetPolicies lets the next hook read the policy again.
func (d *testTerminal) forgetPolicies() {
	files, _ := filepath.Glob(d.home + "/.local/state/loci/spool/*/policy.json")
	for _, f := range files {
		_ = os.Remove(f)
	}
}

func TestHookDeliversATurnAndPrintsContext(t *testing.T) {
	t.Parallel()
	h, url := newHookServer(t)
	d := newTestTerminal(t, "LOCI_URL="+url, "LOCI_API_KEY="+fakeKey)
	for _, agent := range []string{"claude", "codex"} {
		out := d.runHook(t, agent, claudeHook("SessionStart", "source", "startup"))
		want := `{"hookSpecificOutput":{"hookEventName":"SessionStart",` +
			`"additionalContext":"# Memories\n\nuse <Quartz>"}}` + "\n"
		testenv.Equal(t, out, want)
	}
	for _, quiet := range []map[string]string{claudeHook("SessionStart", "source", "resume"),
		claudeHook("UserPromptSubmit", "prompt", "The prompt, password: "+strings.Repeat("hX7!kq9Z", 2)),
		claudeHook("PreToolUse", "tool_name", "Bash"), claudeHook("Stop", "last_assistant_message", "The answer."),
		claudeHook("SessionEnd")} {
		testenv.Equal(t, d.runHook(t, "claude", quiet), "")
	}
	got := strings.Join(h.contents(), "\n")
	for _, want := range []string{"session.start ", "prompt The prompt", "response The answer.", "session.end "} {
		if strings.Count(got, want) == 0 {
			t.Errorf("%q did not arrive: %s", want, got)
		}
	}
	if strings.Contains(got, "hX7!") || len(h.audits) != 1 || h.audits[0].Total != 1 || h.starts[0].MaxTokens == 1 {
		t.Errorf("%s %+v %+v", got, h.audits, h.starts)
	}
	if h.actors["agent"] == 0 || len(h.actors) != 1 {
		t.Errorf("a key calls as %v", h.actors)
	}
	notice := `{"type":"agent-turn-complete","thread-id":"s2","turn-id":"t","input-messages":["Noticed."],"cwd":"/a"}`
	if code := d.run("hook", "codex", notice); code != 0 || !strings.Contains(fmt.Sprint(h.contents()), "Noticed.") {
		t.Errorf("notify ends with %d: %v", code, h.contents())
	}
	d.in = strings.NewReader(`{"hook_event_name":"UserPromptSubmit","session_id":"s3","prompt":"In a team."}`)
	if code := d.run("hook", "claude", "--workspace-id", fakeID); code != 0 || h.workspaces[fakeID] == 0 ||
		h.starts[len(h.starts)-1].WorkspaceID != fakeID {
		t.Errorf("%d %v %+v", code, h.workspaces, h.starts)
	}
	h.policy.Enabled = false
	d.forgetPolicies()
	before := len(h.contents())
	if out := d.runHook(t, "claude", claudeHook("SessionStart", "session_id", "s9")); out != "" ||
		len(h.contents()) != before {
		t.Errorf("the policy is off: %s", out)
	}
}

func TestHookReportsWaitingCandidates(t *testing.T) {
	t.Parallel()
	h, url := newHookServer(t)
	d := newTestTerminal(t, "LOCI_URL="+url, "LOCI_API_KEY="+fakeKey)
	const command = "loci review"
	for _, c := range []struct {
		agent, source string
		waiting       int64
		flags         []string
		message       string
		hasContext    bool
	}{
		{"claude", "startup", 2, nil, "Loci: 2 candidates wait for your review: " + command, true},
		{"codex", "startup", 2, nil, "Loci: 2 candidates wait for your review: " + command, true},
		{"workbuddy", "clear", 1, nil, "Loci: 1 candidate waits for your review: " + command, true},
		{"claude", "startup", 100, nil, "Loci: 100 or more candidates wait for your review: " + command, true},
		{"claude", "startup", 2, []string{"--server", url}, "Loci: 2 candidates wait for your review: " + command +
			" --server " + url, true},
		{"claude", "startup", 0, nil, "", true},
		{"claude", "startup", -1, nil, "", true},
		{"claude", "compact", 2, nil, "", true},
		{"claude", "resume", 2, nil, "", false},
	} {
		h.waiting = c.waiting
		out := d.runHook(t, c.agent, claudeHook("SessionStart", "source", c.source), c.flags...)
		var got struct {
			SystemMessage      string
			HookSpecificOutput *struct{ AdditionalContext string }
		}
		if err := json.Unmarshal([]byte(cmp.Or(out, "{}")), &got); err != nil || got.SystemMessage != c.message ||
			strings.Contains(out, "systemMessage") != (c.message != "") ||
			(got.HookSpecificOutput != nil) != c.hasContext {
			t.Errorf("%+v: %s", c, out)
		}
	}
	h.waiting = 2
	testenv.Equal(t, d.runHook(t, "pi", `{"e":"session_start","event":{},"extra":{"sessionId":"p","cwd":"/a"}}`), "")
}

// A login by browser has no agents.
func TestHookCallsAsPersonWithTokens(t *testing.T) {
	t.Parallel()
	h, url := newHookServer(t)
	d := newTestTerminal(t)
	d.signIn(t, url)
	d.runHook(t, "claude", claudeHook("UserPromptSubmit", "prompt", "The prompt."))
	if len(h.contents()) != 1 || h.actors[""] == 0 || len(h.actors) != 1 {
		t.Errorf("%v %v", h.contents(), h.actors)
	}
}

func TestHookKeepsEventsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	h, url := newHookServer(t)
	d := newTestTerminal(t, "LOCI_URL="+url, "LOCI_API_KEY="+fakeKey)
	d.runHook(t, "claude", claudeHook("SessionEnd")) // reads the policy
	h.refuse(loci.CodeRevoked)
	for i := range 3 {
		n := fmt.Sprint(i)
		d.runHook(t, "claude", claudeHook("UserPromptSubmit", "prompt_id", n, "prompt", "p"+n))
	}
	report := d.doctorText(t)
	if !strings.Contains(report, "3 events wait") || !strings.Contains(report, "last error revoked") {
		t.Error(report)
	}
	h.refuse("")
	d.runHook(t, "claude", claudeHook("UserPromptSubmit", "prompt_id", "3", "prompt", "p3"))
	testenv.Equal(t, strings.Join(h.contents(), ","), "prompt p0,prompt p1,prompt p2,prompt p3")
	if report := d.doctorText(t); !strings.Contains(report, "no events wait") {
		t.Error(report)
	}
	log, err := os.ReadFile(filepath.Join(d.home, ".local/state/loci/hook.log"))
	if err != nil || strings.Count(string(log), "claude prompt: revoked\n") != 3 ||
		strings.Contains(string(log), "p0") {
		t.Errorf("%v %s", err, log)
	}
}

func (d *testTerminal) doctorText(t *testing.T) string {
	t.Helper()
	d.run("doctor")
	return d.out.String()
}

func TestHookNeverFailsTheAgent(t *testing.T) {
	t.Parallel()
	_, url := newHookServer(t)
	dead, deadURL := newHookServer(t)
	dead.refusal = loci.CodeRevoked
	full := filepath.Join(t.TempDir(), "file")
	testenv.NoError(t, os.WriteFile(full, nil, 0o600))
	payloads := []any{"", "no json", "[]", "null", `{"hook_event_name":"Nonsense"}`, strings.Repeat("{", 5000),
		`{"e":7,"k":[],"session_id":{}}`, claudeHook("SessionStart")}
	large := []any{strings.Repeat("x", 10<<20),
		claudeHook("UserPromptSubmit", "prompt", strings.Repeat("many words ", 1<<20))}
	for name, environ := range map[string][]string{
		"live":     {"LOCI_URL=" + url, "LOCI_API_KEY=" + fakeKey},
		"revoked":  {"LOCI_URL=" + deadURL, "LOCI_API_KEY=x"},
		"no login": nil, "key without a server": {"LOCI_API_KEY=x"},
		"no such server":   {"LOCI_URL=::", "LOCI_API_KEY=x"},
		"unknown contract": {"LOCI_CONTRACT=z"}, "no home": {"HOME=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME="},
		"no folder": {"LOCI_URL=" + url, "LOCI_API_KEY=" + fakeKey, "XDG_STATE_HOME=" + full},
		"no key":    {"LOCI_URL=" + url},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestTerminal(t, environ...)
			if name == "no home" {
				d.Environ = append(d.Environ, "XDG_STATE_HOME="+t.TempDir()) // otherwise that of the user is used
			}
			for _, agent := range []string{"claude", "codex", "opencode", "pi", "workbuddy", "unknown"} {
				all := payloads
				if agent == "claude" || name == "live" { // they take long
					all = slices.Concat(all, large)
				}
				for _, payload := range all {
					out := d.runHook(t, agent, payload)
					if out != "" && !json.Valid([]byte(out)) {
						t.Errorf("%s prints %s", agent, out)
					}
				}
			}
			for _, line := range []string{"hook", "hook claude --unknown x y", "hook claude --workspace-id",
				"hook claude --server", "hook claude --json=maybe", "hook --unknown", "hook --=x"} {
				d.in = strings.NewReader(`{"hook_event_name":"SessionStart","session_id":"s1"}`)
				words := strings.Fields(line)
				if code := d.run(words...); code != 0 || d.out.Len() > 0 || len(words) > 1 && d.err.Len() == 0 {
					t.Errorf("%s ends with %d: %s%s", line, code, d.out.String(), d.err.String())
				}
			}
		})
	}
}

func TestHookMakesNoDatabase(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.runHook(t, "claude", claudeHook("UserPromptSubmit", "prompt", "The prompt."))
	testenv.Equal(t, d.openCount, 0)
	testenv.NoError(t, filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if e.Name() == "events.jsonl" || e.Name() == "loci.db" {
			t.Error(path)
		}
		return err
	}))
}

// The agent waits for a hook, and so does the person.
func TestHookEndsWhenTheServerNeverAnswers(t *testing.T) {
	t.Parallel()
	h, _ := newHookServer(t)
	var silent atomic.Bool
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			<-ended
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	d := newTestTerminal(t, "LOCI_URL="+server.URL, "LOCI_API_KEY="+fakeKey)
	runAll := func() (waiting int, lastError bool) {
		for _, p := range []map[string]string{claudeHook("SessionStart"), claudeHook("UserPromptSubmit", "prompt", "a"),
			claudeHook("UserPromptSubmit", "prompt", "b", "prompt_id", "b"), claudeHook("SessionEnd")} {
			d.runHook(t, "claude", p) // it returns, although the server never answers
		}
		spools, _ := filepath.Glob(d.home + "/.local/state/loci/spool/127.0.0.1-*")
		if len(spools) != 1 {
			t.Fatal(spools)
		}
		st, err := spool.ReadStatus(spools[0])
		if err != nil {
			t.Error(err)
		}
		return st.Waiting, st.LastError != nil
	}
	silent.Store(true)
	d.hookTime = hook.CallTime
	if waiting, _ := runAll(); waiting != 0 {
		t.Errorf("%d events wait, and nobody has switched automatic memory on", waiting)
	}
	silent.Store(false)
	d.hookTime = time.Minute
	d.runHook(t, "claude", claudeHook("SessionEnd")) // reads the policy
	silent.Store(true)
	d.hookTime = hook.CallTime
	if waiting, lastError := runAll(); waiting != 4 || !lastError {
		t.Errorf("%d events wait, last error: %v", waiting, lastError)
	}
}

func TestHookWritesNoCredential(t *testing.T) {
	t.Parallel()
	samples := secrettest.RandomSamples(rand.New(rand.NewPCG(5, 5)))[:60]
	h, url := newHookServer(t)
	d := newTestTerminal(t, "LOCI_URL="+url, "LOCI_API_KEY="+fakeKey)
	d.runHook(t, "claude", claudeHook("SessionEnd")) // reads the policy
	h.refuse(loci.CodeRevoked)
	out := ""
	for i, s := range samples {
		for _, p := range []map[string]string{claudeHook("SessionStart", "session_id", s.Text, "source", s.Text),
			claudeHook("UserPromptSubmit", "prompt", s.Text, "prompt_id", fmt.Sprint(i), "cwd", "/a/"+s.Text),
			claudeHook(s.Text, "transcript_path", s.Text), claudeHook("Stop", "last_assistant_message", s.Text)} {
			out += d.runHook(t, "claude", p) + d.err.String()
		}
	}
	files := map[string][]byte{"output": []byte(out)}
	testenv.NoError(t, filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files[path], err = os.ReadFile(path)
		}
		return err
	}))
	spooled := false
	for path, b := range files {
		spooled = spooled || strings.HasSuffix(path, "events.jsonl") && bytes.Contains(b, []byte("REDACTED"))
		for _, s := range samples {
			escaped, _ := json.Marshal(s.Secret())
			if bytes.Contains(b, []byte(s.Secret())) || bytes.Contains(b, bytes.Trim(escaped, `"`)) {
				t.Errorf("a credential of rule %s is in %s", s.Rule, path)
			}
		}
	}
	if !spooled {
		t.Errorf("nothing is in the spool: %d files", len(files))
	}
}

func TestHookLogIsBounded(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t, "LOCI_URL=http://127.0.0.1:1", "LOCI_API_KEY="+fakeKey)
	log := filepath.Join(d.home, ".local/state/loci/hook.log")
	testenv.NoError(t, os.MkdirAll(filepath.Dir(log), 0o700))
	testenv.NoError(t, os.WriteFile(log, make([]byte, 70<<10), 0o600))
	d.runHook(t, "claude", "[]")
	info, err := os.Stat(log)
	if err != nil || info.Size() > 200 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestHookExplainsItselfToPeople(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "loci hook claude", "hook", "--help")
	d.expectRun(t, 0, "hook ", "--help")
}

func TestDoctorReportsASpoolThatLosesOrKeepsEvents(t *testing.T) {
	t.Parallel()
	now := time.Now()
	failure := &spool.Failure{Code: loci.CodeUnavailable, At: now}
	for _, c := range []struct {
		name   string
		st     spool.Status
		broken bool
	}{
		{"empty", spool.Status{}, false},
		{"just away", spool.Status{Waiting: 2, Oldest: now.Add(-time.Minute), LastError: failure}, false},
		{"stuck", spool.Status{Waiting: 2, Oldest: now.Add(-2 * time.Hour), LastError: failure}, true},
		{"old without an error", spool.Status{Waiting: 2, Oldest: now.Add(-2 * time.Hour)}, false},
		{"lost today", spool.Status{Refused: 1, LastLoss: now.Add(-time.Hour)}, true},
		{"lost long ago", spool.Status{Refused: 1, LastLoss: now.Add(-48 * time.Hour)}, false},
	} {
		if err := spoolFault(c.st, now); (err != nil) != c.broken {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
