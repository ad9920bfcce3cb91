package integrity_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A bridge keeps an automatic session for a test.
type bridge struct {
	t     testing.TB
	s     *service.Service
	actor *identity.Actor
	id    loci.ID // of the session
}

// startSession starts an automatic session of an actor in a workspace, empty for the personal one.
func startSession(t testing.TB, s *store.Store, actor *identity.Actor, workspace loci.ID, task string) bridge {
	t.Helper()
	b := bridge{t: t, s: newService(s), actor: actor}
	policy := testenv.Must(b.s.GetPolicy(ctx, actor, loci.GetPolicy{WorkspaceID: workspace}))(t).Policy
	testenv.Must(b.s.SetPolicy(ctx, actor, loci.SetPolicy{WorkspaceID: workspace, Enabled: true,
		AtlasID: policy.AtlasID}))(t)
	b.id = testenv.Must(b.s.StartSession(ctx, actor, loci.StartSession{Task: loci.TaskText(task), Adapter: "claude",
		Kind: loci.SessionAutomatic, WorkspaceID: workspace}))(t).Session.ID
	return b
}

func (b bridge) event(id string, of loci.EventType, text string, metadata loci.Metadata) loci.ReceivedEvent {
	b.t.Helper()
	return testenv.Must(b.s.SendEvent(ctx, b.actor, loci.SendEvent{SessionID: b.id, Adapter: "claude",
		EventID: loci.ExternalID(id), Type: of, Content: loci.EventContent(text), Metadata: metadata}))(b.t)
}

func (b bridge) capture(text, source string) loci.Candidate {
	b.t.Helper()
	return testenv.Must(b.s.CaptureCandidate(ctx, b.actor, loci.CaptureCandidate{SessionID: b.id,
		Content: loci.CandidateContent(text), SourceEventID: loci.ExternalID(source)}))(b.t).Candidate
}

func (b bridge) moderate(c loci.Candidate, action loci.ModerationAction) loci.ModeratedCandidate {
	b.t.Helper()
	return testenv.Must(b.s.ModerateCandidate(ctx, b.actor, loci.ModerateCandidate{SessionID: b.id, CandidateID: c.ID,
		Action: action}))(b.t)
}

func (b bridge) checkpoint(text string) {
	b.t.Helper()
	testenv.Must(b.s.AddCheckpoint(ctx, b.actor, loci.AddCheckpoint{SessionID: b.id, Summary: loci.Summary(text)}))(b.t)
}

func (b bridge) finalize(summary string) loci.FinalizedSession {
	b.t.Helper()
	return testenv.Must(b.s.FinalizeSession(ctx, b.actor, loci.FinalizeSession{SessionID: b.id,
		Summary: loci.Summary(summary)}))(b.t)
}

func (b bridge) detail() loci.SessionDetail {
	b.t.Helper()
	return testenv.Must(b.s.GetSession(ctx, b.actor, loci.GetSession{SessionID: b.id}))(b.t)
}

// fill gives a session rows of every kind, and returns the memory of its unit.
func (b bridge) fill(words string) loci.ID {
	b.t.Helper()
	b.event("prompt", loci.EventPrompt, "We keep the "+words+" in the shed from now on.", loci.Metadata{"cwd": words})
	b.event("tool", loci.EventTool, "", nil)
	b.checkpoint("Found the " + words)
	b.moderate(b.capture("The "+words+" are blue, and there are nine of them", "first"), loci.ModerationCompile)
	b.moderate(b.capture("Nobody counts the "+words+" twice", ""), loci.ModerationDismiss)
	u := testenv.Must(b.s.OpenUnit(ctx, b.actor, loci.OpenUnit{SessionID: b.id, Key: "turn"}))(b.t).Unit
	u = testenv.Must(b.s.FinalizeUnit(ctx, b.actor, loci.FinalizeUnit{SessionID: b.id, UnitID: u.ID,
		Content: loci.Content("The shed holds the " + words)}))(b.t).Unit
	for i, event := range []loci.ExternalID{"prompt", "tool"} {
		testenv.Must(b.s.RecordAudit(ctx, b.actor, loci.RecordAudit{SessionID: b.id, Adapter: "claude", EventID: event,
			Total: 3, Rules: []loci.RedactionCount{{Rule: "email", Count: 2},
				{Rule: loci.RuleName(fmt.Sprint("rule", i)), Count: 1}}}))(b.t)
	}
	testenv.Must(b.s.RecordCompilation(ctx, b.actor, loci.RecordCompilation{SessionID: b.id, UnitKey: "turn",
		Compiler: "test",
		Outcome:  loci.CompilationCreated, MemoryID: u.MemoryID, InputEventIDs: loci.EventIDs{"prompt"}}))(b.t)
	return u.MemoryID
}

