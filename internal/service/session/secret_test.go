package session_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A planter calls operations with a credential in their fields, and keeps the answers.
type planter struct {
	t       *testing.T
	w       *World
	answers bytes.Buffer
}

// plant calls an operation. It fails unless the code of the answer is one of codes; "" is a success.
func plant[In, Out any](p *planter, o op.TypedOp[In, Out], in In, codes ...loci.Code) Out {
	p.t.Helper()
	out, err := op.Do(p.t.Context(), p.w.Host, p.w.Call(CallerMember), o, in)
	code, allowed := loci.Code(""), false
	if err != nil {
		code = loci.AsError(err).Code
		p.answers.WriteString(loci.AsError(err).Message)
	}
	testenv.NoError(p.t, json.NewEncoder(&p.answers).Encode(out))
	for _, c := range codes {
		allowed = allowed || c == code
	}
	if !allowed {
		p.t.Errorf("%s: %v, want %q", o.Name, err, codes)
	}
	return out
}

// TestSessionsKeepNoCredential plants credentials in every field of sessions and automatic memory, under each policy of
// the workspace. None is in the database, the log or an answer. With allow, a captured candidate keeps its text.
func TestSessionsKeepNoCredential(t *testing.T) {
	t.Parallel()
	for _, policy := range []loci.SecretsPolicy{loci.SecretsReject, loci.SecretsRedact, loci.SecretsAllow} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			d := storetest.Database{Dir: t.TempDir()}
			w := New(t, d.Open, Options{})
			log := &bytes.Buffer{}
			w.Host.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			MustCall(t, w, CallerOwner, service.WorkspaceUpdate,
				loci.UpdateWorkspace{WorkspaceID: w.Team, Settings: &loci.ChangeSettings{Secrets: &policy}})
			p := &planter{t: t, w: w}
			atlas := w.Atlas(t, "Shelf")
			samples := secrettest.SixtySamples()
			for n, s := range samples {
				enableAutomatic(t, w, []loci.PolicyMode{loci.ModeCandidates, loci.ModeUnits}[n%2])
				p.session(atlas, s.Text, policy)
				p.ids(atlas, s.Text)
			}
			files := p.answers.String() + log.String()
			for _, name := range []string{"loci.db", "loci.db-wal"} {
				b := testenv.Must(os.ReadFile(filepath.Join(d.Dir, name)))(t)
				files += string(b)
			}
			for _, s := range samples {
				testenv.Equal(t, s.FindPart(files), "", s.Rule, "is kept", "in", s.Text)
			}
		})
	}
}

// short returns a text, or another where it is longer than a field.
func short[T ~string](text string, limit int) T {
	if len(text) > limit {
		return T("too long")
	}
	return T(text)
}

// session plants a text in the texts of all operations.
func (p *planter) session(atlas loci.ID, text string, policy loci.SecretsPolicy) {
	p.t.Helper()
	s := plant(p, service.SessionStart, loci.StartSession{Task: short[loci.TaskText]("Use "+text, 2000),
		SourceName: short[loci.SourceText](text, 1000), Kind: loci.SessionAutomatic, Adapter: "claude", AtlasID: atlas},
		"").Session
	plant(p, service.SessionCheckpoint, loci.AddCheckpoint{SessionID: s.ID,
		Summary: loci.Summary("Half done.\n" + text)}, "")
	if policy != loci.SecretsAllow {
		p.captures(s.ID, text, policy)
	}
	u := plant(p, service.UnitOpen, loci.OpenUnit{SessionID: s.ID, Key: "unit", Title: short[loci.Title](text, 300)},
		"").Unit
	plant(p, service.UnitFinalize, loci.FinalizeUnit{SessionID: s.ID, UnitID: u.ID, Title: short[loci.Title](text, 300),
		Content: loci.Content("The result.\n" + text), Tags: loci.Tags{short[loci.Tag](text, 64)}}, "")
	plant(p, service.UnitFinalize, loci.FinalizeUnit{SessionID: s.ID, UnitID: u.ID,
		Content: loci.Content(strings.Repeat("ab ", 94) + text)}, "") // at the end of the derived title
	for _, kind := range []loci.EventType{loci.EventSessionStart, loci.EventPrompt, loci.EventResponse, loci.EventTool,
		loci.EventFile, loci.EventNote, loci.EventSessionEnd} {
		plant(p, service.SessionEvent, loci.SendEvent{SessionID: s.ID, Adapter: "claude",
			EventID: loci.ExternalID(kind), Type: kind, UnitKey: "turn",
			Content: loci.EventContent("We decided: the key is " + text +
				" from now on.\n\nRemember that staging uses\n" + text + "\n"),
			Metadata: loci.Metadata{"cwd": "/home/" + text, "list": []any{text, map[string]any{"deep": text}}}}, "")
	}
	plant(p, service.SessionGet, loci.GetSession{SessionID: s.ID}, "")
	plant(p, service.SessionReopen, loci.ReopenSession{SessionID: s.ID}, "")
	plant(p, service.SessionFinalize, loci.FinalizeSession{SessionID: s.ID,
		Summary: loci.Summary("Done.\n" + text)}, "")
	plant(p, service.SessionGet, loci.GetSession{SessionID: s.ID}, "")
	plant(p, service.SessionCandidates, loci.ListCandidates{SessionID: s.ID}, "")
	plant(p, service.SessionList, loci.ListSessions{AtlasID: atlas}, "")
}

