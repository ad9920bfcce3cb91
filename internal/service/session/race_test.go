package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// raceRounds is how often a race is run: each round meets other moments.
const raceRounds = 8

// automaticOfCid starts an automatic session of cid, a member, in an atlas.
func automaticOfCid(t *testing.T, w *World, atlas loci.ID) loci.ID {
	t.Helper()
	return MustCall(t, w, CallerMember, service.SessionStart, loci.StartSession{Task: "Mend the rope",
		Kind: loci.SessionAutomatic, Adapter: "claude", AtlasID: atlas}).Session.ID
}

// enableAutomatic sets the policy of cid in the team workspace.
func enableAutomatic(t *testing.T, w *World, mode loci.PolicyMode) {
	t.Helper()
	MustCall(t, w, CallerMember, service.AutoSet, loci.SetPolicy{WorkspaceID: w.Team, Enabled: true, Mode: mode})
}

func captureOfCid(t *testing.T, w *World, session loci.ID, content string) loci.ID {
	t.Helper()
	return MustCall(t, w, CallerMember, service.SessionCapture,
		loci.CaptureCandidate{SessionID: session, Content: loci.CandidateContent(content)}).Candidate.ID
}

func detailOf(t *testing.T, w *World, session loci.ID) loci.SessionDetail {
	t.Helper()
	return MustCall(t, w, CallerMember, service.SessionGet, loci.GetSession{SessionID: session})
}

// newUnit opens a unit and stores its result.
func newUnit(t *testing.T, w *World, session loci.ID, key, content string) loci.Unit {
	t.Helper()
	u := MustCall(t, w, CallerMember, service.UnitOpen,
		loci.OpenUnit{SessionID: session, Key: loci.ExternalID(key)}).Unit
	return MustCall(t, w, CallerMember, service.UnitFinalize,
		loci.FinalizeUnit{SessionID: session, UnitID: u.ID, Content: loci.Content(content)}).Unit
}

// expectOnly fails on an error of another code.
func expectOnly(t *testing.T, what string, err error, codes ...loci.Code) {
	t.Helper()
	if err != nil && !slices.ContainsFunc(codes, func(c loci.Code) bool { return loci.Is(err, c) }) {
		t.Errorf("%s: %v", what, err)
	}
}

// checkSessionRows compares the counters of all sessions with their rows, and checks the links to memories.
func checkSessionRows(t testing.TB, d storetest.Database) {
	t.Helper()
	for _, q := range []string{
		`SELECT s.id FROM sessions s
			WHERE s.candidates <> (SELECT count(*) FROM candidates c WHERE c.session = s.row_id)
			OR s.pending <> (SELECT count(*) FROM candidates c WHERE c.session = s.row_id AND c.status = 'pending')
			OR s.checkpoints <> (SELECT count(*) FROM checkpoints c WHERE c.session = s.row_id)
			OR s.checkpoints <> (SELECT COALESCE(max(c.number), 0) FROM checkpoints c WHERE c.session = s.row_id)
			OR s.units <> (SELECT count(*) FROM units u WHERE u.session = s.row_id)
			OR s.events <> (SELECT count(*) FROM session_events v WHERE v.session = s.row_id)
			OR s.audits <> (SELECT count(*) FROM redaction_audits r WHERE r.session = s.row_id)
			OR s.compilations <> (SELECT count(*) FROM compilations k WHERE k.session = s.row_id)
			OR s.steps <> (SELECT COALESCE(max(h.step), 0) FROM session_history h WHERE h.session = s.row_id)`,
		`SELECT c.id FROM candidates c LEFT JOIN memories e ON e.row_id = c.memory
			WHERE c.memory IS NOT NULL AND (e.row_id IS NULL OR e.atlas <> c.atlas)`,
		`SELECT u.id FROM units u LEFT JOIN memories e ON e.row_id = u.memory
			WHERE u.memory IS NOT NULL AND e.row_id IS NULL`,
		`SELECT min(e.id) FROM candidates c JOIN memories e ON e.row_id = c.memory WHERE c.status = 'compiled'
			GROUP BY e.row_id HAVING count(*) > 1`,
		`SELECT min(e.id) FROM units u JOIN memories e ON e.row_id = u.memory GROUP BY e.row_id HAVING count(*) > 1`,
	} {
		if wrong := d.Query(t, q); len(wrong) > 0 {
			t.Fatalf("%s have wrong counts or links by %s", wrong, q)
		}
	}
}

