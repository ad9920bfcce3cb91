package resolve

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// moderate is an input with several ids.
type moderate struct {
	SessionID   loci.ID   `json:"sessionId,omitzero" id:"session"`
	CandidateID loci.ID   `json:"candidateId,omitzero" id:"candidate"`
	UnitID      loci.ID   `json:"unitId,omitzero" id:"unit"`
	AgentID     loci.ID   `json:"agentId,omitzero" id:"agent"`
	SessionIDs  []loci.ID `json:"sessionIds,omitzero" id:"session"`
	AtlasID     loci.ID   `json:"atlasId,omitzero" id:"atlas"`
	WorkspaceID loci.ID   `json:"workspaceId,omitzero" id:"workspace"`
	UserID      loci.ID   `json:"userId,omitzero" id:"user"`
}

type idPage struct {
	Records []struct{} `json:"records"`
	loci.Page
}

type fakeService struct{}

func (fakeService) moderate(context.Context, *identity.Actor, moderate) (out loci.Empty, err error) {
	return out, nil
}

func (fakeService) candidates(context.Context, *identity.Actor, loci.ListCandidates) (out idPage, err error) {
	return out, nil
}

func (fakeService) list(context.Context, *identity.Actor, struct{ loci.Paging }) (out idPage, err error) {
	return out, nil
}

const (
	session, candidate = "01a20154-2c96-728a-887c-000000000001", "01a20154-2c97-728a-887c-000000000002"
	later              = "01a20154-2c96-728a-887c-000000000009"
	agent              = "agt_01a201542c98728a887c000000000003"
	team, home         = "01a20154-2c99-728a-887c-000000000004", "01a20154-2c99-728a-887c-000000000005"
	shelf, oldShelf    = "01a20154-2ca0-728a-887c-000000000006", "01a20154-2ca0-728a-887c-000000000007"
	crew               = "01a20154-2c99-728a-887c-00000000000b"
	homeShelf, plans   = "01a20154-2ca0-728a-887c-000000000008", "01a20154-2ca0-728a-887c-00000000000a"
)

var answers = map[string]string{
	"session.list": `{"ok":true,"sessions":[{"id":"` + session + `","task":"Ship it"},{"id":"` + later +
		`","task":"Ship more"}]}`,
	"session.candidates": `{"ok":true,"candidates":[{"id":"` + candidate + `","sessionId":"` + session + `"}]}`,
	"member.list":        `{"ok":true,"members":[{"userId":"` + session + `","name":"Ada","email":"ada@example.org"}]}`,
	"agent.list":         `{"ok":true,"agents":[{"id":"` + agent + `","name":"Night Watch"}]}`,
	"workspace.list": `{"ok":true,"workspaces":[{"id":"` + team + `","name":"Crew","role":"owner"},{"id":"` + home +
		`","name":"Home"},{"id":"` + crew + `","name":"crew","role":"member"}]}`,
	"atlas.list": `{"ok":true,"atlases":[{"id":"` + shelf + `","name":"Shelf","workspaceId":"` + team + `"},{"id":"` +
		oldShelf + `","name":"SHELF","workspaceId":"` + team + `","status":"archived"},{"id":"` + homeShelf +
		`","name":"shelf","workspaceId":"` + home + `"},{"id":"` + plans + `","name":"Plans","workspaceId":"` + home +
		`","status":"archived"}]}`,
}

// newReader returns a reader of answers, which counts the pages that it reads, and an operation with ids.
func newReader() (r Reader, o *op.Op, pages map[string]int) {
	table := &op.Table{}
	o = op.Add(table, "session.moderate", "POST /sessions/{sessionId}/moderate", "Decide.", op.Account, op.NoTool,
		fakeService.moderate).Op
	for name := range answers {
		if name == "session.candidates" {
			op.Add(table, name, "GET /"+name, "List.", op.Account, op.NoTool, fakeService.candidates)
			continue
		}
		op.Add(table, name, "GET /"+name, "List.", op.Account, op.NoTool, fakeService.list)
	}
	pages = map[string]int{}
	return Reader{Table: table, Call: func(_ context.Context, o *op.Op, _ []byte, _ int) ([]byte, error) {
		pages[o.Name]++
		return []byte(answers[o.Name]), nil
	}}, o, pages
}

