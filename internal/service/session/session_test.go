package session_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

const byAnn, byBob, byCid = CallerOwner, CallerAdmin, CallerMember

// start starts a session of a caller.
func start(t *testing.T, w *World, by Caller, in loci.StartSession) loci.Session {
	t.Helper()
	in.Task = "Count the ships"
	return MustCall(t, w, by, service.SessionStart, in).Session
}

// automatic starts an automatic session of ann in an atlas, whose policy is on.
func automatic(t *testing.T, w *World, atlas loci.ID, policy loci.SetPolicy) loci.Session {
	t.Helper()
	policy.WorkspaceID, policy.Enabled = w.Team, true
	MustCall(t, w, byAnn, service.AutoSet, policy)
	return start(t, w, byAnn, loci.StartSession{AtlasID: atlas, Kind: loci.SessionAutomatic, Adapter: "claude"})
}

func capture(t *testing.T, w *World, by Caller, session loci.ID, content string) loci.Candidate {
	t.Helper()
	return MustCall(t, w, by, service.SessionCapture,
		loci.CaptureCandidate{SessionID: session, Content: loci.CandidateContent(content)}).Candidate
}

func TestStartSessionUsesAtlasOfPolicyBeforeRouting(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		routed := testenv.Must(w.Service.CreateAtlas(t.Context(), w.Ann.Actor(), loci.CreateAtlas{Name: "Fleet",
			WorkspaceID: w.Team, Keywords: loci.Keywords{"ships"}}))(t).Atlas.ID
		shelf, other := w.Atlas(t, "Shelf"), w.Atlas(t, "Other")
		in := loci.StartSession{WorkspaceID: w.Team}
		testenv.Equal(t, start(t, w, byAnn, in).AtlasID, routed, "without a policy it is in")
		MustCall(t, w, byAnn, service.AutoSet, loci.SetPolicy{WorkspaceID: w.Team, AtlasID: shelf})
		testenv.Equal(t, start(t, w, byAnn, in).AtlasID, shelf, "with a policy it is in")
		testenv.Equal(t, start(t, w, byAnn, loci.StartSession{AtlasID: other}).AtlasID, other, "with an atlas it is in")
		testenv.Equal(t, start(t, w, byCid, in).AtlasID, routed, "the policy of another member routes to")
		MustCall(t, w, byAnn, service.AtlasDelete, loci.DeleteAtlas{AtlasID: shelf})
		testenv.Equal(t, start(t, w, byAnn, in).AtlasID, routed, "with a deleted atlas it is in")
	})
}

func TestStartSessionResumesByExternalID(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf, other := w.Atlas(t, "Shelf"), w.Atlas(t, "Other")
		in := loci.StartSession{AtlasID: shelf, Kind: loci.SessionAutomatic, Adapter: "claude",
			ExternalID: "one"}
		first := start(t, w, byAnn, in)
		MustCall(t, w, byAnn, service.SessionComplete, loci.CompleteSession{SessionID: first.ID})
		MustCall(t, w, byAnn, service.SessionArchive, loci.ArchiveSession{SessionID: first.ID})
		archived := w.Atlas(t, "Archived")
		MustCall(t, w, byAnn, service.AtlasArchive, loci.ArchiveAtlas{AtlasID: archived})
		for name, again := range map[string]loci.StartSession{"the same": in, "no place": {},
			"another atlas of the workspace": {AtlasID: other}, "an archived one": {AtlasID: archived},
			"the workspace": {WorkspaceID: w.Team}} {
			again.Kind, again.Adapter, again.ExternalID = in.Kind, in.Adapter, in.ExternalID
			if s := start(t, w, byAnn, again); s.ID != first.ID || s.Status != loci.SessionActive || s.Archived ||
				s.AtlasID != shelf || s.EndedAt != 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
		elsewhere := in
		elsewhere.Task = "Paint it"
		elsewhere.WorkspaceID = w.NewTeam(t, w.Ann)
		MustFail(t, w, byAnn, service.SessionStart, elsewhere, loci.CodeAtlasWorkspaceMismatch)
		elsewhere.AtlasID = ""
		if s := start(t, w, byAnn, elsewhere); s.ID == first.ID {
			t.Error("another workspace resumed it")
		}

		manual := loci.StartSession{AtlasID: shelf, ExternalID: "one"}
		second := start(t, w, byAnn, manual)
		MustCall(t, w, byAnn, service.SessionFinalize, loci.FinalizeSession{SessionID: second.ID})
		if s := start(t, w, byAnn, manual); s.ID != second.ID || s.Status != loci.SessionFinalized {
			t.Errorf("an ended manual session: %+v", s)
		}
	})
}