// eachRace runs a race several times on every engine, and checks the rows in the end.
func eachRace(t *testing.T, f func(t *testing.T, w *World, d storetest.Database, round int)) {
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		for round := range raceRounds {
			if f(t, w, d, round); t.Failed() {
				return
			}
		}
		checkSessionRows(t, d)
		w.Erase(t)
		checkSessionRows(t, d)
		storetest.CheckHealthy(t, w.Store)
	})
}

func TestStartsWithOneExternalIDMakeOneSession(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, d storetest.Database, round int) {
		atlases := []loci.ID{w.Atlas(t, "Bow"), w.Atlas(t, "Stern")}
		var made [12]loci.StartedSession
		errs := storetest.RunConcurrently(12, func(i int) (err error) {
			made[i], err = w.Service.StartSession(t.Context(), w.Cid.Actor(), loci.StartSession{Task: "Mend the rope",
				Kind: loci.SessionAutomatic, Adapter: "codex", AtlasID: atlases[i%2],
				ExternalID: loci.ExternalID(fmt.Sprint("run ", round))})
			return err
		})
		created := 0
		for i, x := range made {
			if errs[i] != nil || x.Session.ID != made[0].Session.ID {
				t.Errorf("start %d: %s, %v", i, x.Session.ID, errs[i])
			}
			if x.Created() {
				created++
			}
		}
		if n := d.Count(t, fmt.Sprintf(`sessions WHERE external_id = 'run %d'`, round)); created != 1 || n != "1" {
			t.Errorf("%d starts say that they created the session, %s rows", created, n)
		}
	})
}

func TestCompilesAtOnceMakeOneMemory(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, d storetest.Database, round int) {
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		c := captureOfCid(t, w, session, fmt.Sprint("the anchor of round ", round))
		callers := []Caller{CallerMember, CallerAdmin, CallerOwner}
		SucceedAtOnce(t, 8, 1, loci.CodeStateConflict, func(i int) error {
			return Try(t, w, callers[i%3], service.SessionModerate,
				loci.ModerateCandidate{SessionID: session, CandidateID: c, Action: loci.ModerationCompile})
		})
		testenv.Equal(t, d.Count(t, fmt.Sprintf(`memories WHERE session_id = '%s'`, session)), "1", "memories")
	})
}

func TestFinalizeBesideCapturesCompilesEachOnce(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, d storetest.Database, round int) {
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		captured := 0
		for n := range round % 4 {
			captureOfCid(t, w, session, fmt.Sprintf("the sail %d of round %d", n, round))
			captured++
		}
		var ends [2]loci.FinalizedSession
		errs := storetest.RunConcurrently(8, func(i int) (err error) {
			if i < 2 {
				ends[i], err = op.Do(t.Context(), w.Host, w.Call(CallerMember), service.SessionFinalize,
					loci.FinalizeSession{SessionID: session})
				return err
			}
			return Try(t, w, CallerMember, service.SessionCapture, loci.CaptureCandidate{SessionID: session,
				Content: loci.CandidateContent(fmt.Sprintf("the oar %d of round %d", i, round))})
		})
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("two finalize at once: %v, %v", errs[0], errs[1])
		}
		for i, err := range errs {
			if expectOnly(t, "a call", err, loci.CodeStateConflict); err == nil && i >= 2 {
				captured++
			}
		}
		compiled := len(ends[0].Compiled) + len(ends[1].Compiled)
		got := detailOf(t, w, session).Session
		if n := d.Count(t, fmt.Sprintf(`memories WHERE session_id = '%s'`, session)); compiled != captured ||
			n != fmt.Sprint(captured) || got.Counts.Pending != 0 || got.Status != loci.SessionFinalized {
			t.Errorf("%d captured, %d compiled, %s memories, %+v", captured, compiled, n, got.Counts)
		}
	})
}

