package output

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

const (
	fakeID     = "01890000-0000-7000-8000-000000000001"
	fakeTwinID = "01890000-0000-7000-8001-000000000002" // of the same millisecond
)

// newFakeOp returns an operation of these types, for its answers.
func newFakeOp[In, Out any](name string, traits ...op.Trait) *op.Op {
	return op.Add(&op.Table{}, name, "POST /v1/answers", "Answer.", op.Account, op.NoTool,
		func(struct{}, context.Context, *identity.Actor, In) (out Out, err error) { return out, nil }, traits...).Op
}

// printed returns what a printer writes for an answer of the operation.
func printed(t *testing.T, o *op.Op, names map[loci.ID]string, raw string) (out, notes string) {
	t.Helper()
	var text, errs bytes.Buffer
	p := &Printer{Console: &console.Console{Out: &text, Err: &errs}, Names: names}
	testenv.NoError(t, p.Print(o, []byte(raw)))
	return text.String(), errs.String()
}

type started struct {
	Record  loci.Source        `json:"record"`
	Context loci.MemoryContext `json:"context"`
}

func TestSnapshotBesideRecordIsPrintedLast(t *testing.T) {
	t.Parallel()
	raw := `{"ok":true,"record":{"name":"x"},"context":{"groups":[{"type":"fact"}],"markdown":"# Memories\n\nNone.\n"}}`
	out, _ := printed(t, newFakeOp[loci.Empty, started]("record.start"), nil, raw)
	testenv.Equal(t, out, "name  x\n\n# Memories\n\nNone.\n")
}

func TestEmptyAnswerPrintsDone(t *testing.T) {
	t.Parallel()
	out, notes := printed(t, newFakeOp[loci.Empty, loci.OneUser]("account.me"), nil,
		`{"ok":true,"routing":{"matched":[]}}`)
	testenv.Equal(t, out+notes, "Nothing found.\n")
}

func TestTableFitsTerminal(t *testing.T) {
	t.Parallel()
	const id, title, at = fakeID, "A rather long title that goes on for a while", `"2026-11-22T09:30:00.000Z"`
	record := func(kind string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"id": json.RawMessage(`"` + id + `"`), "score": json.RawMessage("0.4909"),
			"title": json.RawMessage(`"` + title + `"`),
			"type":  json.RawMessage(`"` + kind + `"`), "updatedAt": json.RawMessage(at)}
	}
	columns := newFakeOp[loci.ListMemories, loci.FoundMemories]("memory.search").Presentation().
		Members["memories"].Columns
	for _, c := range []struct {
		room, width int
		kind, heads string
		id          int
		title, time int
	}{
		{200, 86, "fact", "ID SCORE TITLE TYPE UPDATED", 8, len(title), 16},
		{100, 86, "fact", "ID SCORE TITLE TYPE UPDATED", 8, len(title), 16},
		{80, 80, "fact", "ID SCORE TITLE TYPE UPDATED", 8, 38, 16},
		{80, 80, "architecture", "ID SCORE TITLE TYPE UPDATED", 8, 36, 10},
		{60, 60, "fact", "ID SCORE TITLE TYPE", 8, 36, 0},
		{50, 50, "fact", "ID SCORE TITLE", 8, 32, 0},
		{30, 38, "fact", "ID TITLE", 8, 28, 0},
		{5, 38, "fact", "ID TITLE", 8, 28, 0},
	} {
		table := fitWidth(buildColumns([]map[string]json.RawMessage{record(c.kind)}, columns), c.room)
		var heads []string
		for _, column := range table {
			heads = append(heads, column.cells[0])
			if want := map[string]int{"id": c.id, "title": c.title, "updatedAt": c.time}[column.Name]; want != 0 &&
				column.width != want {
				t.Errorf("%d: %s is %d wide, not %d", c.room, column.Name, column.width, want)
			}
		}
		if got := strings.Join(heads, " "); got != c.heads || tableWidth(table, 0) != c.width {
			t.Errorf("%d: %s, %d wide; want %s, %d", c.room, got, tableWidth(table, 0), c.heads, c.width)
		}
	}
}

func TestInvitationTableKeepsAddressAndLink(t *testing.T) {
	t.Parallel()
	const email, link = "ada.lovelace.of.london@analytical-engines.example.org",
		"https://loci.example.org/invite?id=01890000&token=abcdefghijklmnopqrstuvwxyz"
	record := map[string]json.RawMessage{"id": quote(fakeID),
		"workspaceName": quote("A workspace with quite a long name"), "email": quote(email),
		"inviteUrl": quote(link),
		"role":      quote("member")}
	columns := newFakeOp[loci.Empty, loci.CreatedInvitations]("invitation.create", op.Creates).Presentation().
		Members["invitations"].Columns
	for _, room := range []int{30, 80, 120, 400} {
		cut := false
		for _, c := range fitWidth(buildColumns([]map[string]json.RawMessage{record}, columns), room) {
			switch c.Name {
			case "email", "inviteUrl":
				if c.width != len(c.cells[1]) {
					t.Errorf("%d: %s is cut to %d", room, c.Name, c.width)
				}
			case "workspaceName":
				cut = c.width < len(c.cells[1])
			}
		}
		testenv.Equal(t, cut, room < 400, room)
	}
}

func TestDisplayValueFormatsForPeople(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`9007199254740991`: "unlimited", `7`: "7", `"a"`: "a", `["a","b"]`: "a, b",
		`[]`: "", `true`: "true", `0.25`: "0.25"} {
		testenv.Equal(t, displayValue(json.RawMessage(raw), false), want)
	}
}

func TestTableShortensIDsToDistinctEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ids, want []string }{
		{[]string{fakeID, "01890000-0000-7000-8001-000100000001"}, []string{"000000001", "100000001"}},
		{[]string{fakeID, fakeTwinID}, []string{"00000001", "00000002"}},
		{[]string{fakeID, fakeID, "", "x"}, []string{"00000001", "00000001", "", "x"}},
		{[]string{"agt_0189000000007000800000000abcdef1"}, []string{"0abcdef1"}},
	} {
		for _, name := range []string{"id", "userId", "sessionId"} {
			table := []*column{{Column: op.Column{Name: name}, cells: append([]string{"ID"}, c.ids...)}}
			shortenIDs(table)
			testenv.EqualSlices(t, table[0].cells[1:], c.want)
		}
	}
}

func TestSearchShowsAtlasAndHighlight(t *testing.T) {
	t.Parallel()
	raw := `{"ok":true,"memories":[{"id":"` + fakeID +
		`","atlasId":"a1","title":"Basalt","score":0.9,"highlights":["the stone\nis basalt"]},` +
		`{"id":"` + fakeTwinID +
		`","atlasId":"a2","title":"Same","score":0.8,"highlights":["Same"]}],"mode":"keyword","nextCursor":"next"}`
	out, notes := printed(t, newFakeOp[loci.ListMemories, loci.FoundMemories]("memory.search"),
		map[loci.ID]string{"a1": "Team/Inbox"}, raw)
	lines := strings.Split(out, "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], "ATLAS") || !strings.Contains(lines[1], "Basalt  Team/Inbox") ||
		lines[2] != "    the stone is basalt" || !strings.Contains(lines[3], "Same") {
		t.Errorf("%q", lines)
	}
	testenv.Equal(t, notes, "There is more: --all, or --cursor next\n")
}

func TestSearchPrintsNotes(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		`{"corrected":[{"from":"basallt","to":"basalt"},{"from":"berlim","to":"ber\u001b[31mlin"}]}`: "Corrected: " +
			"basalt for basallt, ber␛[31mlin for berlim\n",
		`{"ignoredTerms":["a1","a2","a3","a4","a5","a6","a7","a8","a9","b1","b2","b3"]}`: "Ignored, because the " +
			"query has too many words: a1, a2, a3, a4, a5, a6, a7, a8, a9, b1, and 2 more\n",
		`{"requestedMode":"auto"}`:          "",
		`{"hint":"Little \u001b[31mfits."}`: "Little ␛[31mfits.\n",
	} {
		for list, nothing := range map[string]string{`[{"id":"` + fakeID + `","title":"Basalt"}]`: "",
			`[]`: "Nothing found.\n"} {
			out, notes := printed(t, newFakeOp[loci.ListMemories, loci.FoundMemories]("memory.search"), nil,
				`{"ok":true,"memories":`+list+`,"mode":"keyword","meta":`+meta+`}`)
			if strings.Contains(meta, "hint") {
				nothing = "" // the hint says it
			}
			testenv.Equal(t, notes, nothing+want)
			if strings.Contains(out, "orrected") {
				t.Errorf("the table has %s", out)
			}
		}
	}
}

func TestRecordHasNamesAndSizes(t *testing.T) {
	t.Parallel()
	out, _ := printed(t, newFakeOp[loci.GetMemory, loci.MemoryDetail]("memory.get"),
		map[loci.ID]string{fakeID: "Plans"},
		`{"ok":true,"id":"x","atlasId":"`+fakeID+`","usedBytes":1536,"limitBytes":9007199254740991,"size":5}`)
	testenv.Equal(t, out, "id           x\natlas-id     Plans ("+fakeID+")\nused-bytes   1.5 KiB\n"+
		"limit-bytes  unlimited"+
		"\nsize         5 bytes\n")
}

func TestTableNamesWorkspacesWhenSeveral(t *testing.T) {
	t.Parallel()
	record := func(id, name, workspace string) string {
		return `{"id":"` + id + `","workspaceId":"` + workspace + `","name":"` + name + `"}`
	}
	for _, c := range []struct{ list, want string }{
		{record(fakeID, "Inbox", fakeID) + "," + record(fakeTwinID, "Inbox", fakeTwinID),
			"ID NAME WORKSPACE " + fakeID + " Inbox Team " + fakeTwinID + " Inbox 00000002"},
		{record(fakeID, "Inbox", fakeID) + "," + record(fakeTwinID, "Plans", fakeID),
			"ID NAME " + fakeID + " Inbox " + fakeTwinID + " Plans"},
	} {
		out, _ := printed(t, newFakeOp[loci.ListAtlases, loci.Atlases]("atlas.list"),
			map[loci.ID]string{fakeID: "Team"}, `{"ok":true,"atlases":[`+c.list+`]}`)
		testenv.Equal(t, strings.Join(strings.Fields(out), " "), c.want)
	}
}

func TestGrantsAreShownByNamesOfClientsAndWorkspaces(t *testing.T) {
	t.Parallel()
	raw := testenv.Must(json.Marshal(loci.Grants{Grants: []loci.Grant{{ID: fakeID, Client: loci.GrantClient{ID: "3f2a",
		Name: "Claude Code"}, Workspaces: []loci.GrantWorkspace{{ID: fakeID, Name: "Crew"}, {ID: fakeTwinID,
		Name: "Club"}}, CreatedAt: 1}, {ID: fakeTwinID, Client: loci.GrantClient{ID: "nameless"}, CreatedAt: 1}}}))(t)
	out, _ := printed(t, newFakeOp[loci.ListGrants, loci.Grants]("grant.list"), nil, string(raw))
	for _, want := range []string{"Claude Code", "Crew, Club", "nameless"} {
		testenv.Contains(t, out, want)
	}
	if strings.Contains(out, "{") {
		t.Errorf("JSON is in\n%s", out)
	}
}