// captures plants a text in each field of a candidate.
func (p *planter) captures(session loci.ID, text string, policy loci.SecretsPolicy) {
	code := map[loci.SecretsPolicy]loci.Code{loci.SecretsReject: loci.CodeSecretDetected}[policy]
	evidence := short[loci.Evidence](text, 1000)
	for _, in := range []loci.CaptureCandidate{
		{Content: loci.CandidateContent("It is\n" + text)},
		{Content: loci.CandidateContent(strings.Repeat("ab ", 94) + text)}, // at the end of the derived title
		{Content: "no secret", Title: short[loci.Title](text, 300)},
		{Content: "no secret", Evidence: &evidence},
	} {
		in.SessionID = session
		plant(p, service.SessionCapture, in, code, "")
	}
	plant(p, service.SessionCapture, loci.CaptureCandidate{SessionID: session, Content: "no secret",
		Tags: loci.Tags{short[loci.Tag](text, 64)}}, loci.CodeSecretDetected, "")
}

// ids plants a text in the ids that clients choose: each is refused.
func (p *planter) ids(atlas loci.ID, text string) {
	p.t.Helper()
	if len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return
	}
	id, refused := loci.ExternalID(text), loci.CodeSecretDetected
	s := plant(p, service.SessionStart, loci.StartSession{Task: "x", Kind: loci.SessionAutomatic, Adapter: "claude",
		AtlasID: atlas}, "").Session.ID
	plant(p, service.SessionStart, loci.StartSession{Task: "x", AtlasID: atlas, ExternalID: id}, refused)
	plant(p, service.SessionCapture, loci.CaptureCandidate{SessionID: s, Content: "x", SourceEventID: id}, refused)
	plant(p, service.UnitOpen, loci.OpenUnit{SessionID: s, Key: id}, refused)
	event := loci.SendEvent{SessionID: s, Adapter: "claude", Type: loci.EventNote}
	event.EventID = id
	plant(p, service.SessionEvent, event, refused)
	event.EventID, event.UnitKey = "e", id
	plant(p, service.SessionEvent, event, refused)
	plant(p, service.AutoAudit, loci.RecordAudit{SessionID: s, EventID: id, Adapter: "claude",
		Rules: loci.RedactionCounts{}}, refused)
	compilation := loci.RecordCompilation{SessionID: s, Outcome: loci.CompilationSkipped, UnitKey: id, Compiler: "c"}
	plant(p, service.SessionCompile, compilation, refused)
	compilation.UnitKey, compilation.Compiler = "u", id
	plant(p, service.SessionCompile, compilation, refused)
	compilation.Compiler, compilation.InputEventIDs = "c", loci.EventIDs{"e", id}
	plant(p, service.SessionCompile, compilation, refused)
	plant(p, service.AutoSet, loci.SetPolicy{WorkspaceID: p.w.Team, ExcludePaths: loci.PathPatterns{
		loci.PathPattern(text)}}, refused, loci.CodeInvalidQuery)
}

// TestCapturedCandidateFollowsPolicy captures a credential while the workspace allows them. The memory that it becomes
// after the workspace has changed its mind holds none.
func TestCapturedCandidateFollowsPolicy(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		set := func(policy loci.SecretsPolicy) {
			MustCall(t, w, CallerOwner, service.WorkspaceUpdate,
				loci.UpdateWorkspace{WorkspaceID: w.Team, Settings: &loci.ChangeSettings{Secrets: &policy}})
		}
		for _, s := range secrettest.SixtySamples() {
			set(loci.SecretsAllow)
			session := automaticOfCid(t, w, w.Atlas(t, "Shelf"))
			c := MustCall(t, w, CallerMember, service.SessionCapture, loci.CaptureCandidate{
				SessionID: session, Content: loci.CandidateContent(strings.Repeat("ab ", 94) + s.Text)}).Candidate
			testenv.Contains(t, c.Content, s.Text, "with allow the candidate is")
			set(loci.SecretsReject)
			end := MustCall(t, w, CallerMember, service.SessionFinalize, loci.FinalizeSession{SessionID: session})
			m := w.Get(t, end.Compiled[0].MemoryID)
			text := m.Title + "\n" + m.Content + "\n" + end.Session.Snapshot
			testenv.Equal(t, s.FindPart(text), "", s.Rule, "the memory or the snapshot keeps")
		}
	})
}
