package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/dispatch"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// The log and the metrics show a sample's finding by kind and id.
func TestSampleIntegrityLogsNoContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLocal(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := createMemory(t, l, "The bridge stands on basalt.")
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	if err := sampleIntegrity(t.Context(), integrity.New(l.store), log); err != nil || out.Len() > 0 {
		t.Fatalf("a healthy store logs %s, %v", &out, err)
	}
	storetest.Database{Dir: dir}.Exec(t, `UPDATE memories SET title = 'Granite'`)
	before := findingsMetric(t, l.store)
	if err := sampleIntegrity(t.Context(), integrity.New(l.store), log); err != nil {
		t.Fatal(err)
	}
	line := out.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, `"kind":"rows","id":"`+string(m.ID)+`"`) ||
		strings.Contains(line, "asalt") || strings.Contains(line, "ranite") {
		t.Errorf("the log says %s", line)
	}
	if now := findingsMetric(t, l.store); now != before+1 {
		t.Errorf("the metric went from %v to %v", before, now)
	}
}

func createMemory(t *testing.T, l *Local, content string) loci.Memory {
	t.Helper()
	me, err := store.SystemRead(t.Context(), l.store, "test", func(x *store.SystemTx) (accountdb.UserPassword, error) {
		return x.UserByEmail(localOwner)
	})
	if err != nil {
		t.Fatal(err)
	}
	actor := &identity.Actor{UserID: me.User.ID, CredentialKind: identity.CredentialLocal, CredentialID: me.User.ID}
	m, err := store.Write(context.Background(), l.store, actor, func(tx *store.Tx) (loci.Memory, error) {
		shelf, err := tx.RoutingTargets("")
		if err != nil {
			return loci.Memory{}, err
		}
		a, err := shelf.Atlas(-1)
		if err != nil {
			return loci.Memory{}, err
		}
		return memorydb.Add(a, loci.Memory{Title: content, Content: content, Type: loci.TypeNote},
			memorydb.NewIndexEntry(content, content))
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetricsShowJobs(t *testing.T) {
	t.Parallel()
	l, err := OpenLocal(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := slog.New(slog.DiscardHandler)
	gate := auth.NewGate(l.store, auth.Options{Clock: time.Now, Log: log})
	m := newMetrics(l.store, &readiness{check: l.store.Ping, log: log})
	jobs := newJobs(l.store, dispatch.New(l.store.Messages(), nil), dispatch.NewChanges(l.store.Changes()),
		gate, m, log)
	jobs.Start(t.Context())
	defer jobs.Stop()
	if _, err := store.System(t.Context(), l.store, "test", func(x *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, x.AddJob("of_another_server", "id")
	}); err != nil {
		t.Fatal(err)
	}
	const lastRun = `loci_job_last_run_seconds{job="readiness"} `
	const firstSample = `loci_job_last_run_seconds{job="integrity_sample"} ` // a damaged file may come with the start
	var text string
	waittest.Until(t, func() bool {
		_, text = page(t, m.handler(), "/metrics")
		return strings.Contains(text, lastRun) && strings.Contains(text, firstSample)
	})
	for _, name := range []string{"sweep", "integrity_sample", "save_counts", "readiness", "compact", "reindex",
		"embed"} {
		if !strings.Contains(text, `loci_job_failures_total{job="`+name+`"} 0`) {
			t.Errorf("the metrics show no job %s", name)
		}
	}
	for _, line := range []string{`loci_jobs_pending{kind="erase_atlas"} 0`, `loci_jobs_failed{kind="erase_atlas"} 0`,
		`loci_jobs_dropped_total{kind="erase_atlas"} 0`, `loci_jobs_pending{kind="of_another_server"} 1`,
		`loci_jobs_failed{kind="of_another_server"} 0`, `loci_jobs_oldest_seconds{kind="of_another_server"} 1`} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics show no %s", line)
		}
	}
}

// findingsMetric sums the metric.
func findingsMetric(t *testing.T, st *store.Store) (n float64) {
	t.Helper()
	families, err := newMetrics(st, &readiness{check: st.Ping, log: slog.New(slog.DiscardHandler)}).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "loci_check_findings_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
			return n
		}
	}
	t.Fatal("there is no such metric")
	return 0
}

func TestSweepDeletesExpiredLinksOfUsers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var ahead atomic.Int64
		st := d.Open(t, store.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		if _, err := store.System(t.Context(), st, "test", func(x *store.SystemTx) (loci.Time, error) {
			u, err := x.AddUser(accountdb.NewUser{Email: "ann@example.com"})
			if err != nil {
				return 0, err
			}
			if _, err := x.AddToken(u.ID, accountdb.VerifyToken, []byte("a day")); err != nil {
				return 0, err
			}
			return x.AddToken(u.ID, accountdb.ResetToken, []byte("an hour"))
		}); err != nil {
			t.Fatal(err)
		}
		for after, want := range []string{"reset verify", "verify", ""} {
			ahead.Store(int64([]time.Duration{0, time.Hour, 24 * time.Hour}[after]))
			if err := deleteExpired(t.Context(), st); err != nil {
				t.Fatal(err)
			}
			if left := strings.Join(d.Query(t, `SELECT kind FROM tokens ORDER BY kind`), " "); left != want {
				t.Errorf("%q are left, want %q", left, want)
			}
		}
	})
}

