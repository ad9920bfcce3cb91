package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/capture/spool"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// A fakeServer keeps sessions, events and audits as the contract describes it.
type fakeServer struct {
	mu       sync.Mutex
	policy   loci.Policy
	sessions map[string]loci.ID // by adapter and external id
	events   map[string][]string
	audits   map[string]loci.Count
	tasks    []string
	waiting  int64 // candidates
	calls    int
	reads    int  // of the policy
	failAt   int  // the call that fails; 0 never
	stays    bool // all calls after it fail too
	failure  error
	late     bool // the call fails after it was done
}

func newFakeServer() *fakeServer {
	p := loci.DefaultPolicy()
	p.Enabled, p.ExcludePaths = true, []string{"private/**"}
	return &fakeServer{policy: p, sessions: map[string]loci.ID{}, events: map[string][]string{},
		audits: map[string]loci.Count{}}
}

// call runs one call, or fails it before or after.
func (f *fakeServer) call(do func() (any, error)) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if (f.calls == f.failAt || f.stays && f.calls > f.failAt) && !f.late {
		return nil, f.failure
	}
	out, err := do()
	if f.calls == f.failAt {
		err = f.failure
	}
	if err != nil {
		return nil, err
	}
	return op.Marshal(out)
}

// Call runs an operation of a delivery.
func (f *fakeServer) Call(_ context.Context, o *op.Op, _ *op.Call, a op.Args) ([]byte, error) {
	switch o.Name {
	case service.AutoGet.Name:
		return f.call(func() (any, error) { f.reads++; return loci.OnePolicy{Policy: f.policy}, nil })
	case service.AccountStatus.Name:
		return f.call(func() (any, error) {
			return loci.AccountStatus{Waiting: loci.Waiting{Candidates: f.waiting}}, nil
		})
	case service.SessionStart.Name:
		return run(f, a, f.start)
	case service.SessionEvent.Name:
		return run(f, a, f.send)
	case service.AutoAudit.Name:
		return run(f, a, f.audit)
	}
	return nil, loci.NewError(loci.CodeNotFound)
}

// run runs a call with its input.
func run[In, Out any](f *fakeServer, a op.Args, do func(In) (Out, error)) ([]byte, error) {
	var in In
	if err := json.Unmarshal(a.JSON, &in); err != nil {
		return nil, err
	}
	return f.call(func() (any, error) { return do(in) })
}

func (f *fakeServer) start(in loci.StartSession) (out loci.StartedSession, err error) {
	if in.Kind != loci.SessionAutomatic || in.Task == "" || in.SourceName == "" {
		return out, loci.NewError(loci.CodeInvalidQuery)
	}
	key := string(in.Adapter) + "/" + string(in.ExternalID)
	if f.sessions[key] == "" {
		f.tasks = append(f.tasks, string(in.Task))
		f.sessions[key] = loci.ID(fmt.Sprint("session-", len(f.tasks)))
	}
	out.Session.ID = f.sessions[key]
	if in.MaxTokens > 1 {
		out.Context = loci.MemoryContext{Groups: []loci.ContextGroup{{}}, Markdown: "# Memories\n"}
	}
	return out, nil
}

func (f *fakeServer) find(id loci.ID) (key string) {
	for k, v := range f.sessions {
		if v == id {
			key = k
		}
	}
	return key
}

func (f *fakeServer) send(in loci.SendEvent) (out loci.ReceivedEvent, err error) {
	key := f.find(in.SessionID)
	if key == "" {
		return out, loci.NewError(loci.CodeNotFound)
	}
	event := string(in.EventID) + " " + string(in.Content)
	if out.Duplicate = slices.Contains(f.events[key], event); out.Duplicate {
		return out, nil
	}
	if out.Ignored = !f.policy.Accepts(in.Adapter); !out.Ignored {
		f.events[key] = append(f.events[key], event)
	}
	return out, nil
}

func (f *fakeServer) audit(in loci.RecordAudit) (out loci.RecordedAudit, err error) {
	f.audits[f.find(in.SessionID)+" "+string(in.EventID)] = in.Total
	return out, nil
}

func newCourier(t testing.TB, f *fakeServer) *Courier {
	t.Helper()
	return openCourier(t, f, filepath.Join(t.TempDir(), "spool"))
}

func openCourier(t testing.TB, f *fakeServer, dir string) *Courier {
	t.Helper()
	return testenv.Must(New(dir, func(context.Context) (op.Caller, error) { return f, nil }))(t)
}

// session returns the events of a session: its start, two turns and its end.
func session(t testing.TB, id, cwd string) (events []capture.Event) {
	t.Helper()
	for _, p := range []map[string]any{{"hook_event_name": "SessionStart"},
		{"hook_event_name": "UserPromptSubmit", "prompt_id": "1", "prompt": "We use Quartz in " + id + "."},
		{"hook_event_name": "Stop", "prompt_id": "1", "last_assistant_message": "Noted."},
		{"hook_event_name": "UserPromptSubmit", "prompt_id": "2",
			"prompt": "password: " + strings.Repeat("hX7!kq9Z", 3)},
		{"hook_event_name": "Stop", "prompt_id": "2", "last_assistant_message": "Done."},
		{"hook_event_name": "SessionEnd"}} {
		p["session_id"], p["cwd"] = id, cwd
		b := testenv.Must(json.Marshal(p))(t)
		all := testenv.Must(capture.Read("claude", b))(t)
		events = append(events, all...)
	}
	return events
}