// Events are inserted behind the back: the calls that store 20,000 of them take minutes.
func addEvents(t *testing.T, d storetest.Database, n int) {
	t.Helper()
	numbers := fmt.Sprintf(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers
		WHERE n < %d) `, n)
	d.Exec(t, `INSERT INTO session_events (id, session, event_id, type, unit_key, role, content, metadata, occurred_at,
		created_at) `+numbers+`SELECT 'many' || n, s.row_id, 'many' || n, 'prompt', '', 'user',
		'an ordinary text of a prompt', '', 0, 0 FROM numbers, sessions s`)
	d.Exec(t, `UPDATE sessions SET events = (SELECT count(*) FROM session_events v WHERE v.session = sessions.row_id)`)
	d.ComputeChecksums(t)
}

// sessionTables are the tables that have rows of sessions.
var sessionTables = []string{"sessions", "checkpoints", "units", "candidates", "session_events", "session_history",
	"redaction_audits", "compilations"}

func countSessionRows(t *testing.T, d storetest.Database) (left []string) {
	t.Helper()
	for _, table := range sessionTables {
		if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+table)[0]; n != "0" {
			left = append(left, table+" "+n)
		}
	}
	return left
}

// An erasureCounter counts the rows of sessions that each transaction deletes. Other writers wait for these.
type erasureCounter struct {
	sqldb.DB
	most, all atomic.Int64
	plan      atomic.Value // of the deletion of events by PostgreSQL, a string
}

func (c *erasureCounter) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return c.DB.Write(ctx, user, func(conn sqldb.Conn) error {
		counted := &erasingConn{Conn: conn, counter: c}
		err := f(counted)
		c.all.Add(counted.rows)
		for most := c.most.Load(); counted.rows > most && !c.most.CompareAndSwap(most, counted.rows); {
			most = c.most.Load()
		}
		return err
	})
}

type erasingConn struct {
	sqldb.Conn
	counter *erasureCounter
	rows    int64
}

func (c *erasingConn) Exec(q string, args []any) (int64, error) {
	if c.counter.Dialect().Postgres && strings.HasPrefix(q, "DELETE FROM session_events ") {
		var plan string
		if err := c.Query("EXPLAIN "+q, args, func(r sqldb.Row) error {
			var line string
			err := r.Scan(&line)
			plan += line + "\n"
			return err
		}); err != nil {
			return 0, err
		}
		c.counter.plan.CompareAndSwap(nil, plan)
	}
	n, err := c.Conn.Exec(q, args)
	for _, table := range sessionTables {
		if strings.HasPrefix(q, "DELETE FROM "+table+" ") {
			c.rows += n
		}
	}
	return n, err
}

func TestDeletedAccountLeavesNothingOfItsSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const events, mostOfATransaction = 20_000, 501 // the last one deletes the session too
		counter := &erasureCounter{}
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(counter, &counter.DB)})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, bob, map[*identity.Actor]loci.Role{ann: loci.RoleMember})
		startSession(t, s, ann, crew, "Tidy the shed").fill("lanterns")
		addEvents(t, d, events)
		startSession(t, s, ann, "", "Tidy the attic").fill("trunks")
		checkHealthy(t, s)
		testenv.Must(store.System(ctx, s, "test", func(x *store.SystemTx) (loci.User, error) {
			return x.DeleteUser("ann@example.com", false)
		}))(t)
		checkHealthy(t, s)
		d.Exec(t, `DELETE FROM jobs WHERE kind = 'erase_sessions'`)
		if sum := checkIntegrity(t, s, true); sum.Found != 1 || sum.Repaired != 1 ||
			!strings.Contains(sum.Inconsistencies[0].Detail, "the deleted sessions") {
			t.Fatalf("deleted sessions without a job: %+v", sum)
		}
		s.Jobs().Start(ctx)
		for len(d.Query(t, `SELECT kind FROM jobs`)) > 0 {
			add(t, s, bob, crew, "Written beside the erasure")
			checkHealthy(t, s)
		}
		if left := countSessionRows(t, d); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
		testenv.Len(t, d.Query(t, `SELECT user_id FROM policies`), 0, "policies are left")
		if most, all := counter.most.Load(), counter.all.Load(); most > mostOfATransaction || all < events {
			t.Errorf("a writer waited for the deletion of %d of %d rows", most, all)
		}
		// PostgreSQL 15 reads the part of this index that the session has for each of the rows.
		if plan, _ := counter.plan.Load().(string); d.Address != "" && (plan == "" ||
			strings.Contains(plan, "session_events_prompts")) {
			t.Errorf("the plan of a deletion is %q", plan)
		}
	})
}

// A check finds nothing wrong with the sessions of a deleted atlas while they are erased.
func TestCheckKnowsErasuresOfSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		shed := testenv.Must(newService(s).CreateAtlas(ctx, ann, loci.CreateAtlas{WorkspaceID: crew,
			Name: "Shed"}))(t).Atlas.ID
		testenv.Must(newService(s).SetPolicy(ctx, ann, loci.SetPolicy{WorkspaceID: crew, Enabled: true,
			AtlasID: shed}))(t)
		b := startSession(t, s, ann, crew, "Tidy the shed")
		b.fill("lanterns")
		testenv.RequireEqual(t, b.detail().Session.AtlasID, shed, "the session is in")
		testenv.Must(newService(s).DeleteAtlas(ctx, ann, loci.DeleteAtlas{AtlasID: shed}))(t)
		d.Exec(t, `DELETE FROM session_events`) // as a part of an erasure
		checkHealthy(t, s)
		testenv.NoError(t, s.Eraser().EraseAll(ctx))
		if left := countSessionRows(t, d); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
		checkHealthy(t, s)
	})
}
