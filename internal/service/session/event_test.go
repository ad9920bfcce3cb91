package session_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// send delivers an event of ann.
func send(t *testing.T, w *World, session loci.ID, id string, of loci.EventType, content string,
	more ...func(*loci.SendEvent)) loci.ReceivedEvent {
	t.Helper()
	in := loci.SendEvent{SessionID: session, Adapter: "claude", EventID: loci.ExternalID(id), Type: of, UnitKey: "turn",
		Content: loci.EventContent(content)}
	for _, f := range more {
		f(&in)
	}
	return MustCall(t, w, byAnn, service.SessionEvent, in)
}

const decision = "We decided: staging runs on basalt from now on."

func TestEventExtractsCandidateOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
		first := send(t, w, s.ID, "1", loci.EventPrompt, decision)
		if first.Candidate == nil || first.Candidate.Type != loci.TypeDecision || first.Candidate.SourceEventID != "1" {
			t.Fatalf("%+v", first)
		}
		again := send(t, w, s.ID, "1", loci.EventPrompt, decision)
		if !again.Duplicate || again.Candidate == nil || again.Candidate.ID != first.Candidate.ID ||
			again.Event.ID != first.Event.ID {
			t.Errorf("repeated: %+v", again)
		}
		if answer := send(t, w, s.ID, "2", loci.EventResponse, "Noted. "+decision); answer.Candidate != nil {
			t.Errorf("the answer repeats the prompt: %+v", answer.Candidate)
		}
		if c := send(t, w, s.ID, "3", loci.EventTool, "We decided: everything runs on granite.").Candidate; c != nil {
			t.Errorf("a tool decides: %+v", c)
		}
	})
}

func TestCandidatesShowTheirTurnsWhereThePolicyKeepsThem(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{KeepTurns: true})
		long := strings.Repeat("é", loci.MaxTurn)
		send(t, w, s.ID, "0", loci.EventResponse, long+"more")
		prompt := decision + "\n\nI prefer table-driven tests over one function per case."
		send(t, w, s.ID, "1", loci.EventPrompt, prompt)
		const answer = "Remember: the staging certificate is renewed by hand."
		send(t, w, s.ID, "2", loci.EventResponse, answer)
		capture(t, w, byAnn, s.ID, "captured without an event")
		shows := func(by Caller, want map[string]loci.Turns) {
			t.Helper()
			for _, list := range [][]loci.Candidate{
				MustCall(t, w, by, service.SessionCandidates, loci.ListCandidates{SessionID: s.ID}).Candidates,
				MustCall(t, w, by, service.SessionGet, loci.GetSession{SessionID: s.ID}).Candidates,
			} {
				got := map[string]loci.Turns{}
				for _, c := range list {
					if c.Turns != nil {
						got[c.SourceEventID] = *c.Turns
					}
				}
				if !maps.Equal(got, want) || len(list) != 4 {
					t.Errorf("%s is shown %+v in %d candidates", by, got, len(list))
				}
			}
		}
		before := loci.Turns{Prompt: prompt, Answer: long}
		all := map[string]loci.Turns{"1": before, "1#2": before, "2": {Prompt: prompt, Answer: answer}}
		shows(byAnn, all)
		shows(CallerAdmin, all)
		MustFail(t, w, CallerMember, service.SessionGet, loci.GetSession{SessionID: s.ID}, loci.CodeNotFound)
		MustCall(t, w, byAnn, service.AutoSet, loci.SetPolicy{WorkspaceID: w.Team, Enabled: true})
		shows(byAnn, nil)
		shows(CallerAdmin, nil)
	})
}