// interleaved returns the events of two sessions, each sent twice.
func interleaved(t testing.TB) (all []capture.Event) {
	a, b := session(t, "a", "/home/ann/proj"), session(t, "b", "/home/ann/other")
	for range 2 {
		for i := range a {
			all = append(all, a[i], b[i])
		}
	}
	return all
}

func deliver(t testing.TB, c *Courier) error {
	t.Helper()
	return c.Deliver(t.Context())
}

func TestDeliverSendsSessionsEventsAndAudits(t *testing.T) {
	t.Parallel()
	f := newFakeServer()
	c := newCourier(t, f)
	testenv.NoError(t, c.Enqueue(t.Context(), interleaved(t)...))
	testenv.NoError(t, deliver(t, c))
	if len(f.sessions) != 2 || len(f.events["claude/a"]) != 6 || len(f.events["claude/b"]) != 6 || len(f.audits) != 2 ||
		f.reads != 1 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(fmt.Sprint(f.events), "REDACTED") || strings.Contains(fmt.Sprint(f.events), "hX7!") {
		t.Error(f.events)
	}
}

// A delivery that is cut before or after any call ends in the same state as a whole one.
func TestDeliverGivesTheSameWhereverItIsCut(t *testing.T) {
	t.Parallel()
	whole := newFakeServer()
	c := newCourier(t, whole)
	_ = c.Enqueue(t.Context(), interleaved(t)...)
	testenv.NoError(t, deliver(t, c))
	for at := 2; at <= whole.calls; at++ { // the first call reads the policy, without which nothing is kept
		for _, late := range []bool{false, true} {
			f, dir := newFakeServer(), filepath.Join(t.TempDir(), "spool")
			f.failAt, f.late, f.failure = at, late, context.DeadlineExceeded
			testenv.NoError(t, openCourier(t, f, dir).Enqueue(t.Context(), interleaved(t)...))
			if err := deliver(t, openCourier(t, f, dir)); err == nil {
				t.Errorf("call %d did not fail", at)
			}
			testenv.NoError(t, deliver(t, openCourier(t, f, dir)))
			if !reflect.DeepEqual(f.events, whole.events) || !reflect.DeepEqual(f.audits, whole.audits) ||
				!slices.Equal(f.tasks, whole.tasks) {
				t.Fatalf("cut at call %d (%v):\n%v\n%v", at, late, f.events, whole.events)
			}
		}
	}
}

func TestEnqueueFollowsThePolicy(t *testing.T) {
	t.Parallel()
	f := newFakeServer()
	c := newCourier(t, f)
	clock := time.Now()
	c.now = func() time.Time { return clock }
	send := func(cwd string) (waiting int) {
		testenv.Equal(t, c.Enqueue(t.Context(), session(t, "x"+cwd, cwd)...), nil)
		st, err := spool.ReadStatus(c.dir)
		if err != nil {
			t.Error(err)
		}
		testenv.Equal(t, deliver(t, c), nil)
		return st.Waiting
	}
	if n := send("/home/ann/private/x"); n != 0 || len(f.sessions) != 0 || f.reads != 1 {
		t.Errorf("%d wait, %v: an unknown policy is read before anything is kept", n, f.sessions)
	}
	testenv.Equal(t, send("/home/ann/private/y"), 0, "events of an excluded folder are written")
	f.policy.Paused = true
	if n := send("/a"); n != 6 || len(f.sessions) != 1 || len(f.events) != 0 {
		t.Errorf("%d: the server must ignore events within a minute of the pause: %v", n, f.events)
	}
	if n := send("/c"); n != 0 || f.reads != 2 {
		t.Errorf("%d wait, %d reads: a pause is read once a minute", n, f.reads)
	}
	f.policy.Paused = false
	clock = clock.Add(policyAge)
	if n := send("/d"); n != 6 || f.reads != 3 || len(f.events) != 1 {
		t.Errorf("%d wait, %d reads after the end of the pause", n, f.reads)
	}
	f.policy.Adapters = loci.NewAdapterSwitches([]loci.Adapter{"claude"})
	clock = clock.Add(policyAge)
	if n := send("/e"); n != 6 || len(f.events) != 1 {
		t.Errorf("%d wait: an adapter that is off is let in: %v", n, f.events)
	}
}

