package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// sessionPlans is a store with sessions of two members in three workspaces.
type sessionPlans struct {
	t             *testing.T
	s             *store.Store
	ann, eve      *identity.Actor
	crew          loci.ID
	own, managed  loci.Session // of ann and eve in the crew
	drawn         loci.Candidate
	unit          loci.Unit
	after         page.Key
	sessionsEach  int // of each session, on PostgreSQL
	candidateRows int
}

// newSessionPlans returns a store with many sessions on PostgreSQL.
func newSessionPlans(t *testing.T, d storetest.Database) *sessionPlans {
	x := newSessions(t, d)
	if d.Address != "" {
		x.multiply(d)
	}
	return x
}

func newSessions(t *testing.T, d storetest.Database) *sessionPlans {
	x := &sessionPlans{t: t, s: d.Open(t, store.Options{}), sessionsEach: 500, candidateRows: 4}
	x.ann, x.eve = user(t, x.s, "ann"), user(t, x.s, "eve")
	x.crew = team(t, x.s, x.ann, map[*identity.Actor]loci.Role{x.eve: loci.RoleAdmin})
	for _, w := range []loci.ID{"", x.crew, team(t, x.s, x.ann, nil)} {
		x.own = x.add(x.ann, w)
	}
	x.add(x.eve, "")
	x.managed = x.add(x.eve, x.crew)
	x.own = x.add(x.ann, x.crew)
	x.after = page.Key{At: x.own.CreatedAt, ID: x.own.ID}
	policy := loci.DefaultPolicy()
	policy.KeepTurns = true
	if _, err := store.Write(ctx, x.s, x.ann, func(tx *store.Tx) (loci.Policy, error) {
		w, err := sessiondb.PolicyWorkspace(tx, x.crew)
		if err != nil {
			return policy, err
		}
		return sessiondb.SetPolicy(w, policy)
	}); err != nil {
		t.Fatal(err)
	}
	return x
}

