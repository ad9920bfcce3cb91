package console_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// A scene is a session of cid with candidates.
type scene struct {
	session loci.ID
	old     loci.ID // a memory that a candidate says nearly the same as
	byState map[string]loci.ID
}

func (s *site) path(c scene, state string) string {
	return "/app/approvals/" + string(c.session) + "/" + string(c.byState[state])
}

// propose proposes a memory in a session of a person.
func (s *site) propose(p *conformance.Person, session loci.ID, content string) loci.ID {
	s.t.Helper()
	return must(s.t, s.Service.CaptureCandidate, p, loci.CaptureCandidate{SessionID: session,
		Content: loci.CandidateContent(content)}).Candidate.ID
}

func (s *site) scene(p *conformance.Person) (c scene) {
	s.t.Helper()
	atlas := s.Atlas(s.t, "Front<b>end")
	const told = "Holds by telephone last twenty minutes, because the clerk reads the conditions aloud to everybody " +
		"who calls from a harbour or from home, and answers what they ask about luggage and bicycles "
	c.old = must(s.t, s.Service.CreateMemory, p, loci.CreateMemory{Content: told, AtlasID: atlas}).Memory.ID
	c.session = must(s.t, s.Service.StartSession, p, loci.StartSession{Task: "Move <b>seat</b> holds",
		AtlasID: atlas, Kind: loci.SessionAutomatic, Adapter: "claude"}).Session.ID
	c.byState = map[string]loci.ID{}
	for _, state := range []string{"pending", "similar", "compiled", "dismissed", "reverted"} {
		content := map[string]string{"pending": hostile, "similar": told + "too."}[state]
		if content == "" {
			content = "It is " + state
		}
		id := s.propose(p, c.session, content)
		c.byState[state] = id
		for _, action := range map[string][]loci.ModerationAction{"compiled": {"compile"}, "dismissed": {"dismiss"},
			"reverted": {"compile", "revert"}}[state] {
			must(s.t, s.Service.ModerateCandidate, p, loci.ModerateCandidate{SessionID: c.session, CandidateID: id,
				Action: action})
		}
	}
	return c
}

func (s *site) approvalVisits() []visit {
	s.t.Helper()
	c := s.scene(s.Cid)
	must(s.t, s.Service.AddCheckpoint, s.Cid,
		loci.AddCheckpoint{SessionID: c.session, Summary: "It is `<b>half</b>` done"})
	unit := must(s.t, s.Service.OpenUnit, s.Cid,
		loci.OpenUnit{SessionID: c.session, Key: "u", Title: "Rope<b>"}).Unit.ID
	must(s.t, s.Service.FinalizeUnit, s.Cid,
		loci.FinalizeUnit{SessionID: c.session, UnitID: unit, Content: "Rope."})
	must(s.t, s.Service.RecordAudit, s.Cid, loci.RecordAudit{SessionID: c.session, EventID: "e", Adapter: "claude",
		Rules: []loci.RedactionCount{{Rule: "github-pat", Count: 2}}, Total: 2})
	s.scene(s.Ann)
	archived := s.scene(s.Cid)
	must(s.t, s.Service.ArchiveSession, s.Cid, loci.ArchiveSession{SessionID: archived.session})
	managed := "/app/approvals?scope=managed"
	last := "did=dismissed&last=" + string(c.byState["dismissed"])
	return []visit{
		{"/app/approvals", []string{"alert(1)", "Keep marked", "Claude Code", "Keys"}, true},
		{"/app/approvals?" + last, []string{"Dismissed.", "Take back"}, true},
		{"/app/approvals?did=failed&last=%22%3E%3Cb%3E&failed=x", []string{"None of them"}, true},
		{managed, []string{"said already?", "alert(1)"}, true},
		{s.path(c, "pending"), []string{"Front<b>end", "&lt;script&gt;", "Keep", "Dismiss",
			"Edit and keep", "for <bdi>cid", "Move <b>seat</b> holds"}, false},
		{s.path(c, "similar"), []string{"A memory says nearly the same", "Keep and replace"}, false},
		{s.path(c, "compiled"), []string{"Take back", "It became a memory"}, false},
		{s.path(c, "dismissed"), []string{"Take back"}, false},
		{s.path(c, "reverted"), []string{"Keep", "Taken back"}, false},
		{s.path(archived, "pending"), []string{"Archived"}, false},
		{"/app/sessions", []string{"Claude Code", "2 of 5 candidates wait"}, true},
		{"/app/sessions?scope=managed&include=archived", []string{"Archived"}, true},
		{"/app/sessions?status=finalized", []string{"Nothing fits"}, true},
		{"/app/sessions/" + string(c.session), []string{"Move <b>seat</b> holds", "Waits", "Kept", "Dismissed",
			"Taken back", "dismissed “<bdi>It is dismissed", "<bdi>cid", "It is <code><b>half</b></code> done",
			"Take back its memory", "Rope<b>", "github-pat"}, false},
		{"/app/sessions/" + string(archived.session), []string{"Archived", "Restore"}, false},
		{"/app/automatic", []string{"Nothing was set", "Claude Code"}, true},
	}
}

func TestCandidatesAreDecidedOneAfterAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.scene(s.Cid)
	status := func(state string) loci.Candidate {
		t.Helper()
		for _, x := range must(t, s.Service.GetSession, s.Cid, loci.GetSession{SessionID: c.session}).Candidates {
			if x.ID == c.byState[state] {
				return x
			}
		}
		return loci.Candidate{}
	}
	page := s.get("cid", "/app/approvals")
	testenv.Contains(t, page.text, "Keep and replace")
	decide := func(state, action string) {
		t.Helper()
		path := s.path(c, state) + "/moderate"
		fields := page.form(t, path).fields
		fields.Set("action", action)
		page = s.get("cid", s.post("cid", path, fields).Header.Get("Location"))
	}
	decide("similar", "supersede")
	testenv.Contains(t, page.text, "the old memory replaced")
	testenv.Equal(t, status("similar").Replaces, c.old)

	decide("pending", "dismiss")
	testenv.Contains(t, page.text, "Nothing waits")
	testenv.Equal(t, status("pending").Status, loci.CandidateDismissed)
	undo := page.form(t, "/app/approvals/moderate").fields
	page = s.get("cid", s.post("cid", "/app/approvals/moderate", undo).Header.Get("Location"))
	testenv.Contains(t, page.text, "Taken back")
	testenv.Equal(t, status("pending").Status, loci.CandidatePending)

	// Several at once: one that was decided before is told.
	page = s.get("cid", s.post("cid", "/app/approvals/moderate", url.Values{"action": {"compile"},
		"idempotencyKey": {"a"}, "candidateIds": {string(c.byState["pending"]), string(c.byState["compiled"])},
	}).Header.Get("Location"))
	testenv.Contains(t, page.text, "1 could not be decided")
	testenv.Equal(t, status("pending").Status, loci.CandidateCompiled)
	none := s.post("cid", "/app/approvals/moderate",
		url.Values{"action": {"compile"}, "idempotencyKey": {"b"}})
	testenv.Equal(t, none.StatusCode, 400)
	testenv.Contains(t, none.text, "Mark the candidates first.")

	// The slower of two people sees what became of it.
	late := s.post("cid", s.path(c, "pending")+"/moderate", url.Values{"action": {"dismiss"}, "idempotencyKey": {"c"}})
	testenv.Equal(t, late.StatusCode, 409)
	testenv.Contains(t, late.text, "It became a memory")
	testenv.Equal(t, s.get("cid", "/app/approvals?scope=managed&workspace_id="+string(s.Team)).StatusCode, 403)
}