func TestExpandReplacesPartsAndNames(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"userId":"ADA@example.org"}`: `{"userId":"` + session + `"}`,
		`{"userId":"00000001"}`:        `{"userId":"` + session + `"}`,
		`{"sessionId":"01a20154-2c96-728a-887c-000000000001","candidateId":"01A20154-2C97"}`: `{"candidateId":"` +
			candidate + `","sessionId":"` + session + `"}`,
		`{"sessionId":"000000000001"}`:                            `{"sessionId":"` + session + `"}`,
		`{"agentId":"agt_01a201542c98","unitId":"any"}`:           `{"agentId":"` + agent + `","unitId":"any"}`,
		`{"agentId":"0000000003"}`:                                `{"agentId":"` + agent + `"}`,
		`{"agentId":" night watch "}`:                             `{"agentId":"` + agent + `"}`,
		`{"sessionIds":["00000009","` + session + `"]}`:           `{"sessionIds":["` + later + `","` + session + `"]}`,
		`{"sessionIds":["01a20154",5]}`:                           `{"sessionIds":["01a20154",5]}`,
		`{"atlasId":"sHELF","workspaceId":"` + team + `"}`:        `{"atlasId":"` + shelf + `","workspaceId":"` + team + `"}`,
		`{"atlasId":"plans"}`:                                     `{"atlasId":"` + plans + `"}`,
		`{"atlasId":"","workspaceId":null}`:                       `{"atlasId":"","workspaceId":null}`,
		`{"sessionId":"Ship it"}`:                                 `{"sessionId":"Ship it"}`,
		`{"workspaceId":"` + strings.Repeat("x", maxText+1) + `"`: `{"workspaceId":"xxx`,
		`{"sessionId":"01a20155"}`:                                "No session has an id that begins or ends with 01a20155",
		`{"sessionId":"01a2015"}`:                                 "at least the first or last 8 characters",
		`{"agentId":"agt_01a2"}`:                                  `There is no agent of that name or id: there are "Night Watch". An agent is here from its first`,
		`{"sessionId":"01a20154-2c96"}`: `2 session records answer to "01a20154-2c96": use the whole id of one: ` +
			session + `, ` + later,
		`{"workspaceId":"home"}`:       `{"workspaceId":"` + home + `"}`,
		`{"atlasId":"home/Shelf"}`:     `{"atlasId":"` + homeShelf + `"}`,
		`{"atlasId":"Home/plans"}`:     `{"atlasId":"` + plans + `"}`,
		`{"atlasId":"Crew/Plans"}`:     `There is no atlas of that name or id`,
		`{"sessionId":"Crew/Session"}`: `{"sessionId":"Crew/Session"}`,
		`{"workspaceId":"Crew"}`: `2 workspace records answer to "Crew": use the id of one: "Crew" (` + team + `, ` +
			`you are owner), "crew" (` + crew + `, you are member)`,
		`{"atlasId":"Shelf"}`: `2 atlas records answer to "Shelf": use the path or the id of one, or name its ` +
			`workspace too: "Crew/Shelf" (` + shelf + `), "Home/shelf" (` + homeShelf + `)`,
	} {
		r, o, _ := newReader()
		got, err := r.Expand(t.Context(), o, []byte(input))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s becomes %s, want %s", input, got, want)
		}
	}
}

// TestCompleteFindsWhatIsLeftOut completes the sessions of candidates and the workspaces of lists.
func TestCompleteFindsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	const full = `{"candidateId":"` + candidate + `","sessionId":"` + session + `"}`
	for _, c := range []struct{ op, workspaces, input, want string }{
		{"session.moderate", "", `{"candidateId":"01a20154-2c97"}`, full},
		{"session.moderate", "", `{"candidateId":"` + candidate + `","sessionId":null}`, `"sessionId":null`},
		{"session.moderate", "none", `{"candidateId":"01a20154-2c97"}`, full},
		{"session.moderate", "", `{"candidateId":"01a20158-2c97"}`, "No candidate has an id"},
		{"session.moderate", "", `{"candidateId":"` + plans + `"}`, `,"sessionId":"` + later + `"}`}, // of a member
		{"session.moderate", "", `{"candidateId":"01a2"}`, "at least the first or last 8"},
		{"session.moderate", "", `{"candidateId":5}`, "A candidate is named by its id"},
		{"agent.all", "personal team", `{}`, `{"workspace_id":"id2"}`},
		{"agent.all", "personal", `{}`, `{"workspace_id":"id1"}`},
		{"agent.all", "team personal team", `{"limit":5}`, `{"limit":5,"workspace_id":"id2"}`},
		{"agent.all", "team team", `{}`, "--workspace-id"},
		{"agent.all", "team", `{"workspace_id":"crew"}`, `{"workspace_id":"crew"}`},
	} {
		r, moderate, _ := newReader()
		op.Add(r.Table, "agent.all", "GET /all-agents", "List.", op.Account, op.NoTool,
			func(fakeService, context.Context, *identity.Actor, loci.ListAgents) (out idPage, err error) {
				return out, nil
			})
		read := r.Call
		r.Call = func(ctx context.Context, o *op.Op, input []byte, page int) ([]byte, error) {
			if strings.Contains(string(input), "managed") {
				if c.workspaces == "none" {
					return nil, loci.NewError(loci.CodeForbidden)
				}
				return []byte(`{"candidates":[{"id":"` + plans + `","sessionId":"` + later + `"}]}`), nil
			}
			if o.Name != "workspace.list" {
				return read(ctx, o, input, page)
			}
			var list []string
			for i, kind := range strings.Fields(c.workspaces) {
				list = append(list, fmt.Sprintf(`{"id":"id%d","kind":%q}`, i+1, kind))
			}
			return []byte(`{"workspaces":[` + strings.Join(list, ",") + `]}`), nil
		}
		o := moderate
		if c.op != o.Name {
			o = r.Table.Op(c.op)
		}
		got, err := r.Complete(t.Context(), o, []byte(c.input))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), c.want) {
			t.Errorf("%s %s becomes %s, want %s", c.op, c.input, got, c.want)
		}
	}
}