// add makes a session with rows of each kind.
func (x *sessionPlans) add(actor *identity.Actor, workspace loci.ID) loci.Session {
	x.t.Helper()
	out, err := store.Write(ctx, x.s, actor, func(tx *store.Tx) (loci.Session, error) {
		targets, err := tx.RoutingTargets(workspace)
		if err != nil {
			return loci.Session{}, err
		}
		a, err := targets.Atlas(-1)
		if err != nil {
			return loci.Session{}, err
		}
		s, err := sessiondb.Add(a, loci.Session{Task: "Tidy", Kind: loci.SessionAutomatic, Adapter: "claude",
			ExternalID: fmt.Sprint("run ", loci.NewID(x.s.Now().Std()))})
		if err == nil {
			x.drawn, err = s.AddCandidate(loci.Candidate{Content: "It is blue", Type: loci.TypeFact, Tags: []string{},
				SourceEventID: "event1", Similar: []loci.SimilarToMemory{}}, loci.ActionDrawn)
		}
		if err == nil {
			x.unit, err = s.AddUnit("turn", "Turn")
		}
		for i, of := range []loci.EventType{loci.EventResponse, loci.EventPrompt} {
			if err == nil {
				e := loci.SessionEvent{EventID: fmt.Sprint("event", i), Type: of, UnitKey: "turn"}
				_, err = s.AddEvent(sessiondb.Event{SessionEvent: e, Content: "It is blue"})
			}
		}
		if err == nil {
			_, err = s.AddCheckpoint("It is blue")
		}
		return s.Record(), err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

// multiply makes the statistics of PostgreSQL worth something.
func (x *sessionPlans) multiply(d storetest.Database) {
	d.Exec(x.t, fmt.Sprintf(`INSERT INTO sessions (id, workspace, atlas, user_id, agent_id, kind, adapter, external_id,
			source_name, task, status, archived, summary, snapshot, candidates, pending, checkpoints, units, events,
			audits, compilations, redactions, steps, has_texts, ended_at, created_at, updated_at)
		SELECT s.id || '-' || n, workspace, atlas, user_id, '', kind, adapter, external_id || n, '', task, status,
			FALSE, '', '', 0, 0, 0, 0, 0, 0, 0, '[]', 0, FALSE, 0, created_at - n * 1000000, updated_at
		FROM sessions s, generate_series(1, %d) n`, x.sessionsEach))
	d.Exec(x.t, fmt.Sprintf(`INSERT INTO candidates (id, session, workspace, atlas, user_id, content, title, type,
			tags, evidence, source_event_id, status, similar_to, created_at, updated_at)
		SELECT s.id || 'c' || n, s.row_id, s.workspace, s.atlas, s.user_id, 'It is blue', '', 1, '[]', '', 'x' || n,
			CASE WHEN n = 1 AND s.row_id %% 5 = 0 THEN 'pending' ELSE 'compiled' END, '[]', s.created_at + n,
			s.updated_at
		FROM sessions s, generate_series(1, %d) n`, x.candidateRows))
	d.Exec(x.t, `INSERT INTO session_events (id, session, event_id, type, unit_key, role, content, metadata,
			occurred_at, created_at)
		SELECT s.id || 'e' || n, s.row_id, 'many' || n, 'tool', 'turn', '', '', '', 0, s.created_at
		FROM sessions s, generate_series(1, 5) n`)
	d.Exec(x.t, `ANALYZE `+strings.Join(tables, ", "))
}

// lists returns the lists of sessions and candidates.
func (x *sessionPlans) lists() map[string]func(*store.Tx) error {
	out := map[string]func(*store.Tx) error{"usage": func(tx *store.Tx) error { _, err := tx.Usage(); return err }}
	for name, f := range map[string]sessiondb.Filter{
		"own": {}, "own, archived too": {Archived: true}, "own of a workspace": {WorkspaceID: x.crew},
		"own of an atlas": {AtlasID: x.own.AtlasID}, "managed": {Managed: true},
		"managed of a workspace": {WorkspaceID: x.crew, Managed: true},
		"managed of an atlas":    {AtlasID: x.own.AtlasID, Managed: true},
	} {
		for _, after := range []page.Key{{}, x.after} {
			p := page.Request{Limit: 5, After: after}
			for _, status := range []string{"", "active", `["active","ended"]`} {
				f := f
				f.Status = status
				out[fmt.Sprint("sessions ", name, " ", status, after.ID)] = func(tx *store.Tx) error {
					_, err := sessiondb.List(tx, f, p)
					return err
				}
			}
			for _, status := range []string{"", "pending"} {
				f := f
				f.Status = status
				out[fmt.Sprint("candidates ", name, " ", status, after.ID)] = func(tx *store.Tx) error {
					_, err := sessiondb.ListCandidates(tx, f, p)
					return err
				}
			}
		}
	}
	for _, id := range []loci.ID{x.own.ID, x.managed.ID} {
		for _, status := range []string{"", "pending"} {
			out[fmt.Sprint("candidates of a session ", id, status)] = func(tx *store.Tx) error {
				_, err := sessiondb.ListCandidates(tx, sessiondb.Filter{SessionID: id, Status: status},
					page.Request{Limit: 5})
				return err
			}
		}
	}
	return out
}

// lookups returns the reads of one session.
func (x *sessionPlans) lookups() map[string]func(*store.Tx) error {
	handle := func(f func(*sessiondb.Session) error) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			s, err := sessiondb.Open(tx, x.own.ID, sessiondb.Own, store.InAnyState)
			if err == nil {
				err = f(s)
			}
			return err
		}
	}
	external := func(workspace loci.ID) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			_, _, err := sessiondb.ByExternalID(tx, workspace, loci.SessionAutomatic, "claude", x.own.ExternalID)
			return err
		}
	}
	sources := []string{"event1"}
	return map[string]func(*store.Tx) error{
		"external id": external(""), "external id of a workspace": external(x.crew),
		"source":          handle(func(s *sessiondb.Session) error { _, err := s.CandidatesFrom(sources); return err }),
		"event":           handle(func(s *sessiondb.Session) error { _, _, err := s.Event("event0"); return err }),
		"unit key":        handle(func(s *sessiondb.Session) error { _, _, err := s.UnitByKey("turn"); return err }),
		"unit":            handle(func(s *sessiondb.Session) error { _, err := s.Unit(x.unit.ID); return err }),
		"open unit":       handle(func(s *sessiondb.Session) error { _, err := s.OpenUnit(); return err }),
		"candidate":       handle(func(s *sessiondb.Session) error { _, err := s.Candidate(x.drawn.ID); return err }),
		"pending":         handle(func(s *sessiondb.Session) error { _, err := s.PendingCandidates(); return err }),
		"compiled":        handle(func(s *sessiondb.Session) error { _, err := s.CompiledCandidates(); return err }),
		"all checkpoints": handle(func(s *sessiondb.Session) error { _, err := s.AllCheckpoints(); return err }),
		"audit":           handle(func(s *sessiondb.Session) error { _, _, err := s.Audit("event0"); return err }),
		"policy":          func(tx *store.Tx) error { _, err := sessiondb.Policy(tx, x.crew); return err },
		"view": func(tx *store.Tx) error {
			v, err := sessiondb.OpenView(tx, x.managed.ID)
			if err == nil {
				err = v.ReadParts(&loci.SessionDetail{}, 10)
			}
			if err == nil {
				_, _, err = v.Texts("turn")
			}
			if err == nil {
				_, _, err = v.Texts("")
			}
			if err == nil {
				_, err = sessiondb.KnownTexts(tx, v)
			}
			return err
		},
	}
}

func TestReadsOfSessionsUseIndexes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newSessionPlans(t, d)
		var sent []store.Statement
		store.TraceStatements(x.s, func(st store.Statement) { sent = append(sent, st) })
		narrowed := *x.ann
		narrowed.GrantedWorkspaces = []loci.ID{x.crew}
		for name, f := range x.lists() {
			for _, actor := range []*identity.Actor{x.ann, &narrowed} {
				sent = nil
				if _, err := store.Read(ctx, x.s, actor, func(tx *store.Tx) (loci.Empty, error) {
					return loci.Empty{}, f(tx)
				}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				x.check(name, sent)
			}
		}
		for name, f := range x.lookups() {
			sent = nil
			if _, err := store.Write(ctx, x.s, x.ann, func(tx *store.Tx) (loci.Empty, error) {
				return loci.Empty{}, f(tx)
			}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			x.check(name, sent)
		}
	})
}

// check checks the plans of the reads among the statements.
func (x *sessionPlans) check(name string, sent []store.Statement) {
	x.t.Helper()
	reads := 0
	for _, st := range append([]store.Statement(nil), sent...) {
		if strings.HasPrefix(strings.TrimSpace(st.Text), "SELECT") && !strings.Contains(st.Text, "pg_advisory") {
			checkPlan(x.t, x.s, name, st)
			reads++
		}
	}
	if reads == 0 {
		x.t.Errorf("%s reads nothing", name)
	}
}