func TestStoredStartGoesWithMemoriesOfItsContext(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		memory := w.Memory(t, shelf, "the buoy is green")
		in := loci.StartSession{Task: "Paint it", AtlasID: shelf}
		first, _, err := CallWithKey(t, w, byAnn, "k", service.SessionStart, in)
		if err != nil || !strings.Contains(first.Context.Markdown, "green") {
			t.Fatal(first.Context.Markdown, err)
		}
		again, replayed, err := CallWithKey(t, w, byAnn, "k", service.SessionStart, in)
		if err != nil || !replayed || again.Session.ID != first.Session.ID || !again.Created() {
			t.Fatal(replayed, err)
		}
		MustCall(t, w, byAnn, service.MemoryDelete, loci.DeleteMemory{MemoryID: memory})
		again, replayed, err = CallWithKey(t, w, byAnn, "k", service.SessionStart, in)
		if err != nil || replayed || strings.Contains(again.Context.Markdown, "green") {
			t.Errorf("the stored response outlives its memory: %v %v", replayed, err)
		}
	})
}

func TestSessionDetailChangesTag(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		s := start(t, w, byAnn, loci.StartSession{AtlasID: shelf})
		tag := func() string {
			return testenv.Must(w.Service.GetSession(t.Context(), w.Ann.Actor(),
				loci.GetSession{SessionID: s.ID}))(t).ETag()
		}
		seen := map[string]bool{tag(): true}
		if !seen[tag()] {
			t.Error("the tag changes without a change")
		}
		for name, change := range map[string]func(){
			"a memory":  func() { w.Memory(t, shelf, "a new fact") },
			"a capture": func() { capture(t, w, byAnn, s.ID, "another fact") },
			"an archive": func() {
				MustCall(t, w, byAnn, service.SessionArchive, loci.ArchiveSession{SessionID: s.ID})
			},
		} {
			if change(); seen[tag()] {
				t.Errorf("%s does not change the tag", name)
			}
			seen[tag()] = true
			mustCallIfArchived(t, w, s.ID)
		}
	})
}

// mustCallIfArchived restores a session that is archived.
func mustCallIfArchived(t *testing.T, w *World, id loci.ID) {
	t.Helper()
	no := false
	if d := MustCall(t, w, byAnn, service.SessionGet, loci.GetSession{SessionID: id}); d.Session.Archived {
		MustCall(t, w, byAnn, service.SessionArchive, loci.ArchiveSession{SessionID: id, Archived: &no})
	}
}

