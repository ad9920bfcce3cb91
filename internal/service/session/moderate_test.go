package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func moderate(t *testing.T, w *World, by Caller, c loci.Candidate, action loci.ModerationAction,
	supersede *loci.OptionalID) loci.ModeratedCandidate {
	t.Helper()
	return MustCall(t, w, by, service.SessionModerate, loci.ModerateCandidate{SessionID: c.SessionID, CandidateID: c.ID,
		Action: action, Supersede: supersede})
}

func TestEditChangesPendingCandidate(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		known := w.Memory(t, shelf, "the buoy at the northern pier of the old harbour is painted green this year")
		s := start(t, w, byCid, loci.StartSession{AtlasID: shelf})
		c := capture(t, w, byCid, s.ID, "# Ropes\nare long")
		edit := func(by Caller, in loci.EditCandidate) loci.Candidate {
			t.Helper()
			in.SessionID, in.CandidateID = s.ID, c.ID
			return MustCall(t, w, by, service.SessionEdit, in).Candidate
		}
		content := loci.CandidateContent("the buoy at the northern pier of the old harbour is painted red this year")
		got := edit(byCid, loci.EditCandidate{Content: &content})
		if got.Content != string(content) || got.Title != string(content) || len(got.Similar) != 1 ||
			got.Similar[0].MemoryID != known {
			t.Errorf("title and similar memories follow the content: %+v", got)
		}
		given, none := loci.OptionalTitle("Buoy"), loci.OptionalTitle("")
		got = edit(byBob, loci.EditCandidate{Title: &given, Type: loci.TypeFact, Tags: &loci.Tags{"a", "a"}})
		testenv.Equal(t, got.Title+" "+string(got.Type)+" "+strings.Join(got.Tags, ","), "Buoy fact a", "it is")
		shorter := loci.CandidateContent("the buoy is red")
		testenv.Equal(t, edit(byCid, loci.EditCandidate{Content: &shorter}).Title, "Buoy", "a given title stays:")
		testenv.Equal(t, edit(byCid, loci.EditCandidate{Title: &none}).Title, "the buoy is red", "without one it is")
		m := moderate(t, w, byBob, c, loci.ModerationCompile, nil).Memory
		if m.Content != "the buoy is red" || m.Type != loci.TypeFact || !m.TitleDerived || m.CreatedBy != s.UserID {
			t.Errorf("its memory is %+v", m)
		}
		for _, action := range []loci.ModerationAction{"", loci.ModerationRevert} { // compiled, and then reverted
			if action != "" {
				moderate(t, w, byCid, c, action, nil)
			}
			MustFail(t, w, byCid, service.SessionEdit, loci.EditCandidate{SessionID: s.ID, CandidateID: c.ID,
				Type: loci.TypeFact}, loci.CodeStateConflict)
		}
		storetest.CheckHealthy(t, w.Store)
	})
}

func TestRevertedCandidateIsCompiledAgain(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		s := start(t, w, byCid, loci.StartSession{AtlasID: shelf})
		c := capture(t, w, byCid, s.ID, "the buoy is green")
		first := moderate(t, w, byCid, c, loci.ModerationCompile, nil).Memory.ID
		MustCall(t, w, byBob, service.SessionReview, loci.ModerateCandidates{Action: loci.ModerationRevert,
			CandidateIDs: loci.BulkIDs{c.ID}})
		testenv.Equal(t, w.Get(t, first).Status, loci.MemoryArchived, "reverted, its memory is")
		again := moderate(t, w, byBob, c, loci.ModerationCompile, nil)
		if again.Memory.ID != first || again.Memory.Status != loci.MemoryActive ||
			again.Candidate.Status != loci.CandidateCompiled {
			t.Errorf("compiled again: %+v", again)
		}
		moderate(t, w, byCid, c, loci.ModerationRevert, nil)
		MustCall(t, w, byCid, service.MemoryDelete, loci.DeleteMemory{MemoryID: first})
		made := moderate(t, w, byCid, c, loci.ModerationCompile, nil)
		if made.Memory.ID == first || made.Candidate.MemoryID != made.Memory.ID || made.Memory.CreatedBy != s.UserID {
			t.Errorf("after its memory was deleted: %+v", made)
		}
		moderate(t, w, byCid, c, loci.ModerationRevert, nil) // somebody restores it before
		MustCall(t, w, byCid, service.MemoryRestore, loci.RestoreMemory{MemoryID: made.Memory.ID})
		testenv.Equal(t, moderate(t, w, byCid, c, loci.ModerationCompile, nil).Memory.Version, 3, "its version is")
		storetest.CheckHealthy(t, w.Store)
	})
}

