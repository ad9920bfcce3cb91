package integrity_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// purgedSentence is the text of a memory that is purged. Its words are among traceWords.
const purgedSentence = "We decided to store the umbrosial lummoxites beside the gozzlewumps and quinceberries."

// requireTraces fails if the database does not hold words that a purge is to erase.
func requireTraces(t *testing.T, d storetest.Database, words ...string) {
	t.Helper()
	before := strings.Join(remainingTraces(t, d), "; ")
	for _, word := range words {
		testenv.Contains(t, before, " holds "+word, "the test does not find", word, "even before")
	}
}

// analyze makes PostgreSQL take samples of the columns, which it does by itself at some time.
func analyze(t *testing.T, d storetest.Database) {
	if d.Dir == "" {
		d.Exec(t, `ANALYZE `+strings.Join(append([]string{"memories"}, sessionTables...), ", "))
	}
}

func TestPurgedMemoryLeavesNoByteInSessions(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann, bob := user(t, server, "ann"), user(t, server, "bob")
		crew := team(t, server, bob, map[*identity.Actor]loci.Role{ann: loci.RoleMember})
		b := startSession(t, server, ann, crew, "Tidy the shed")
		drawn := b.event("said", loci.EventPrompt, purgedSentence+" Where are the dibbernacks?",
			loci.Metadata{"cwd": "/snickerdoodles"})
		if drawn.Candidate == nil || !strings.Contains(drawn.Candidate.Content, "lummoxites") {
			t.Fatalf("drawn %+v", drawn)
		}
		m := b.moderate(*drawn.Candidate, loci.ModerationCompile).Memory
		text := m.Content
		kept := b.capture("The kettle stays on the second shelf", "kettle")
		b.event("kettle", loci.EventPrompt, "The kettle stays on the second shelf.", nil)
		end := b.finalize("The shed is tidy, without a word on it")
		if !strings.Contains(end.Session.Snapshot, text) {
			t.Fatalf("the snapshot is %q", end.Session.Snapshot)
		}

		// Another member has the same text everywhere, and a candidate that is only similar.
		o := startSession(t, server, bob, crew, "Why: "+text)
		o.s = newService(server)
		captured := testenv.Must(o.s.CaptureCandidate(ctx, withEncryptionKey(bob, "capture"), loci.CaptureCandidate{
			SessionID: o.id, Content: loci.CandidateContent(text), Title: "Größenwahnsinn 東西南北"}))(t).Candidate
		o.moderate(captured, loci.ModerationDismiss)
		similar := o.capture(strings.Replace(text, "decided", "nearly decided", 1)+" At noon.", "")
		setContent(t, server, similar.ID, "Something else altogether, at noon")
		o.checkpoint("Noted: " + text)
		o.finalize("Result: " + text)
		quoting := startSession(t, server, bob, crew, "Paste")
		quoting.event("pasted", loci.EventNote, "> "+text, nil)
		quoting.event("meta", loci.EventNote, "plain", loci.Metadata{"quote": text + "\n\"end\""})
		quoting.event("stays", loci.EventNote, "A note that stays", nil)
		d.Exec(t, `UPDATE candidates SET similar_to = '[{"memoryId":"`+string(m.ID)+`","score":0.9}]'
			WHERE id = '`+string(similar.ID)+`'`)
		d.ComputeChecksums(t)
		changeContent(t, server, ann, m.ID, "Clankerblossoms in nothing but a version") // equal texts are of a version
		analyze(t, d)
		requireTraces(t, d, "mbrosial", "lummoxite", "ibbernack", "ickerdoodle", "東西南北", "ankerblossom")

		would := testenv.Must(purge.New(operator).PurgeMemory(ctx, m.ID, false))(t)
		testenv.Len(t, b.detail().Candidates, 2, "a look has purged")
		others := mustIDs(t, server, bob, crew, m.ID)
		did, err := purge.New(operator).PurgeMemory(ctx, m.ID, true)
		if err != nil || did != would || did.Memories != 1 || did.Candidates != 2 {
			t.Errorf("purged %+v, of %+v, %v", did, would, err)
		}
		own := b.detail()
		if own.Session.Snapshot != "" || own.Session.Summary == "" || len(own.Candidates) != 1 ||
			own.Candidates[0].ID != kept.ID || own.Session.Counts.Candidates != 1 {
			t.Errorf("the session is %+v with %+v", own.Session, own.Candidates)
		}
		other := o.detail()
		if other.Session.Task != "(purged)" || other.Session.Summary != "" || other.Session.Snapshot != "" ||
			other.Checkpoints[0].Summary != "(purged)" || len(other.Candidates) != 1 {
			t.Errorf("the other session is %+v with %+v", other.Session, other)
		}
		for _, h := range append(own.History, other.History...) {
			if h.MemoryID == m.ID {
				t.Errorf("a step names the memory: %+v", h)
			}
		}
		testenv.Equal(t, d.Query(t, `SELECT similar_to FROM candidates WHERE id = '`+string(similar.ID)+`'`)[0], "[]",
			"similar to")
		testenv.EqualSlices(t, d.Query(t, `SELECT event_id FROM session_events WHERE content <> ''`), []string{"stays"},
			"the events", "have a text")
		testenv.EqualSlices(t, mustIDs(t, server, bob, crew, ""), others, "are left of")
		checkHealthy(t, server)
	})
}

// setContent replaces the text of a candidate behind the back.
func setContent(t *testing.T, s *store.Store, id loci.ID, text string) {
	t.Helper()
	testenv.NoError(t, writeRaw(s, func(exec func(string, ...any) error) error {
		return exec(`UPDATE candidates SET content = ?2, title = ?2 WHERE id = ?1`, id, text)
	}))
}

