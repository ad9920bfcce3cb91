package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
)

// fullMemory is a memory of a team with all that a memory may have.
func fullMemory(content string) loci.Memory {
	const id = "01a20489-bb9f-728a-887c-2ed41f3c95f8"
	sure := loci.Confidence(.9)
	return loci.Memory{
		ID: id, WorkspaceID: id, AtlasID: id, Title: title.Derive(content), Content: content,
		Type: loci.TypeArchitecture, Tags: []string{"hosts", "staging"},
		Status: loci.MemoryActive, Version: 12, CreatedBy: id, CreatedAt: 1e15, UpdatedAt: 2e15, VerifiedAt: 3e15,
		VerifiedBy: id, Evidence: strings.Repeat("seen ", 100),
		Confidence: &sure, ValidUntil: 4e15, Expired: true, Supersedes: []loci.ID{id, id},
		Source: &loci.Source{Name: "wiki", URI: "https://wiki.example.com/hosts"},
	}
}

func TestProjectionOfListIsSmall(t *testing.T) {
	t.Parallel()
	const most = 300
	for _, content := range []string{"The staging host is called basalt.", strings.Repeat("A long text. ", 60)} {
		m := fullMemory(content)
		for name, answer := range map[string]any{
			"list": loci.Memories{Memories: []loci.Memory{m, m, m}},
			"search": loci.FoundMemories{Memories: []loci.FoundMemory{{Memory: m, Score: .0159,
				Highlights: []string{content}}, {Memory: m, Score: 12.3456, Highlights: []string{content}}}},
		} {
			raw := testenv.Must(op.Encode(answer))(t)
			b := projection{op.NewPresentation(reflect.TypeOf(answer)), nil}
			var shown struct{ Memories []map[string]json.RawMessage }
			if err := json.Unmarshal(b.apply(raw), &shown); err != nil || len(shown.Memories) < 2 {
				t.Fatalf("%s: %v", name, err)
			}
			for _, m := range shown.Memories {
				whole, _ := json.Marshal(m)
				beside := len(whole) - len(m["title"]) - len(m["content"])
				if beside > most || m["id"] == nil || m["atlasId"] == nil || m["verifiedAt"] == nil ||
					m["expired"] == nil {
					t.Errorf("%s: %d bytes, at most %d: %s", name, beside, most, whole)
				}
			}
		}
	}
}

func TestProjectionOmitsTitleWhenTextRepeatsIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	for _, test := range []struct {
		title, content string
		omits          bool
	}{
		{"The port is 3000.", "The port is 3000.", true},
		{"The port", "# The port\nIt is 3000.", true},
		{"The port", "Of the frontend.\n\n## The port ##\nIt is 3000.", true},
		{"The port", "**The port** is 3000.", true},
		{"Der „Port“", "Der „Port“ ist 3000.", true},
		{strings.Repeat("a", loci.MaxTitle), strings.Repeat("a", 400), true},
		{"The port", "The ports are open.", false},
		{"Ports", "The port is 3000. Ports", false},
		{"the port", "The port is 3000.", false},
		{"The end", long + "\nThe end\n", false},
		{"Decision of Monday", "The port is 3000.", false},
		{"", "The port is 3000.", false},
	} {
		m := loci.Memory{Title: test.title, Content: test.content}
		for _, answer := range []any{loci.Memories{Memories: []loci.Memory{m}},
			loci.FoundMemories{Memories: []loci.FoundMemory{{Memory: m}}}} {
			got := projectedTitle(t, answer)
			testenv.Equal(t, (got == nil), test.omits, test.title, test.content, got)
		}
	}
}

// projectedTitle returns the title of the only memory of an answer, or nil without one.
func projectedTitle(t *testing.T, answer any) json.RawMessage {
	t.Helper()
	raw := testenv.Must(op.Encode(answer))(t)
	var shown struct{ Memories []map[string]json.RawMessage }
	b := projection{op.NewPresentation(reflect.TypeOf(answer)), nil}
	if err := json.Unmarshal(b.apply(raw), &shown); err != nil || len(shown.Memories) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	return shown.Memories[0]["title"]
}

