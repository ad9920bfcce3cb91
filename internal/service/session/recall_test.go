package session_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// recalled are statements of a user, and answers of agents that repeat them under a mark.
var recalled = []struct {
	statement string
	answers   []string
}{
	{"We decided: staging runs on basalt from now on.", []string{
		"Remember: as noted before, staging runs on basalt.",
		"We decided that staging runs on basalt, so I deployed there.\nDecision: staging runs on basalt.",
		"From now on **staging** runs on `basalt`, as you decided earlier.",
		"Here is what I know:\n\n- Decided: we run staging on basalt.\n- Nothing else is open.",
		"Decision: we agreed that basalt is where staging runs. The deployment is done.",
		"We've settled on basalt: staging is hosted on basalt.\nFrom now on staging stays on _basalt_.",
		"1. **Decision:** we keep staging on basalt.\n2. The tests pass.",
	}},
	{"The staging database listens on port 5433 and keeps three backups.", []string{
		"Remember: the staging database listens on port 5433.",
		"Remember: as noted, the database of staging listens on **port 5433**, with 3 backups kept.",
		"- **Remember:** the staging database listens on port `5433` and keeps 3 backups.\n- I changed nothing.",
		"Port 5433 is where it listens on.\nRemember: the staging database listens on port 5433, as before.",
		"Decision: we agreed that the staging database keeps three backups.",
		"Per the notes the staging databases listen on port 5433. Decided: the staging database keeps 3 backups.",
		"## Remember\n\nThe database for staging runs on port 5433 and three backups are kept.",
	}},
	{"I prefer table-driven tests over one function per case.", []string{
		"Remember: always table-driven tests over one function per case, as you prefer.",
		"Decision: we agreed that tests are table-driven.",
		"Decision: *table-driven tests* over one function per case.",
		"Decided: we agreed that table-driven tests are preferred over one function for each case. I followed it.",
		"From now on table-driven tests rather than one function per case.",
		"Decision: rather than one function per case, we settled on table-driven tests.",
		"**From now on:** I'll stick with table-driven tests.",
	}},
	{"Remind me to rotate the signing key by Friday.", []string{
		"Remember: you still need to rotate the signing key by Friday.",
		"Remember: rotate the signing key by Friday.",
		"One open item:\n- Remember: **rotate the signing keys** by Friday",
		"Remember: the signing key still needs to be rotated by Friday. You still need to rotate the signing key.",
		"Remember: don't forget to rotate the signing key by Friday.",
		"Remember: next step is rotating the signing key by Friday.",
		"Decision: by Friday, the signing key must be rotated; someone must rotate the signing key by Friday.",
	}},
}

// newFacts are prompts that change what was said in recalled.
var newFacts = []string{
	"We decided: staging runs on granite now.",
	"We decided: production runs on basalt from now on.",
	"From now on staging doesn't run on basalt any more.",
	"We decided that staging no longer runs on basalt, only previews do.",
	"The staging database listens on port 5434 and keeps three backups.",
	"The staging database listens on port 5433 and we decided that it keeps five backups.",
	"I prefer one function per case over table-driven tests.",
	"Never write table-driven tests for the parser, please.",
	"Remind me to rotate the signing key by Monday.",
	"Remind me to rotate the deploy key by Friday.",
}

// A recall is the work of an agent of cid, session by session.
type recall struct {
	t     *testing.T
	w     *World
	atlas loci.ID
	n     int
}

// turn runs a session with one turn, whose prompt quotes what is known. It returns what is extracted.
func (r *recall) turn(prompt, answer string) (extracted []loci.Candidate) {
	r.t.Helper()
	r.n++
	s := MustCall(r.t, r.w, CallerMember, service.SessionStart,
		loci.StartSession{Task: "Go on", Kind: loci.SessionAutomatic, Adapter: "claude", AtlasID: r.atlas})
	send := func(kind loci.EventType, text string) {
		got := MustCall(r.t, r.w, CallerMember, service.SessionEvent, loci.SendEvent{
			SessionID: s.Session.ID, Adapter: "claude", EventID: loci.ExternalID(fmt.Sprint(kind, r.n)), Type: kind,
			UnitKey: "turn", Content: loci.EventContent(text)})
		extracted = append(extracted, got.Candidates...)
	}
	send(loci.EventPrompt, s.Context.Markdown+"\n\n"+prompt)
	if answer != "" {
		send(loci.EventResponse, answer+"\n\nFor reference:\n\n"+s.Context.Markdown)
	}
	return extracted
}