func TestOldCandidateIsDecided(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := must(t, s.Service.StartSession, s.Cid,
		loci.StartSession{Task: "Tides", AtlasID: s.Atlas(t, "Sea")}).Session.ID
	old := s.propose(s.Cid, session, "Ebb at nine.")
	for i := range loci.MaxShownParts {
		id := s.propose(s.Cid, session, fmt.Sprintf("Flood number %d", i))
		if i%2 == 0 {
			must(t, s.Service.ModerateCandidate, s.Cid, loci.ModerateCandidate{SessionID: session, CandidateID: id,
				Action: loci.ModerationDismiss})
		}
	}
	path := "/app/approvals/" + string(session) + "/" + string(old)
	for _, who := range []string{"cid", "ann"} {
		got := s.get(who, path)
		s.check(who, got)
		testenv.Contains(t, got.text, "Ebb at nine.")
	}
	saved := s.post("cid", path+"/edit", url.Values{"content": {"Ebb at ten."}})
	testenv.Contains(t, s.get("cid", saved.Header.Get("Location")).text, "Saved.")
	gone := s.post("cid", path+"/moderate", url.Values{"action": {"dismiss"}, "idempotencyKey": {"a"}})
	testenv.Equal(t, s.get("cid", gone.Header.Get("Location")).Header.Get("Location"), "/app/approvals?did=dismissed")
	testenv.Equal(t, s.get("cid", path).StatusCode, 404)
}

// TestLinkElsewhereTellsOfNoDecision follows a link that claims one.
func TestLinkElsewhereTellsOfNoDecision(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	link := "/app/approvals?did=kept&last=" + string(s.scene(s.Cid).byState["pending"])
	for site, want := range map[string]bool{"same-origin": true, "cross-site": false, "same-site": false,
		"none": false} {
		text := s.do("cid", "GET", link, nil, "Sec-Fetch-Site:"+site).text
		testenv.Equal(t, strings.Contains(text, "Kept:") && strings.Contains(text, `value="revert"`), want, site)
		testenv.Equal(t, strings.Contains(text, "Kept:") || strings.Contains(text, `value="revert"`), want, site)
	}
}

func TestEditedCandidateIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.scene(s.Cid)
	edit := s.path(c, "pending") + "/edit"
	refused := s.post("cid", edit, url.Values{"content": {"Web keeps eight."}, "type": {"rope"}})
	testenv.Equal(t, refused.StatusCode, 400)
	testenv.Contains(t, refused.text, "Web keeps eight.")
	got := s.post("cid", edit, url.Values{"content": {"Web keeps eight."}, "title": {""}, "tags": {`a\,b, c`},
		"type": {"fact"}, "keep": {"true"}})
	testenv.Contains(t, s.get("cid", got.Header.Get("Location")).text, "Kept: it is a memory now.")
	list := must(t, s.Service.GetSession, s.Cid, loci.GetSession{SessionID: c.session}).Candidates
	kept := list[len(list)-1]
	testenv.Equal(t, kept.Title, "Web keeps eight.")
	testenv.EqualSlices(t, kept.Tags, []string{"a,b", "c"})
	testenv.Equal(t, kept.Status, loci.CandidateCompiled)
	testenv.Equal(t, s.get("bob", s.path(c, "pending")).StatusCode, 200)
	testenv.Equal(t, s.post("eve", edit, url.Values{"content": {"x"}}).StatusCode, 404)
}

// form returns the form of a page with an action.
func (r result) form(t *testing.T, action string) form {
	t.Helper()
	for _, f := range r.forms {
		if f.action == action && (action != "/app/approvals/moderate" || f.fields.Get("action") == "revert") {
			return f
		}
	}
	t.Fatalf("no form %s: %v", action, r.forms)
	return form{}
}