func TestManagersGovernSessionsOfMembers(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := start(t, w, byCid, loci.StartSession{AtlasID: w.Atlas(t, "Shelf")})
		c := capture(t, w, byCid, s.ID, "cid has found a leak in the hull")
		out := MustCall(t, w, byBob, service.SessionModerate,
			loci.ModerateCandidate{SessionID: s.ID, CandidateID: c.ID, Action: loci.ModerationCompile})
		if out.Memory.CreatedBy != w.Cid.ID || out.Memory.SessionID != s.ID {
			t.Errorf("the memory is of %s", out.Memory.CreatedBy)
		}
		MustFail(t, w, byBob, service.SessionFinalize, loci.FinalizeSession{SessionID: s.ID}, loci.CodeForbidden)
		results := MustCall(t, w, byBob, service.SessionBulk,
			loci.BulkSessions{Action: loci.BulkDelete, SessionIDs: loci.BulkIDs{s.ID}}).Results
		testenv.Equal(t, results[0].Code, loci.CodeForbidden, "a manager deletes it", results)
		d := MustCall(t, w, byCid, service.SessionGet, loci.GetSession{SessionID: s.ID})
		if h := d.History[0]; h.Action != loci.ActionCompiled || h.UserID != w.Bob.ID || h.MemoryID != out.Memory.ID {
			t.Errorf("the history says %+v", h)
		}
		// The list of a session's candidates needs no scope: the session is in reach.
		testenv.Len(t, MustCall(t, w, byBob, service.SessionCandidates,
			loci.ListCandidates{SessionID: s.ID}).Candidates, 1, "a manager sees", "candidates")
		MustCall(t, w, byCid, service.SessionFinalize, loci.FinalizeSession{SessionID: s.ID})
		start(t, w, byCid, loci.StartSession{AtlasID: s.AtlasID})
		for n, statuses := range [][]loci.SessionStatus{{loci.SessionCompleted},
			{loci.SessionCompleted, loci.SessionFinalized}, {loci.SessionActive, loci.SessionFinalized}} {
			testenv.Len(t, MustCall(t, w, byCid, service.SessionList,
				loci.ListSessions{AtlasID: s.AtlasID, Status: statuses}).Sessions, n, "a list has", "sessions")
		}
		testenv.Len(t, MustCall(t, w, byCid, service.SessionCandidates, loci.ListCandidates{SessionID: s.ID,
			Status: []loci.CandidateStatus{loci.CandidatePending, loci.CandidateCompiled}}).Candidates, 1,
			"there are", "candidates")
		MustFail(t, w, byCid, service.SessionList, loci.ListSessions{WorkspaceID: w.Team, Scope: loci.ScopeManaged},
			loci.CodeForbidden)
	})
}

func TestFinalizeDoesAllOrNothing(t *testing.T) {
	t.Parallel()
	plan := identity.DefaultPlans[loci.PlanFree]
	plan.Storage = 4000
	Each(t, Options{Plan: plan}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		s := start(t, w, byAnn, loci.StartSession{AtlasID: shelf})
		for i := range 5 {
			capture(t, w, byAnn, s.ID, strings.Repeat(string(rune('a'+i)), 900))
		}
		MustFail(t, w, byAnn, service.SessionFinalize, loci.FinalizeSession{SessionID: s.ID}, loci.CodeQuotaExceeded)
		d := MustCall(t, w, byAnn, service.SessionGet, loci.GetSession{SessionID: s.ID})
		list := MustCall(t, w, byAnn, service.MemoryList,
			loci.ListMemories{MemoryFilter: loci.MemoryFilter{AtlasID: shelf}})
		if d.Session.Counts.Pending != 5 || d.Session.Status != loci.SessionActive || len(list.Memories) != 0 {
			t.Errorf("%+v, %d memories", d.Session, len(list.Memories))
		}
	})
}

func TestSnapshotHoldsTaskSummaryCheckpointsAndMemories(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	s := start(t, w, byAnn, loci.StartSession{AtlasID: w.Atlas(t, "Shelf")})
	long := loci.Summary(strings.Repeat("x", 16<<10))
	for _, summary := range []loci.Summary{"One mast is up.", long, "All are up."} {
		MustCall(t, w, byAnn, service.SessionCheckpoint, loci.AddCheckpoint{SessionID: s.ID, Summary: summary})
	}
	for i := range 12 {
		capture(t, w, byAnn, s.ID, "Rope "+string(rune('a'+i))+" "+strings.Repeat("y", 30<<10))
	}
	out := MustCall(t, w, byAnn, service.SessionFinalize,
		loci.FinalizeSession{SessionID: s.ID, Summary: "Three masts."})
	text := out.Session.Snapshot
	for _, part := range []string{"# Count the ships\n\nThree masts.\n\n## Checkpoints\n\n### Checkpoint 1\n\n",
		"One mast is up.\n", "### Checkpoint 3\n\nAll are up.\n\n## Memories\n\n### Rope a", "more parts do not fit"} {
		testenv.Contains(t, text, part, "the snapshot lacks")
	}
	if len(text) > 257<<10 || len(out.Compiled) != 12 {
		t.Errorf("%d bytes, %d memories", len(text), len(out.Compiled))
	}
}