func TestCompleteBesideReopenAlternates(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, _ int) {
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		errs := storetest.RunConcurrently(8, func(i int) error {
			if i%2 == 0 {
				return Try(t, w, CallerMember, service.SessionComplete, loci.CompleteSession{SessionID: session})
			}
			return Try(t, w, CallerMember, service.SessionReopen, loci.ReopenSession{SessionID: session})
		})
		ended := 0
		for i, err := range errs {
			if expectOnly(t, "a call", err, loci.CodeStateConflict); err == nil {
				ended += 1 - 2*(i%2)
			}
		}
		got := detailOf(t, w, session).Session
		want := map[int]loci.SessionStatus{0: loci.SessionActive, 1: loci.SessionCompleted}[ended]
		if got.Status != want || (got.EndedAt == 0) != (ended == 0) {
			t.Errorf("%s since %v, want %q", got.Status, got.EndedAt, want)
		}
	})
}

// deleteMemory deletes a memory as the owner.
func deleteMemory(t *testing.T, w *World, id loci.ID) error {
	return Try(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id})
}

// TestUnitBesideDeletionOfItsMemoryIsStored finalizes units again, and sends events into them, while their memories are
// deleted: neither is refused.
func TestUnitBesideDeletionOfItsMemoryIsStored(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, round int) {
		enableAutomatic(t, w, loci.ModeUnits)
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		var units []loci.Unit
		for n := range 6 {
			units = append(units, newUnit(t, w, session, fmt.Sprint("unit ", n),
				fmt.Sprintf("mast %d, round %d", n, round)))
		}
		errs := storetest.RunConcurrently(12, func(i int) error {
			u := units[i/2]
			switch {
			case i%2 == 0:
				return deleteMemory(t, w, u.MemoryID)
			case i%4 == 1:
				return Try(t, w, CallerMember, service.UnitFinalize, loci.FinalizeUnit{SessionID: session,
					UnitID: u.ID, Content: loci.Content(fmt.Sprintf("the new mast %d, round %d", i/2, round))})
			}
			return Try(t, w, CallerMember, service.SessionEvent, loci.SendEvent{SessionID: session, Adapter: "claude",
				EventID: loci.ExternalID(fmt.Sprint(i)), Type: loci.EventPrompt, UnitKey: loci.ExternalID(u.Key),
				Content: loci.EventContent(fmt.Sprintf("We decided: mast %d of round %d is made of larch.", i/2,
					round))})
		})
		for i, err := range errs {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		for _, u := range detailOf(t, w, session).Units {
			if u.MemoryID != "" {
				w.Get(t, u.MemoryID)
			}
		}
	})
}

// TestReversalBesideDeletionOfMemory reverts candidates and a session while their memories are deleted.
func TestReversalBesideDeletionOfMemory(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, round int) {
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		var memories, candidates []loci.ID
		for n := range 4 {
			c := captureOfCid(t, w, session, fmt.Sprintf("keel %d, round %d", n, round))
			m := MustCall(t, w, CallerAdmin, service.SessionModerate, loci.ModerateCandidate{
				SessionID: session, CandidateID: c, Action: loci.ModerationCompile}).Memory
			memories, candidates = append(memories, m.ID), append(candidates, c)
		}
		last := newUnit(t, w, session, "unit", "the last of all")
		errs := storetest.RunConcurrently(10, func(i int) error {
			switch {
			case i < 4:
				return deleteMemory(t, w, memories[i])
			case i < 8:
				return Try(t, w, CallerAdmin, service.SessionModerate, loci.ModerateCandidate{
					SessionID: session, CandidateID: candidates[i-4], Action: loci.ModerationRevert})
			case i == 8:
				return deleteMemory(t, w, last.MemoryID)
			}
			err := Try(t, w, CallerAdmin, service.SessionRevert, loci.RevertSession{SessionID: session})
			if loci.Is(err, loci.CodeStateConflict) { // it was deleted before
				return nil
			}
			return err
		})
		testenv.NoError(t, errors.Join(errs...))
		d := detailOf(t, w, session)
		if d.Session.MemoryID != "" || slices.ContainsFunc(d.Candidates, func(c loci.Candidate) bool {
			return c.MemoryID != "" || c.Status != loci.CandidateReverted
		}) {
			t.Errorf("%+v, %+v", d.Session, d.Candidates)
		}
	})
}