func TestEnqueueKeepsNothingBeforeAPolicyWasRead(t *testing.T) {
	t.Parallel()
	f := newFakeServer()
	dir := filepath.Join(t.TempDir(), "spool")
	f.failAt, f.failure = 1, loci.NewError(loci.CodeRevoked)
	if err := openCourier(t, f, dir).Enqueue(t.Context(), session(t, "a", "/a")...); !loci.Is(err, loci.CodeRevoked) {
		t.Error(err)
	}
	testenv.Equal(t, testenv.Must(spool.ReadStatus(dir))(t).Waiting, 0, "events wait")
	c := openCourier(t, f, dir)
	testenv.NoError(t, c.Enqueue(t.Context(), session(t, "b", "/b")...))
	c.now = func() time.Time { return time.Now().Add(2 * policyAge) }
	c.open = func(context.Context) (op.Caller, error) { return nil, f.failure }
	c.caller = nil
	testenv.NoError(t, c.Enqueue(t.Context(), session(t, "c", "/c")...))
	testenv.Equal(t, testenv.Must(spool.ReadStatus(dir))(t).Waiting, 12, "events wait")
}

func TestAcceptsLooksAtPathAndFolder(t *testing.T) {
	t.Parallel()
	p := newFakeServer().policy
	for _, name := range []string{"path", "cwd"} {
		e := session(t, "a", "/a")[1]
		if e.Input.Metadata[name] = "/home/ann/private/x"; accepts(p, e) {
			t.Errorf("an event with an excluded %s is let in", name)
		}
	}
}

func TestDeliverFindsDeletedAndEndedSessionsAgain(t *testing.T) {
	t.Parallel()
	f := newFakeServer()
	c := newCourier(t, f)
	events := session(t, "a", "/a")
	_ = c.Enqueue(t.Context(), events[:2]...)
	_ = deliver(t, c)
	f.sessions = map[string]loci.ID{}
	_ = c.Enqueue(t.Context(), events[2:]...)
	if err := deliver(t, c); err != nil || len(f.events["claude/a"]) != 6 || len(f.tasks) != 2 {
		t.Errorf("%v %+v", err, f)
	}
	_ = c.Enqueue(t.Context(), session(t, "quiet", "/a")[5])
	if err := deliver(t, c); err != nil || len(f.sessions) != 1 {
		t.Errorf("a session that only ends is started: %v %v", err, f.sessions)
	}
}

func TestBeginReturnsWhatIsKnown(t *testing.T) {
	t.Parallel()
	f := newFakeServer()
	c := newCourier(t, f)
	start := session(t, "a", "/a")[0]
	if text, err := c.Begin(t.Context(), start, 4000); err != nil || text != "# Memories\n" || len(f.sessions) != 1 {
		t.Errorf("%q %v", text, err)
	}
	testenv.Equal(t, testenv.Must(c.Begin(t.Context(), session(t, "b", "/private")[0], 4000))(t), "",
		"an excluded folder")
	f.policy.Enabled = false
	c.forgetPolicy()
	if text, err := c.Begin(t.Context(), session(t, "c", "/c")[0], 4000); text != "" || err != nil ||
		len(f.sessions) != 1 {
		t.Errorf("the policy is off: %q %v", text, err)
	}
}

func TestWaitingFollowsThePolicy(t *testing.T) {
	t.Parallel()
	f := newFakeServer()
	f.waiting = 3
	testenv.Equal(t, testenv.Must(newCourier(t, f).Waiting(t.Context(), session(t, "a", "/a")[0]))(t), 3)
	before := f.calls
	if n, err := newCourier(t, f).Waiting(t.Context(), session(t, "b", "/private")[0]); n != 0 || err != nil ||
		f.calls != before+1 { // that of the policy
		t.Errorf("an excluded folder: %d %v, %d calls", n, err, f.calls-before)
	}
}

func TestSessionIDsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCourier(t, newFakeServer())
	e := session(t, "a", "/a")[0]
	for i := range maxSessions + 9 {
		e.ExternalID = fmt.Sprint(i)
		c.keepSession(e, loci.ID(fmt.Sprint("id", i)))
	}
	if id, ok := c.sessionID(e); !ok || id != loci.ID(fmt.Sprint("id", maxSessions+8)) {
		t.Error(id, ok)
	}
	testenv.Equal(t, len(c.sessions()), maxSessions, "sessions are kept")
}

// A proxy that refuses one event must not hold up those behind it; one whose server is away refuses all of them.
func TestDeliveryTellsARefusedEventFromAProxyWithoutAServer(t *testing.T) {
	t.Parallel()
	page := &loci.Error{Code: loci.CodeForbidden, Err: loci.ForeignResponseError{}}
	f := newFakeServer()
	c := newCourier(t, f)
	event := session(t, "a", "/home/ann/proj")[1]
	f.failure, f.failAt = page, 3 // after the policy and the session
	if err := c.send(t.Context(), event); !loci.Is(err, loci.CodeInternalError) {
		t.Errorf("the event is refused, and the server answers: %v", err)
	}
	f.failAt = f.calls + 1
	f.stays = true
	if err := c.send(t.Context(), event); !errors.Is(err, loci.ForeignResponseError{}) {
		t.Errorf("the proxy answers every call: %v", err)
	}
}