func TestCandidatesShowNoTurnsFromBeforeThePolicyKeptThem(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
		send(t, w, s.ID, "1", loci.EventPrompt, decision)
		keep := func() {
			w.Clock.Advance(time.Second)
			MustCall(t, w, byAnn, service.AutoSet, loci.SetPolicy{WorkspaceID: w.Team, Enabled: true, KeepTurns: true})
		}
		shows := func(want ...*loci.Turns) {
			t.Helper()
			in := loci.ListCandidates{SessionID: s.ID}
			list := MustCall(t, w, CallerAdmin, service.SessionCandidates, in).Candidates
			slices.SortFunc(list, func(a, b loci.Candidate) int {
				return strings.Compare(a.SourceEventID, b.SourceEventID)
			})
			if len(list) != len(want) {
				t.Fatalf("%d candidates", len(list))
			}
			for i, c := range list {
				if !reflect.DeepEqual(c.Turns, want[i]) {
					t.Errorf("%s shows %+v", c.SourceEventID, c.Turns)
				}
			}
		}
		keep()
		shows(nil)
		const answer = "Remember: the staging certificate is renewed by hand."
		send(t, w, s.ID, "2", loci.EventResponse, answer)
		keep() // for as long as before
		shows(nil, &loci.Turns{Answer: answer})
	})
}

func TestCandidateShowsNoPromptOfItsUnitFarBefore(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{KeepTurns: true})
		send(t, w, s.ID, "first", loci.EventPrompt, "Look at the hosts.")
		of := func(e *loci.SendEvent) { e.UnitKey = "another" }
		for i := range 50 {
			if i == 49 {
				send(t, w, s.ID, "a", loci.EventResponse, "Remember: the staging certificate is renewed by hand.")
			}
			send(t, w, s.ID, fmt.Sprint(i), loci.EventPrompt, "Go on.", of)
		}
		send(t, w, s.ID, "b", loci.EventResponse, "Remember: the archive is copied to tape every Sunday.")
		got := map[string]string{}
		in := loci.ListCandidates{SessionID: s.ID}
		for _, c := range MustCall(t, w, byAnn, service.SessionCandidates, in).Candidates {
			got[c.SourceEventID] = c.Turns.Prompt
		}
		if want := map[string]string{"a": "Look at the hosts.", "b": ""}; !maps.Equal(got, want) {
			t.Errorf("%+v", got)
		}
	})
}

func TestExtractedCandidateNamesUnitOfItsKey(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
		u := MustCall(t, w, byAnn, service.UnitOpen, loci.OpenUnit{SessionID: s.ID, Key: "turn"}).Unit
		c := send(t, w, s.ID, "1", loci.EventPrompt, decision).Candidate
		list := MustCall(t, w, byAnn, service.SessionCandidates, loci.ListCandidates{SessionID: s.ID}).Candidates
		if c == nil || c.UnitID != u.ID || len(list) != 1 || list[0].UnitID != u.ID {
			t.Errorf("%+v, %+v, want unit %s", c, list, u.ID)
		}
	})
}

func TestDismissedStatementIsNotExtractedAgain(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
	c := send(t, w, s.ID, "1", loci.EventPrompt, decision).Candidate
	MustCall(t, w, byAnn, service.SessionModerate,
		loci.ModerateCandidate{SessionID: s.ID, CandidateID: c.ID, Action: loci.ModerationDismiss})
	if again := send(t, w, s.ID, "2", loci.EventPrompt, decision).Candidate; again != nil {
		t.Errorf("extracted again: %+v", again)
	}
}

func TestStatementKnownInAtlasIsDropped(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		w.Memory(t, shelf, "# Hosts\nProduction runs on granite. Staging runs on basalt.")
		s := automatic(t, w, shelf, loci.SetPolicy{})
		if c := send(t, w, s.ID, "1", loci.EventPrompt, decision).Candidate; c != nil {
			t.Errorf("a known statement is extracted: %+v", c)
		}
		if c := send(t, w, s.ID, "2", loci.EventPrompt,
			"We decided: staging runs on marble from now on.").Candidate; c == nil {
			t.Error("a changed value is dropped")
		}
	})
}