func TestProjectionOmitsDefaults(t *testing.T) {
	t.Parallel()
	type part struct {
		Name  string   `json:"name"`
		State string   `json:"state" show:"unless=well"`
		Marks []string `json:"marks" show:"unless=[]"`
		Owner string   `json:"owner" show:"-"`
	}
	type record struct {
		part
		Title   string   `json:"title" show:"heading"`
		Content string   `json:"content" show:"text"`
		Spots   []string `json:"spots" show:"snippets"`
	}
	type answer struct {
		Records []record `json:"records"`
		Groups  []struct {
			Parts []part `json:"parts" show:"without=name"`
		} `json:"groups"`
		Alone *part `json:"alone"`
	}
	long := strings.Repeat("é", maxSearchText)
	for in, want := range map[string]string{
		`{"ok":true, "records": [ ]}`: `{"ok":true,"records":[]}`,
		`{"records":[{"name":"a","state":"well","marks":[],"owner":"o","content":"c","spots":["c"]},{"name":"b",` +
			`"state":"ill","marks":["m"],"content":"` + long + `x","spots":["` + long + `"]}],` +
			`"more":{"owner":1}}`: `{"records":[{"name":"a","content":"c"},{"name":"b","state":"ill",` +
			`"marks":["m"],"content":"` + long + `","truncated":true}],"more":{"owner":1}}`,
		`{"records":[{"content":"` + long +
			`","spots":["é"]}]}`: `{"records":[{"content":"` + long + `"}]}`,
		`{"groups":[{"parts":[{"name":"a","owner":"o"},{"name":"b","state":"x"}]},` +
			`{"parts":[]}]}`: `{"groups":[{"parts":[{},{"state":"x"}]},{"parts":[]}]}`,
	} {
		b := projection{op.NewPresentation(reflect.TypeFor[answer]()), nil}
		if got := b.apply([]byte(in)); string(got) != want {
			t.Errorf("%s becomes\n%s, want\n%s", in, got, want)
		}
	}
	if b := op.NewPresentation(reflect.TypeFor[loci.MemoryDetail]()); b.Members == nil || b.TrimsLists {
		t.Error("a memory that stands alone is not shown whole")
	}
	if b := op.NewPresentation(reflect.TypeFor[loci.Atlases]()); b.TrimsLists {
		t.Error("a list of which nothing is omitted is trimmed")
	}
}

func TestWriteShowsWhatCallerCannotKnow(t *testing.T) {
	t.Parallel()
	const secret = "what was sent"
	m := fullMemory(strings.Repeat(secret+" ", 200))
	m.Title, m.SupersededBy, m.Unchanged = strings.Repeat("é", 90), m.ID, true
	m.Tags = []string{secret}
	similar := loci.Similarity{ID: m.ID, Score: .9, Title: strings.Repeat("t", 90)}
	names := func(resource string, id []byte) []byte {
		if resource != "atlas" || string(id) != `"`+string(m.AtlasID)+`"` {
			return nil
		}
		return []byte(`"Hosts"`)
	}
	brief := `"id":"` + string(m.ID) + `","atlas":{"id":"` + string(m.ID) + `","name":"Hosts"},"title":"` +
		strings.Repeat("é", 80) + `","status":"active","version":12,"supersededBy":"` + string(m.ID) +
		`","unchanged":true`
	three := strings.Repeat(`,{"id":"`+string(m.ID)+`","score":0.9,"title":"`+strings.Repeat("t", 80)+
		`"}`, 3)[1:]
	for name, test := range map[string]struct {
		answer any
		want   string
	}{
		"one": {loci.OneMemory{Memory: m}, `{"ok":true,"memory":{` + brief + `}}`},
		"new": {loci.CreatedMemory{Memory: loci.NewMemory{Memory: m, Routing: loci.Routing{AtlasID: m.ID,
			Matched: []string{"a", "b"}}, DuplicateOf: m.ID, Similar: []loci.Similarity{similar, similar, similar,
			similar}}}, `{"ok":true,"memory":{` + brief + `,"routing":{"atlasId":"` + string(m.ID) +
			`","matched":["a","b"]},"duplicateOf":"` + string(m.ID) + `","similar":[` + three + `]}}`},
		"nothing": {loci.Empty{}, `{"ok":true}`},
	} {
		raw := testenv.Must(op.Encode(test.answer))(t)
		b := projection{op.NewPresentation(reflect.TypeOf(test.answer)), names}
		if got := string(b.apply(raw)); got != test.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
}

func TestStatusShowsAbsentLimitsAsWord(t *testing.T) {
	t.Parallel()
	s := loci.AccountStatus{}
	s.Usage.Operations.Limit, s.Workspaces.Team.Limit, s.Usage.Storage.LimitBytes = loci.Unlimited, 3, loci.Unlimited
	b := projection{op.NewPresentation(reflect.TypeOf(s)), nil}
	got := string(b.apply(testenv.Must(op.Encode(s))(t)))
	if !b.TrimsLists || strings.Count(got, `"unlimited"`) != 2 || !strings.Contains(got, `"limit":3`) {
		t.Errorf("%s", got)
	}
}