func TestSweepDeletesClosedMessages(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	d := storetest.Database{Dir: t.TempDir()}
	st := d.Open(t, store.Options{Clock: now})
	ann := storetest.User(t, st, "ann")
	agents := storetest.Agents(t, st, ann, 2)
	s := service.New(service.Options{Store: st, Clock: now})
	for _, text := range []loci.MessageText{"closed", "open"} {
		sent, err := s.SendMessage(t.Context(), agents[0],
			loci.SendMessage{ToAgentID: agents[1].AgentID, Content: text})
		if err == nil && text == "closed" {
			_, err = s.CloseMessage(t.Context(), agents[1], loci.GetMessage{MessageID: sent.Message.ID})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"closed open", "open"} {
		days := time.Duration(89 + 2*i)
		ahead.Store(int64(days * 24 * time.Hour))
		if err := deleteExpired(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		if left := strings.Join(d.Query(t, `SELECT content FROM messages ORDER BY content`), " "); left != want {
			t.Errorf("after %d days %q are left, want %q", days, left, want)
		}
	}
}

// sessionSweep is a server whose clock a test moves, with the owner of sessions.
type sessionSweep struct {
	t     *testing.T
	d     storetest.Database
	st    *store.Store
	s     *service.Service
	actor *identity.Actor
	ahead atomic.Int64

	sqldb.DB
	writes atomic.Int32
}

// Write counts the write transactions.
func (x *sessionSweep) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	x.writes.Add(1)
	return x.DB.Write(ctx, user, f)
}

func (x *sessionSweep) now() time.Time { return time.Now().Add(time.Duration(x.ahead.Load())) }

func newSessionSweep(t *testing.T, d storetest.Database) *sessionSweep {
	x := &sessionSweep{t: t, d: d}
	x.st = d.Open(t, store.Options{Clock: x.now, Intercept: storetest.Intercept(x, &x.DB)})
	x.s = service.New(service.Options{Store: x.st, Clock: x.now})
	x.actor = storetest.User(t, x.st, "ann")
	if _, err := x.s.SetPolicy(t.Context(), x.actor, loci.SetPolicy{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return x
}

// start starts a session with events that have a text, and returns its id.
func (x *sessionSweep) start(name loci.ExternalID, events int) loci.ID {
	x.t.Helper()
	out, err := x.s.StartSession(x.t.Context(), x.actor, loci.StartSession{Task: "Tidy", Adapter: "claude",
		Kind: loci.SessionAutomatic, ExternalID: name})
	for i := range events {
		if err == nil {
			_, err = x.s.SendEvent(x.t.Context(), x.actor, loci.SendEvent{SessionID: out.Session.ID, Adapter: "claude",
				Type: loci.EventNote, EventID: loci.ExternalID(fmt.Sprint(name, i)), Content: "A text of the day",
				Metadata: loci.Metadata{"cwd": "/shed"}})
		}
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return out.Session.ID
}

// sweep runs a sweep after a time, and returns the sessions that have texts.
func (x *sessionSweep) sweep(after time.Duration) string {
	x.t.Helper()
	x.ahead.Store(int64(after))
	if err := deleteExpired(x.t.Context(), x.st); err != nil {
		x.t.Fatal(err)
	}
	return strings.Join(x.d.Query(x.t, `SELECT DISTINCT s.external_id FROM sessions s
		JOIN session_events v ON v.session = s.row_id AND (v.content <> '' OR v.metadata <> '') ORDER BY 1`), " ")
}

func TestSweepDeletesTextsOfEventsAfterThirtyDays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const day = 24 * time.Hour
		x := newSessionSweep(t, d)
		ended := x.start("ended", 3)
		x.start("used", 3)
		x.start("idle", 1)
		if _, err := x.s.CompleteSession(t.Context(), x.actor, loci.CompleteSession{SessionID: ended}); err != nil {
			t.Fatal(err)
		}
		if left := x.sweep(29 * day); left != "ended idle used" {
			t.Errorf("after 29 days %q have texts", left)
		}
		if _, err := x.s.ArchiveSession(t.Context(), x.actor, loci.ArchiveSession{SessionID: ended}); err != nil {
			t.Fatal(err) // this is no use of it
		}
		x.start("used", 4)
		if left := x.sweep(30*day + time.Minute); left != "used" {
			t.Errorf("after 30 days %q have texts", left)
		}
		if left := x.sweep(58 * day); left != "used" {
			t.Errorf("after 58 days %q have texts", left)
		}
		if left := x.sweep(60 * day); left != "" {
			t.Errorf("after 60 days %q have texts", left)
		}
		if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM session_events`)[0]; n != "8" {
			t.Errorf("%s events are left", n)
		}
		storetest.CheckHealthy(t, x.st)
	})
}

// One transaction of the sweep is bounded: other writers wait for it.
func TestSweepDeletesManyTextsInSeveralTransactions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newSessionSweep(t, d)
		x.start("many", 1)
		d.Exec(t, `INSERT INTO session_events (id, session, event_id, type, unit_key, role, content, metadata,
			occurred_at, created_at) WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers
			WHERE n < 2500) SELECT 'many' || n, s.row_id, 'x' || n, 'note', '', '', 'A text', '', 0, 0
			FROM numbers, sessions s`)
		d.Exec(t, `UPDATE sessions SET events = 2501`)
		d.ComputeChecksums(t)
		before := x.writes.Load()
		if left := x.sweep(31 * 24 * time.Hour); left != "" {
			t.Errorf("%q has texts", left)
		}
		if n := x.writes.Load() - before; n < 1+2501/500 {
			t.Errorf("%d transactions deleted them", n)
		}
		storetest.CheckHealthy(t, x.st)
		if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM sessions WHERE has_texts`)[0]; n != "0" {
			t.Errorf("%s sessions have texts", n)
		}
	})
}