// TestFinalizeBesideDeletionOfKnownMemory finalizes a session whose candidates are known, while the known memories are
// deleted.
func TestFinalizeBesideDeletionOfKnownMemory(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, round int) {
		atlas := w.Atlas(t, "Bow")
		session := automaticOfCid(t, w, atlas)
		var known []loci.ID
		for n := range 6 {
			text := fmt.Sprintf("winch %d, round %d", n, round)
			known = append(known, w.Memory(t, atlas, text))
			captureOfCid(t, w, session, text)
		}
		var end loci.FinalizedSession
		errs := storetest.RunConcurrently(len(known)+1, func(i int) (err error) {
			if i > 0 {
				return deleteMemory(t, w, known[i-1])
			}
			end, err = op.Do(t.Context(), w.Host, w.Call(CallerMember), service.SessionFinalize,
				loci.FinalizeSession{SessionID: session})
			return err
		})
		if err := errors.Join(errs...); err != nil || len(end.Compiled)+len(end.Skipped) != len(known) {
			t.Errorf("%+v, %v", end, err)
		}
	})
}

// TestCompilationBesideDeletionOfMemory records compilations while their memories are deleted.
func TestCompilationBesideDeletionOfMemory(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, round int) {
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		var units []loci.Unit
		for n := range 4 {
			units = append(units, newUnit(t, w, session, fmt.Sprint(n), fmt.Sprintf("hull %d, round %d", n, round)))
		}
		for i, err := range storetest.RunConcurrently(8, func(i int) error {
			if i%2 == 0 {
				return deleteMemory(t, w, units[i/2].MemoryID)
			}
			err := Try(t, w, CallerMember, service.SessionCompile, loci.RecordCompilation{
				SessionID: session, UnitKey: "u", Compiler: "bridge", Outcome: loci.CompilationUpdated,
				MemoryID: units[i/2].MemoryID})
			if loci.Is(err, loci.CodeNotFound) { // it was deleted before
				return nil
			}
			return err
		}) {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

// TestReversalBesideUnitsFindsMemory reverts a session while its units are stored: whichever is the last then, it has
// an active memory.
func TestReversalBesideUnitsFindsMemory(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, round int) {
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		newUnit(t, w, session, "first", "the first of all")
		var units []loci.Unit
		for n := range 4 {
			units = append(units, MustCall(t, w, CallerMember, service.UnitOpen,
				loci.OpenUnit{SessionID: session, Key: loci.ExternalID(fmt.Sprint(n))}).Unit)
		}
		errs := storetest.RunConcurrently(5, func(i int) error {
			if i == 4 {
				out, err := op.Do(t.Context(), w.Host, w.Call(CallerAdmin), service.SessionRevert,
					loci.RevertSession{SessionID: session})
				if err == nil && out.Session.MemoryID == "" {
					err = errors.New("the session shows no memory")
				}
				return err
			}
			return Try(t, w, CallerMember, service.UnitFinalize, loci.FinalizeUnit{SessionID: session,
				UnitID: units[i].ID, Content: loci.Content(fmt.Sprintf("unit %d, round %d", i, round))})
		})
		testenv.NoError(t, errors.Join(errs...))
	})
}