func TestQuotedContextIsNotCapturedBack(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	shelf := w.Atlas(t, "Shelf")
	m := w.Memory(t, shelf, decision)
	context := MustCall(t, w, byAnn, service.SessionStart, loci.StartSession{Task: "x", AtlasID: shelf}).Context
	s := automatic(t, w, shelf, loci.SetPolicy{})
	MustCall(t, w, byAnn, service.MemoryDelete, loci.DeleteMemory{MemoryID: m}) // so that nothing is known
	text := context.Markdown + "\n\nWhere does staging run?"
	if c := send(t, w, s.ID, "1", loci.EventPrompt, text).Candidate; c != nil {
		t.Errorf("injected context is extracted: %+v", c)
	}
}

func TestPolicyDecidesWhatIsKept(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		shelf := w.Atlas(t, "Shelf")
		s := automatic(t, w, shelf, loci.SetPolicy{ExcludePaths: loci.PathPatterns{"secret/**"}})
		out := send(t, w, s.ID, "1", loci.EventPrompt, decision, func(in *loci.SendEvent) {
			in.Metadata = loci.Metadata{"cwd": "/home/ann/secret/app"}
		})
		if !out.Ignored || out.Event.ID != "" || out.Candidate != nil {
			t.Errorf("excluded: %+v", out)
		}
		MustCall(t, w, byAnn, service.AutoSet, loci.SetPolicy{WorkspaceID: w.Team, Enabled: true, Paused: true})
		if out = send(t, w, s.ID, "1", loci.EventPrompt, decision); !out.Ignored {
			t.Errorf("paused: %+v", out)
		}
		testenv.Equal(t, d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM session_events`)[0], "0",
			"ignored events are stored")
		MustCall(t, w, byAnn, service.AutoSet, loci.SetPolicy{WorkspaceID: w.Team, Enabled: true, MinLength: 200})
		if out = send(t, w, s.ID, "1", loci.EventPrompt, decision); out.Ignored || out.Candidate != nil {
			t.Errorf("short: %+v", out)
		}
		// Prompt and answer together are long enough.
		out = send(t, w, s.ID, "2", loci.EventResponse, "Noted."+strings.Repeat(" And so on.", 20))
		if out.Candidate == nil || out.Candidate.SourceEventID != "2" {
			t.Errorf("with its answer: %+v", out)
		}
		send(t, w, s.ID, "3", loci.EventTool, "output of a tool", func(in *loci.SendEvent) {
			in.Metadata = loci.Metadata{"command": "cat passwords"}
		})
		testenv.Equal(t, d.Query(t, `SELECT content || metadata FROM session_events WHERE type = 'tool'`)[0], "",
			"the text of a tool is stored")
	})
}

// The turn of an agreement is short, and a policy has no minimum unless it states one.
func TestShortAgreementExtractsProposal(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
	if c := send(t, w, s.ID, "1", loci.EventResponse, "I suggest that we store tides in feet.").Candidate; c != nil {
		t.Errorf("a proposal is extracted: %+v", c)
	}
	if c := send(t, w, s.ID, "2", loci.EventPrompt, "yes, do that").Candidate; c == nil ||
		!strings.Contains(c.Content, "tides in feet") {
		t.Errorf("%+v", c)
	}
}

func TestUnitsModeStoresStatementsAsMemoryOfTheirUnit(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		shelf := w.Atlas(t, "Shelf")
		s := automatic(t, w, shelf, loci.SetPolicy{Mode: loci.ModeUnits})
		if out := send(t, w, s.ID, "1", loci.EventPrompt, decision); out.Candidate != nil || out.Candidates != nil {
			t.Errorf("a candidate waits: %+v", out)
		}
		send(t, w, s.ID, "2", loci.EventPrompt, "We decided: the harbour office uses granite for its backups.")
		detail := MustCall(t, w, byAnn, service.SessionGet, loci.GetSession{SessionID: s.ID})
		if len(detail.Units) != 1 || detail.Units[0].Status != loci.UnitFinalized || detail.Units[0].Key != "turn" ||
			detail.Session.MemoryID != detail.Units[0].MemoryID || len(detail.Candidates) != 0 {
			t.Fatalf("%+v", detail)
		}
		m := w.Get(t, detail.Session.MemoryID)
		if m.Version != 2 || !strings.Contains(m.Content, "basalt") || !strings.Contains(m.Content, "granite") ||
			m.SessionID != s.ID || m.Type != loci.TypeDecision {
			t.Errorf("%+v", m)
		}
		testenv.Equal(t, fmt.Sprint(d.Query(t, `SELECT outcome FROM compilations ORDER BY row_id`)),
			"[created updated]", "the records are")
		MustCall(t, w, byAnn, service.SessionRevert, loci.RevertSession{SessionID: s.ID})
		send(t, w, s.ID, "3", loci.EventPrompt, "We decided: the pier office uses slate for its ledgers from now on.")
		if m := w.Get(t, detail.Session.MemoryID); m.Status != loci.MemoryArchived || m.Version != 3 {
			t.Errorf("a reverted memory changes: %+v", m)
		}
		MustCall(t, w, byAnn, service.SessionComplete, loci.CompleteSession{SessionID: s.ID})
	})
}

// The audit of a client and what the server redacts in the same event both count.
func TestAuditsAndEventsAddUpToRedactions(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
		for i, rules := range []loci.RedactionCounts{{{Rule: "github-pat", Count: 2}},
			{{Rule: "aws-access-token", Count: 1}, {Rule: "github-pat", Count: 3}}, {}} {
			in := loci.RecordAudit{SessionID: s.ID, EventID: loci.ExternalID(fmt.Sprint(i)), Adapter: "claude",
				Rules: rules}
			for _, x := range rules {
				in.Total += x.Count
			}
			for range 2 { // the second one is known
				MustCall(t, w, byAnn, service.AutoAudit, in)
			}
		}
		const token, plain = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a", "kR7vQz2mXw9TbL4p"
		for range 2 { // the second one is known
			send(t, w, s.ID, "1", loci.EventPrompt, "deploy with "+token+" or "+token, func(in *loci.SendEvent) {
				in.Metadata = loci.Metadata{"env": []any{token}, "password": plain}
			})
			send(t, w, s.ID, strings.Repeat("x", 200), loci.EventTool, token)
			send(t, w, s.ID, "clean", loci.EventPrompt, "hello")
		}
		got := MustCall(t, w, byAnn, service.SessionGet, loci.GetSession{SessionID: s.ID}).Redactions
		want := []loci.RedactionCount{{Rule: "aws-access-token", Count: 1}, {Rule: "generic-api-key", Count: 1},
			{Rule: "github-pat", Count: 9}}
		testenv.Equal(t, fmt.Sprint(got), fmt.Sprint(want))
	})
}

func TestMetadataIsRedactedByTheNamesAroundIt(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
		const plain = "kR7vQz2mXw9TbL4p"
		send(t, w, s.ID, "1", loci.EventPrompt, "hello", func(in *loci.SendEvent) {
			in.Metadata = loci.Metadata{"password": plain, "api_key": []any{plain}, "cwd": "/home/ann",
				"db_password": map[string]any{"value": plain}}
		})
		stored := d.Query(t, `SELECT metadata FROM session_events`)[0]
		if strings.Contains(stored, plain) || !strings.Contains(stored, "/home/ann") {
			t.Errorf("stored: %s", stored)
		}
	})
}

func TestEventWhoseIDResemblesASourceExtractsItsOwn(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	s := automatic(t, w, w.Atlas(t, "Shelf"), loci.SetPolicy{})
	MustCall(t, w, byAnn, service.SessionCapture,
		loci.CaptureCandidate{SessionID: s.ID, Content: "another text", SourceEventID: "a#2"})
	if c := send(t, w, s.ID, "a#2", loci.EventPrompt, decision).Candidate; c == nil || c.SourceEventID != "a#2#2" {
		t.Errorf("%+v", c)
	}
}
