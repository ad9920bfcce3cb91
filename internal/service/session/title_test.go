package session_test

import (
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestTitleOfUnitAndCandidateIsDerivedOrGiven(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		session := automaticOfCid(t, w, w.Atlas(t, "Airships"))
		cid := CallerMember
		check := func(name string, id loci.ID, title string, derived bool) {
			t.Helper()
			if m := w.Get(t, id); m.Title != title || m.TitleDerived != derived {
				t.Errorf("%s: title %q, derived: %t; want %q, %t", name, m.Title, m.TitleDerived, title, derived)
			}
		}
		unit := MustCall(t, w, cid, service.UnitOpen, loci.OpenUnit{SessionID: session, Key: "k"}).Unit
		finalize := func(content loci.Content, title loci.Title) loci.ID {
			MustCall(t, w, cid, service.UnitOpen, loci.OpenUnit{SessionID: session, Key: "k", FollowUp: true})
			return MustCall(t, w, cid, service.UnitFinalize,
				loci.FinalizeUnit{SessionID: session, UnitID: unit.ID, Content: content, Title: title}).Unit.MemoryID
		}
		check("unit", finalize("# One\ntext", ""), "One", true)
		check("unit, again", finalize("# Two\ntext", ""), "Two", true)
		check("unit with a title", finalize("# Three\ntext", "Mine"), "Mine", false)
		m := finalize("# Four\ntext", "")
		check("unit without it", m, "Mine", false)
		MustCall(t, w, cid, service.MemoryVerify, loci.VerifyMemory{MemoryID: m, Confidence: new(loci.Confidence)})
		finalize("# Five\ntext", "")
		if w.Get(t, m).Reviewed() {
			t.Error("a review outlives the text of a unit")
		}
		unit = MustCall(t, w, cid, service.UnitOpen, loci.OpenUnit{SessionID: session, Key: "race",
			Title: "Fix the login race"}).Unit
		for _, content := range []loci.Content{"# Six\ntext", "# Seven\ntext"} {
			MustCall(t, w, cid, service.UnitOpen, loci.OpenUnit{SessionID: session, Key: "race", FollowUp: true})
			check("unit that has one", finalize(content, ""), "Fix the login race", false)
		}

		for _, title := range []loci.Title{"", "It floats"} { // a given title may be the one that is derived
			c := MustCall(t, w, cid, service.SessionCapture, loci.CaptureCandidate{SessionID: session,
				Content: loci.CandidateContent("# It floats\nby " + title), Title: title}).Candidate
			m := MustCall(t, w, cid, service.SessionModerate,
				loci.ModerateCandidate{SessionID: session, CandidateID: c.ID, Action: loci.ModerationCompile}).Memory
			check("candidate", m.ID, "It floats", title == "")
		}
		storetest.CheckHealthy(t, w.Store)
	})
}