// TestSessionBesideDeletionOfAtlas calls everything that writes while the atlas is deleted.
func TestSessionBesideDeletionOfAtlas(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, _ storetest.Database, round int) {
		enableAutomatic(t, w, loci.PolicyMode([]loci.PolicyMode{loci.ModeUnits, loci.ModeCandidates}[round%2]))
		atlas := w.Atlas(t, "Bow")
		session, other := automaticOfCid(t, w, atlas), automaticOfCid(t, w, atlas)
		captureOfCid(t, w, session, "a pending one")
		u := newUnit(t, w, other, "unit", "what was done")
		errs := storetest.RunConcurrently(6, func(i int) error {
			for n := 0; ; n++ {
				err := error(nil)
				switch {
				case i == 0:
					return Try(t, w, CallerAdmin, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas})
				case i == 1 && n == 0:
					err = Try(t, w, CallerMember, service.SessionFinalize,
						loci.FinalizeSession{SessionID: session})
				case i == 2:
					err = Try(t, w, CallerMember, service.UnitFinalize,
						loci.FinalizeUnit{SessionID: other, UnitID: u.ID,
							Content: loci.Content(fmt.Sprint("done ", n))})
				case i == 3:
					err = Try(t, w, CallerMember, service.SessionStart,
						loci.StartSession{Task: "Mend", AtlasID: atlas, ExternalID: "again"})
				case i == 4:
					err = sendDecision(t, w, other, fmt.Sprint(n), fmt.Sprintf("We decided: buoy %d is red.", n))
				case i == 5:
					err = Try(t, w, CallerMember, service.SessionBulk, loci.BulkSessions{
						Action:     []loci.BulkAction{loci.BulkArchive, loci.BulkRestore}[n%2],
						SessionIDs: loci.BulkIDs{session, other}})
				}
				if err != nil && !loci.Is(err, loci.CodeStateConflict) || n == 6 {
					return err
				}
			}
		})
		for i, err := range errs {
			expectOnly(t, fmt.Sprint("call ", i), err, loci.CodeNotFound, loci.CodeStateConflict)
		}
		MustFail(t, w, CallerMember, service.SessionGet, loci.GetSession{SessionID: session}, loci.CodeNotFound)
	})
}

// sendDecision sends a prompt of cid.
func sendDecision(t *testing.T, w *World, session loci.ID, event, text string) error {
	return Try(t, w, CallerMember, service.SessionEvent, loci.SendEvent{SessionID: session, Adapter: "claude",
		EventID: loci.ExternalID(event), Type: loci.EventPrompt, Content: loci.EventContent(text)})
}

// TestEventsBesideRemovalOfMember removes a member while its events arrive. From then on its session is not found, and
// its policy is gone.
func TestEventsBesideRemovalOfMember(t *testing.T) {
	t.Parallel()
	eachRace(t, func(t *testing.T, w *World, d storetest.Database, round int) {
		enableAutomatic(t, w, loci.ModeCandidates)
		session := automaticOfCid(t, w, w.Atlas(t, "Bow"))
		errs := storetest.RunConcurrently(5, func(i int) (err error) {
			if i == 0 {
				return Try(t, w, CallerOwner, service.MemberRemove,
					loci.RemoveMember{WorkspaceID: w.Team, UserID: w.Cid.ID, Confirm: true})
			}
			for n := 0; n < 8 && err == nil; n++ {
				err = sendDecision(t, w, session, fmt.Sprint(i, ".", n),
					fmt.Sprintf("We decided: lamp %d of round %d is green from now on.", 100*i+n, round))
			}
			return err
		})
		for i, err := range errs {
			expectOnly(t, fmt.Sprint("call ", i), err, loci.CodeNotFound)
		}
		MustFail(t, w, CallerMember, service.SessionGet, loci.GetSession{SessionID: session}, loci.CodeNotFound)
		testenv.Equal(t, d.Count(t, fmt.Sprintf(`policies WHERE user_id = '%s'`, w.Cid.ID)), "0", "policies are left")
		w.Join(t, w.Team, w.Ann, w.Cid, loci.RoleMember)
		got := detailOf(t, w, session).Session.Counts
		testenv.Equal(t, got.Candidates, got.Events)
	})
}