// A revert brings back what the compilation replaced, and another compilation replaces it again.
func TestCompiledCandidateReplacesMemory(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		old := MustCall(t, w, byCid, service.MemoryCreate,
			loci.CreateMemory{AtlasID: shelf, Content: "The port is 8080."}).Memory.ID
		s := start(t, w, byCid, loci.StartSession{AtlasID: shelf})
		c := capture(t, w, byCid, s.ID, "The port is 8443.")
		check := func(name string, memory loci.ID, replaced bool) {
			t.Helper()
			m, was := w.Get(t, memory), w.Get(t, old)
			if replaced != (was.SupersededBy == memory) || replaced != slices.Contains(m.Supersedes, old) ||
				replaced != (was.Status == loci.MemorySuperseded) {
				t.Errorf("%s: %+v replaces %+v", name, m, was)
			}
		}
		none, id := loci.OptionalID(""), loci.OptionalID(old)
		first := moderate(t, w, byCid, c, loci.ModerationCompile, &id)
		if first.Candidate.Replaces != old || !slices.Equal(first.Memory.Supersedes, []loci.ID{old}) {
			t.Errorf("the answer is %+v", first)
		}
		memory := first.Memory.ID
		check("compiled", memory, true)
		moderate(t, w, byBob, c, loci.ModerationRevert, nil)
		check("reverted", memory, false)
		testenv.Equal(t, w.Get(t, old).Status, loci.MemoryActive, "reverted, the old one is")
		testenv.Equal(t, w.Get(t, memory).Status, loci.MemoryArchived, "reverted, the new one is")
		moderate(t, w, byCid, c, loci.ModerationCompile, nil)
		check("compiled again", memory, true)
		moderate(t, w, byCid, c, loci.ModerationRevert, nil)
		moderate(t, w, byCid, c, loci.ModerationCompile, &none)
		check("compiled with null", memory, false)
		var steps []string
		detail := MustCall(t, w, byCid, service.SessionGet, loci.GetSession{SessionID: s.ID})
		for _, h := range slices.Backward(detail.History) {
			if h.MemoryID == old {
				steps = append(steps, string(h.Action))
			}
		}
		testenv.Equal(t, strings.Join(steps, " "), "superseded restored superseded restored", "the history has")

		moderate(t, w, byCid, c, loci.ModerationRevert, nil)
		moderate(t, w, byCid, c, loci.ModerationCompile, &id)
		moderate(t, w, byCid, c, loci.ModerationRevert, nil)
		MustCall(t, w, byCid, service.MemoryArchive, loci.ArchiveMemory{MemoryID: old})
		testenv.Equal(t, moderate(t, w, byCid, c, loci.ModerationCompile, nil).Memory.Status, loci.MemoryActive,
			"with an archived old one it is")
		MustCall(t, w, byCid, service.MemoryDelete, loci.DeleteMemory{MemoryID: old})
		got := MustCall(t, w, byCid, service.SessionCandidates, loci.ListCandidates{SessionID: s.ID}).Candidates[0]
		testenv.Equal(t, got.Replaces, "", "once the old one is deleted, it replaces")
		storetest.CheckHealthy(t, w.Store)
	})
}