// mustIDs lists the memories of a workspace without one.
func mustIDs(t *testing.T, s *store.Store, actor *identity.Actor, workspace, without loci.ID) []loci.ID {
	t.Helper()
	return slices.DeleteFunc(ids(t, s, actor, loci.MemoryFilter{WorkspaceID: workspace}, 100),
		func(id loci.ID) bool { return id == without })
}

func TestPurgedMemoryOfAUnitLeavesNoByteInItsEvents(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann := user(t, server, "ann")
		b := startSession(t, server, ann, "", "Tidy the shed")
		testenv.Must(b.s.SetPolicy(ctx, ann, loci.SetPolicy{Enabled: true, Mode: loci.ModeUnits}))(t)
		b.event("question", loci.EventPrompt, "Where do the dibbernacks go, and what about whirlimagigs?", nil)
		b.event("said", loci.EventPrompt, purgedSentence, nil)
		if u := b.detail().Units; len(u) != 1 || u[0].MemoryID == "" || !strings.Contains(u[0].Title, "lummox") {
			t.Fatalf("the units are %+v", u)
		}
		id := b.detail().Session.MemoryID
		analyze(t, d)
		requireTraces(t, d, "mbrosial", "lummoxite", "ibbernack", "irlimagig")
		testenv.Must(purge.New(operator).PurgeMemory(ctx, id, true))(t)
		if x := b.detail(); x.Session.MemoryID != "" || x.Units[0].Title != x.Units[0].Key ||
			x.Session.Counts.Events != 2 {
			t.Errorf("the session is %+v with %+v", x.Session, x.Units)
		}
		checkHealthy(t, server)
	})
}

func TestPurgeOfAShortTextKeepsTheSessionsThatHaveItsWord(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "blue")
		b := startSession(t, s, ann, "", "Paint it blue")
		b.capture("The door is blue", "")
		b.capture(" blue ", "")
		b.checkpoint("It is blue now")
		if did, err := purge.New(s).PurgeMemory(ctx, m.ID, true); err != nil || did.Candidates != 1 {
			t.Errorf("purged %+v, %v", did, err)
		}
		if x := b.detail(); x.Session.Task != "Paint it blue" || x.Checkpoints[0].Summary != "It is blue now" ||
			len(x.Candidates) != 1 {
			t.Errorf("left %+v", x)
		}
		checkHealthy(t, s)
	})
}

func TestPurgedUserLeavesNoByteOfSessions(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		gone, bob := user(t, server, "gone"), user(t, server, "bob")
		crew := team(t, server, bob, map[*identity.Actor]loci.Role{gone: loci.RoleMember})
		for i, w := range []loci.ID{"", crew} {
			b := startSession(t, server, gone, w, "Whirlimagigs")
			b.event("said", loci.EventPrompt, "Hide the Snickerdoodles", nil)
			b.capture("Of umbrosial lummoxites", "said")
			if i == 1 {
				manager := withEncryptionKey(bob, "moderate")
				testenv.Must(newService(server).ModerateCandidate(ctx, manager, loci.ModerateCandidate{SessionID: b.id,
					CandidateID: b.detail().Candidates[0].ID, Action: loci.ModerationDismiss}))(t)
			}
		}
		deleted := startSession(t, server, gone, crew, "Quinceberries")
		testenv.Must(deleted.s.BulkSessions(ctx, gone, loci.BulkSessions{Action: loci.BulkDelete,
			SessionIDs: loci.BulkIDs{deleted.id}}))(t)
		kept := startSession(t, server, bob, crew, "Stay")
		analyze(t, d)
		requireTraces(t, d, "mbrosial", "lummoxite", "ickerdoodle", "irlimagig", "uinceberr")
		did, err := purge.New(operator).PurgeUser(ctx, "gone@example.com", true)
		if err != nil || did.Sessions != 2 || did.Responses != 1 {
			t.Errorf("purged %+v, %v", did, err)
		}
		testenv.EqualSlices(t, d.Query(t, `SELECT id FROM sessions`), []string{string(kept.id)}, "the sessions",
			"are left")
		testenv.EqualSlices(t, d.Query(t, `SELECT user_id FROM policies`), []string{string(bob.UserID)},
			"the policies of", "are left")
		checkHealthy(t, server)
	})
}

func TestPurgedWorkspaceLeavesNoByteOfSessions(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann := user(t, server, "ann")
		crew := team(t, server, ann, nil)
		startSession(t, server, ann, crew, "Whirlimagigs").fill("lummoxites")
		requireTraces(t, d, "lummoxite", "irlimagig")
		did, err := purge.New(operator).PurgeWorkspace(ctx, crew, true)
		if err != nil || did.Sessions != 1 {
			t.Errorf("purged %+v, %v", did, err)
		}
		if left := countSessionRows(t, d); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
		testenv.Len(t, d.Query(t, `SELECT user_id FROM policies`), 0, "policies are left")
		checkHealthy(t, server)
	})
}

func TestPurgeDeletedErasesDeletedSessions(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann := user(t, server, "ann")
		b := startSession(t, server, ann, "", "Whirlimagigs")
		b.event("said", loci.EventPrompt, "Hide the Snickerdoodles", nil)
		testenv.Must(b.s.BulkSessions(ctx, ann, loci.BulkSessions{Action: loci.BulkDelete,
			SessionIDs: loci.BulkIDs{b.id}}))(t)
		for _, apply := range []bool{false, true} {
			if n, err := purge.New(operator).PurgeDeleted(ctx, apply); err != nil || n.Sessions != 1 {
				t.Errorf("%v: %+v %v", apply, n, err)
			}
		}
		if left := countSessionRows(t, d); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	})
}