// TestFormCountsEachWrite counts the calls that use neither rate nor quota: those that follow an accepted form.
func TestFormCountsEachWrite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	edit := s.path(s.scene(s.Cid), "pending") + "/edit"
	var free []string
	admit := s.Host.Admit
	s.Host.Admit = func(ctx context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
		if c.Continuation {
			free = append(free, o.Name)
		}
		return admit(ctx, o, c)
	}
	testenv.Equal(t, s.post("cid", edit, url.Values{"content": {"x"}, "type": {"rope"}}).StatusCode, 400)
	kept := s.post("cid", edit, url.Values{"content": {"Web keeps eight."}, "type": {"fact"}, "keep": {"true"}})
	testenv.Equal(t, kept.StatusCode, 303)
	testenv.EqualSlices(t, free, nil)
	testenv.Equal(t, s.post("cid", "/key", url.Values{"name": {"laptop"}, "idempotencyKey": {"a"}}).StatusCode, 200)
	testenv.Equal(t, len(free) > 0, true)
}

func TestPolicyKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	atlas := s.Atlas(t, "Front")
	path := "/app/automatic?workspace_id=" + string(s.Team)
	typed := s.get("cid", path).form(t, "/app/automatic").fields
	typed.Set("mode", "candidates")
	typed.Set("minLength", "80")
	typed.Set("atlasId", string(atlas))
	typed.Set("excludePaths", "**/payroll/**\r\n\r\n src/{a,b}/[a-\r\n")
	typed.Del("codex")
	refused := s.post("cid", "/app/automatic", typed)
	testenv.Equal(t, refused.StatusCode, 400)
	for _, text := range []string{"Line 2 is no valid glob", "**/payroll/**\nsrc/{a,b}/[a-", `value="80"`,
		`name="codex" value="true"><`, `name="enabled" value="true" checked`, `" selected>Front<`} {
		testenv.Contains(t, refused.text, text)
	}
	typed.Set("excludePaths", "**/payroll/**\nsrc/{a,b}/*")
	saved := s.get("cid", s.post("cid", "/app/automatic", typed).Header.Get("Location"))
	testenv.Contains(t, saved.text, "Agents propose, you decide")
	policy := func() loci.Policy {
		t.Helper()
		return must(t, s.Service.GetPolicy, s.Cid, loci.GetPolicy{WorkspaceID: s.Team}).Policy
	}
	p := policy()
	testenv.EqualSlices(t, p.ExcludePaths, []string{"**/payroll/**", "src/{a,b}/*"})
	testenv.EqualSlices(t, p.Adapters.Off(), []loci.Adapter{"codex"})
	testenv.Equal(t, p.AtlasID, atlas)
	testenv.Equal(t, p.KeepTurns, true)

	typed.Del("enabled")
	stale := s.post("cid", "/app/automatic", typed)
	testenv.Equal(t, stale.StatusCode, 412)
	testenv.Contains(t, stale.text, "in another window")
	testenv.Equal(t, policy().Enabled, true)

	pause := saved.form(t, "/app/automatic/pause").fields
	testenv.Contains(t, s.get("cid", s.post("cid", "/app/automatic/pause", pause).Header.Get("Location")).text, "Go on")
	testenv.Equal(t, policy().Paused && policy().MinLength == 80, true)
	pause.Set("paused", "false")
	stale = s.post("cid", "/app/automatic/pause", pause)
	testenv.Equal(t, stale.StatusCode, 412)
	testenv.Contains(t, stale.text, "It stands below")

	// A policy that could not be read is not replaced.
	admit, reads := s.Host.Admit, 0
	s.Host.Admit = func(ctx context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
		if o.Name == "auto.get" {
			if reads++; reads == 2 { // the first one compares the entity tag
				return nil, loci.NewError(loci.CodeRateLimited)
			}
		}
		return admit(ctx, o, c)
	}
	fresh := stale.form(t, "/app/automatic/pause").fields
	testenv.Equal(t, s.post("cid", "/app/automatic/pause", fresh).StatusCode, 429)
	testenv.Equal(t, policy().Paused && len(policy().ExcludePaths) == 2, true)
	testenv.Equal(t, s.get("eve", path).StatusCode, 404)
	testenv.Equal(t, s.post("eve", "/app/automatic", typed).StatusCode, 404)
}