func TestSnapshotNamesMemoriesWhereTheFirstDoesNotFit(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	s := start(t, w, byAnn, loci.StartSession{AtlasID: w.Atlas(t, "Shelf")})
	for range 15 {
		MustCall(t, w, byAnn, service.SessionCheckpoint,
			loci.AddCheckpoint{SessionID: s.ID, Summary: loci.Summary(strings.Repeat("x", 16<<10))})
	}
	capture(t, w, byAnn, s.ID, strings.Repeat("y", 30<<10))
	capture(t, w, byAnn, s.ID, "The last mast is up.")
	text := MustCall(t, w, byAnn, service.SessionFinalize, loci.FinalizeSession{SessionID: s.ID}).Session.Snapshot
	if !strings.Contains(text, "\n## Memories\n\n### The last mast is up.") {
		t.Errorf("%.200s ... %s", text, text[len(text)-300:])
	}
}

func TestStartSessionKeepsKindsApart(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	in := loci.StartSession{AtlasID: w.Atlas(t, "Shelf"), Adapter: "claude", ExternalID: "one"}
	manual := start(t, w, byAnn, in)
	in.Kind = loci.SessionAutomatic
	if automatic := start(t, w, byAnn, in); automatic.ID == manual.ID || automatic.Kind != loci.SessionAutomatic {
		t.Errorf("an automatic start resumes the manual session: %+v", automatic)
	}
}

func TestEndOfSessionCompletesIt(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
		testenv.Equal(t, s.Title, s.Task, "before the first prompt its title is")
		get := func() loci.Session {
			t.Helper()
			return MustCall(t, w, byAnn, service.SessionGet, loci.GetSession{SessionID: s.ID}).Session
		}
		check := func(name string, want loci.SessionStatus) {
			t.Helper()
			if got := get(); got.Status != want || (got.EndedAt != 0) != (want != loci.SessionActive) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		send(t, w, s.ID, "1", loci.EventPrompt, "Why is\nthe buoy green? "+strings.Repeat("ü", 300))
		send(t, w, s.ID, "2", loci.EventPrompt, "Another question.")
		title := get().Title
		if len([]rune(title)) != 120 || !strings.HasPrefix(title, "Why is the buoy green? ü") {
			t.Errorf("the title is %q", title)
		}
		send(t, w, s.ID, "3", loci.EventSessionEnd, "")
		check("its end", loci.SessionCompleted)
		send(t, w, s.ID, "4", loci.EventSessionEnd, "")
		send(t, w, s.ID, "1", loci.EventPrompt, "Why is the buoy green?") // repeated
		check("a second end", loci.SessionCompleted)
		send(t, w, s.ID, "5", loci.EventNote, "It goes on.")
		check("a later event", loci.SessionActive)

		unit := MustCall(t, w, byAnn, service.UnitOpen, loci.OpenUnit{SessionID: s.ID, Key: "k"}).Unit.ID
		finalize := func() {
			t.Helper()
			MustCall(t, w, byAnn, service.UnitOpen, loci.OpenUnit{SessionID: s.ID, Key: "k", FollowUp: true})
			MustCall(t, w, byAnn, service.UnitFinalize,
				loci.FinalizeUnit{SessionID: s.ID, UnitID: unit, Content: "It is painted."})
		}
		send(t, w, s.ID, "6", loci.EventSessionEnd, "")
		check("an end with an open unit", loci.SessionActive)
		send(t, w, s.ID, "7", loci.EventNote, "Not yet.")
		finalize()
		check("a unit after a later event", loci.SessionActive)
		MustCall(t, w, byAnn, service.UnitOpen, loci.OpenUnit{SessionID: s.ID, Key: "k", FollowUp: true})
		send(t, w, s.ID, "8", loci.EventSessionEnd, "")
		finalize()
		check("its last unit", loci.SessionCompleted)
		storetest.CheckHealthy(t, w.Store)
	})
}