func TestExpandReadsAListOnce(t *testing.T) {
	t.Parallel()
	r, o, pages := newReader()
	if _, err := r.Expand(t.Context(), o, []byte(`{"sessionIds":["00000001","00000009","000000001"]}`)); err != nil ||
		fmt.Sprint(pages) != "map[session.list:1]" {
		t.Errorf("%v, read %v", err, pages)
	}
	if _, err := r.Expand(t.Context(), o, []byte(`{"sessionIds":["`+session+`"]}`)); err != nil || len(pages) > 1 {
		t.Errorf("a whole id: %v, read %v", err, pages)
	}
}

func TestListNameExplainsWhatIsNoID(t *testing.T) {
	t.Parallel()
	r, o, _ := newReader()
	r.ListName = func(list *op.Op) string { return "the list " + list.Name }
	_, err := r.Expand(t.Context(), o, []byte(`{"sessionIds":["Ship it"]}`))
	if !loci.Is(err, loci.CodeNotFound) ||
		!strings.Contains(err.Error(), `No session has the id "Ship it": the list session.list shows the ids.`) {
		t.Error(err)
	}
}

func TestWholeIDGoesBeforeNames(t *testing.T) {
	t.Parallel()
	for _, first := range []Record{{ID: team}, {ID: home, Name: team}} {
		got, err := Find("workspace", team, func(yield func(Record, error) bool) {
			for _, r := range []Record{first, {ID: home, Name: team}, {ID: team, Name: "Crew"}} {
				if !yield(r, nil) {
					return
				}
			}
			t.Error("the list was read to its end")
		})
		if err != nil || got.ID != team {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestErrorForAgentShowsNoTextOfOthers(t *testing.T) {
	t.Parallel()
	r, o, _ := newReader()
	for shown, r := range map[bool]Reader{false: r, true: {Table: r.Table, Call: r.Call,
		ListName: func(o *op.Op) string { return o.Name }}} {
		_, err := r.Expand(t.Context(), o, []byte(`{"sessionId":"01a20154-2c96"}`))
		if err == nil || strings.Contains(err.Error(), "Ship") != shown {
			t.Errorf("texts are shown %t: %v", !shown, err)
		}
	}
}

func TestExpandLeavesRepeatedFieldsToTheOperation(t *testing.T) {
	t.Parallel()
	r, o, _ := newReader()
	const input = `{"sessionId":"00000009","sessionId":"00000001"}`
	if got, err := r.Expand(t.Context(), o, []byte(input)); err != nil || string(got) != input {
		t.Errorf("%s, %v", got, err)
	}
}

func TestFindEndsAfterManyRecords(t *testing.T) {
	t.Parallel()
	read := 0
	_, err := Find("memory", "01a20154", func(yield func(Record, error) bool) {
		for yield(Record{ID: candidate}, nil) {
			read++
		}
	})
	if !loci.Is(err, loci.CodeInvalidQuery) || !strings.Contains(err.Error(), "more than 10000 memory records") ||
		read != maxScanned {
		t.Errorf("%v after %d records", err, read)
	}
}

func TestErrorListsFewNames(t *testing.T) {
	t.Parallel()
	_, err := Find("atlas", "Garden", func(yield func(Record, error) bool) {
		for n := range 60 {
			if !yield(Record{Name: fmt.Sprint("Shelf ", n/2)}, nil) {
				return
			}
		}
	})
	text := loci.AsError(err).Message
	if strings.Count(text, "Shelf") != maxListed || !strings.HasSuffix(text, "and more.") {
		t.Error(text)
	}
}