const recallQuestion = "Where do we stand with staging, its database, the tests and the key?"

// TestRecalledStatementsAreExtractedOnce repeats what is known for 100 sessions: no candidate comes after the first. In
// an atlas where nothing is known each of the same answers extracts one.
func TestRecalledStatementsAreExtractedOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		enableAutomatic(t, w, loci.ModeCandidates)
		for _, fate := range []string{"compile", "pending", "dismiss", "revert"} {
			r := &recall{t: t, w: w, atlas: w.Atlas(t, fate)}
			rounds := 7 * len(recalled)
			if fate == "compile" {
				rounds = 100
			}
			for _, x := range recalled {
				extracted := r.turn(x.statement, "Noted.")
				testenv.RequireEqual(t, len(extracted), 1, x.statement, "extracts")
				decide(t, w, extracted[0], fate)
			}
			for n := range rounds {
				answers := recalled[n%len(recalled)].answers
				answer := answers[n/len(recalled)%len(answers)]
				if extracted := r.turn(recallQuestion, answer); len(extracted) > 0 {
					t.Errorf("%s: %q extracts %q", fate, answer, extracted[0].Content)
				}
			}
			for _, text := range newFacts {
				testenv.Len(t, r.turn(text, ""), 1, fate, text, "extracts")
			}
		}
		for n, x := range recalled {
			for i, answer := range x.answers {
				r := &recall{t: t, w: w, atlas: w.Atlas(t, fmt.Sprint("Empty ", n, i))}
				if len(r.turn(recallQuestion, answer)) == 0 {
					t.Errorf("extracts nothing where nothing is known: %q", answer)
				}
			}
		}
	})
}

// decide does to a candidate what a person decides.
func decide(t *testing.T, w *World, c loci.Candidate, fate string) {
	t.Helper()
	actions := map[string][]loci.ModerationAction{"compile": {loci.ModerationCompile},
		"dismiss": {loci.ModerationDismiss}, "revert": {loci.ModerationCompile, loci.ModerationRevert}}[fate]
	for _, action := range actions {
		MustCall(t, w, CallerAdmin, service.SessionModerate,
			loci.ModerateCandidate{SessionID: c.SessionID, CandidateID: c.ID, Action: action})
	}
}

// TestRecalledStatementsDoNotGrowUnits repeats in mode units what is known. Units, memories and versions stay as they
// are.
func TestRecalledStatementsDoNotGrowUnits(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		enableAutomatic(t, w, loci.ModeUnits)
		r := &recall{t: t, w: w, atlas: w.Atlas(t, "Units")}
		memories := func() (n, versions int) {
			list := MustCall(t,
				w, CallerOwner, service.MemoryList, loci.ListMemories{MemoryFilter: loci.MemoryFilter{AtlasID: r.atlas},
					Paging: loci.Paging{Limit: 100}}).Memories
			for _, m := range list {
				versions += m.Version
			}
			return len(list), versions
		}
		for _, x := range recalled {
			r.turn(x.statement, "")
		}
		before, versions := memories()
		testenv.RequireEqual(t, before, len(recalled), "memories")
		for _, x := range recalled {
			for _, answer := range x.answers {
				r.turn(recallQuestion, answer)
				if n, v := memories(); n != before || v != versions {
					t.Fatalf("%q makes %d of %d memories, %d of %d versions", answer, n, before, v, versions)
				}
			}
		}
		for i, text := range newFacts {
			r.turn(text, "")
			if n, _ := memories(); n != before+i+1 {
				t.Fatalf("%q makes no memory: %d", text, n)
			}
		}
	})
}