func TestCompileRefusesWhatItCannotReplace(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	shelf := w.Atlas(t, "Shelf")
	mine := func(atlas loci.ID) loci.ID {
		return MustCall(t, w, byCid, service.MemoryCreate, loci.CreateMemory{AtlasID: atlas, Content: "old"}).Memory.ID
	}
	archived := mine(shelf)
	MustCall(t, w, byCid, service.MemoryArchive, loci.ArchiveMemory{MemoryID: archived})
	c := capture(t, w, byCid, start(t, w, byCid, loci.StartSession{AtlasID: shelf}).ID, "new")
	for name, x := range map[string]struct {
		id     loci.ID
		action loci.ModerationAction
		code   loci.Code
	}{
		"unknown":              {"0", loci.ModerationCompile, loci.CodeNotFound},
		"archived":             {archived, loci.ModerationCompile, loci.CodeStateConflict},
		"another's":            {w.Memory(t, shelf, "of ann"), loci.ModerationCompile, loci.CodeForbidden},
		"another atlas":        {mine(w.Atlas(t, "Other")), loci.ModerationCompile, loci.CodeInvalidQuery},
		"another action":       {mine(shelf), loci.ModerationDismiss, loci.CodeInvalidQuery},
		"another's, elsewhere": {w.Memory(t, w.Atlas(t, "Third"), "x"), loci.ModerationCompile, loci.CodeInvalidQuery},
		"null, dismissed":      {"", loci.ModerationDismiss, loci.CodeInvalidQuery},
	} {
		id := loci.OptionalID(x.id)
		MustFail(t, w, byCid, service.SessionModerate, loci.ModerateCandidate{SessionID: c.SessionID, CandidateID: c.ID,
			Action: x.action, Supersede: &id}, x.code)
		got := MustCall(t, w, byCid, service.SessionCandidates, loci.ListCandidates{SessionID: c.SessionID}).Candidates
		testenv.Equal(t, got[0].Status, loci.CandidatePending, name+": it is")
	}
	id := loci.OptionalID(archived)
	moderate(t, w, byCid, c, loci.ModerationCompile, nil)
	moderate(t, w, byCid, c, loci.ModerationRevert, nil)
	own := MustCall(t, w, byCid, service.SessionCandidates, loci.ListCandidates{SessionID: c.SessionID}).Candidates[0]
	id = loci.OptionalID(own.MemoryID)
	MustFail(t, w, byCid, service.SessionModerate, loci.ModerateCandidate{SessionID: c.SessionID, CandidateID: c.ID,
		Action: loci.ModerationCompile, Supersede: &id}, loci.CodeInvalidQuery)
}

func TestReviewDoesWhatCanBeDone(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		mine, anns := start(t, w, byCid, loci.StartSession{AtlasID: shelf}).ID,
			start(t, w, byAnn, loci.StartSession{AtlasID: shelf}).ID
		one, two := capture(t, w, byCid, mine, "one").ID, capture(t, w, byCid, mine, "two").ID
		three := capture(t, w, byAnn, anns, "three").ID
		review := func(by Caller, action loci.ModerationAction, ids ...loci.ID) []loci.ModerationResult {
			t.Helper()
			return MustCall(t, w, by, service.SessionReview,
				loci.ModerateCandidates{Action: action, CandidateIDs: ids}).Results
		}
		for i, r := range review(byCid, loci.ModerationDismiss, two, "no id", three, one, two) {
			want := loci.BulkResult{ID: []loci.ID{two, "no id", three, one, two}[i], OK: i == 0 || i == 3,
				Code: []loci.Code{"", loci.CodeNotFound, loci.CodeNotFound, "", loci.CodeStateConflict}[i]}
			testenv.Equal(t, r.BulkResult, want, "the result is")
		}
		review(byBob, loci.ModerationRevert, one, two)
		list := review(byBob, loci.ModerationCompile, three, two, one) // a manager
		for i, id := range []loci.ID{three, two, one} {
			if r := list[i]; r.ID != id || !r.OK || w.Get(t, r.MemoryID).SessionID == "" {
				t.Errorf("%+v", r)
			}
		}
		storetest.CheckHealthy(t, w.Store)
	})
}

// A memory that has been superseded cannot be archived: the review of its candidate changes nothing, and the session
// can be changed further.
func TestRefusedReviewChangesNothing(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		old := loci.OptionalID(w.Memory(t, shelf, "the buoy is red"))
		s := start(t, w, byCid, loci.StartSession{AtlasID: shelf})
		c := capture(t, w, byCid, s.ID, "the buoy is green")
		made := moderate(t, w, byBob, c, loci.ModerationCompile, &old).Memory.ID
		newest := w.Memory(t, shelf, "the buoy is blue")
		MustCall(t, w, byAnn, service.MemorySupersede,
			loci.SupersedeMemory{MemoryID: made, ReplacementMemoryID: newest})
		got := MustCall(t, w, byBob, service.SessionReview, loci.ModerateCandidates{Action: loci.ModerationRevert,
			CandidateIDs: loci.BulkIDs{c.ID}}).Results[0]
		testenv.Equal(t, got.BulkResult, loci.BulkResult{ID: c.ID, Code: loci.CodeStateConflict}, "the result is")
		if m := w.Get(t, loci.ID(old)); m.Status != loci.MemorySuperseded || m.SupersededBy != made {
			t.Errorf("the first memory is %s by %s", m.Status, m.SupersededBy)
		}
		capture(t, w, byCid, s.ID, "another")
		storetest.CheckHealthy(t, w.Store)
	})
}
