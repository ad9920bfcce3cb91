package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

func TestJSONFlagPrintsOperationObject(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("memory", "get", fakeID, "--json"); code != 0 {
		t.Fatal(d.err.String())
	}
	if got := d.out.String(); !strings.HasPrefix(got, `{"ok":true,"id":"`+fakeID) || !strings.Contains(got, `<b>`) ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("%s", got)
	}
	if code := d.run("invitation", "respond", "i", "--accept", "--confirm", "--json"); code != 0 ||
		d.out.String() != "{\"ok\":true}\n" {
		t.Errorf("%d %q", code, d.out.String())
	}
}

func TestListPrintsTable(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t, "TZ=UTC")
	if code := d.run("memory", "list"); code != 0 {
		t.Fatal(d.err.String())
	}
	lines := strings.Split(d.out.String(), "\n")
	if len(lines) != 4 || strings.Join(strings.Fields(lines[0]), " ") != "ID TITLE TYPE UPDATED" {
		t.Fatalf("%s", d.out.String())
	}
	if want := fakeTwinID + "  日本語 two  fact  2001-09-0"; !strings.HasPrefix(lines[2], want) {
		t.Errorf("%q, want %q", lines[2], want)
	}
	if !strings.HasPrefix(lines[1], fakeID+"  One         fact  ") {
		t.Errorf("not aligned: %q", lines[1])
	}
	if !strings.Contains(d.err.String(), "--cursor next") || strings.Contains(d.out.String(), "\x1b") {
		t.Errorf("%q %q", d.out.String(), d.err.String())
	}
	if code := d.run("memory", "list", "--limit", "1"); code != 0 || d.out.Len() != 0 ||
		d.err.String() != "Nothing found.\n" {
		t.Errorf("an empty list: %q %q", d.out.String(), d.err.String())
	}
	if code := d.run("invitation", "create", "w", "--emails", "a@b.c"); code != 0 ||
		!strings.Contains(d.out.String(), "a@b.c  already_member") {
		t.Errorf("the second list: %q", d.out.String())
	}
}

func TestGetPrintsFieldsAndContent(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("memory", "get", fakeID); code != 0 {
		t.Fatal(d.err.String())
	}
	got := d.out.String()
	for _, want := range []string{"title       Rock\n", "tags        a, b\n", "\n\n# Rock\nHard <b>[31m.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("a memory commands the terminal")
	}
	if code := d.run("memory", "create", "--content", "Hidden text"); code != 0 ||
		!strings.Contains(d.out.String(), "routing.atlas-id") && strings.Contains(d.out.String(), "content") {
		t.Errorf("%s", d.out.String())
	}
	if code := d.run("toy-box", "sort"); code != 0 || d.out.String() != "Done.\n" {
		t.Errorf("%q", d.out.String())
	}
}

func TestEmptyAnswerPrintsDone(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	p := &program{out: &out, err: &err}
	if e := p.printAnswer(fakeTable().Op("account.me"), []byte(`{"ok":true,"routing":{"matched":[]}}`)); e != nil ||
		out.Len() != 0 || err.String() != "Nothing found.\n" {
		t.Errorf("%v %q %q", e, out.String(), err.String())
	}
}

func TestTableFitsTerminal(t *testing.T) {
	t.Parallel()
	const id, title, at = fakeID, "A rather long title that goes on for a while", `"2026-11-22T09:30:00.000Z"`
	record := func(kind string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"id": json.RawMessage(`"` + id + `"`), "score": json.RawMessage("0.4909"),
			"title": json.RawMessage(`"` + title + `"`),
			"type":  json.RawMessage(`"` + kind + `"`), "updatedAt": json.RawMessage(at)}
	}
	columns := fakeTable().Op("memory.search").Presentation().Members["memories"].Columns
	for _, c := range []struct {
		room, width int
		kind, heads string
		id          int
		title, time int
	}{
		{200, 114, "fact", "ID SCORE TITLE TYPE UPDATED", 36, len(title), 16},
		{100, 91, "fact", "ID SCORE TITLE TYPE UPDATED", 13, len(title), 16},
		{80, 80, "fact", "ID SCORE TITLE TYPE UPDATED", 13, 33, 16},
		{80, 80, "architecture", "ID SCORE TITLE TYPE UPDATED", 13, 31, 10},
		{60, 60, "fact", "ID SCORE TITLE TYPE", 13, 31, 0},
		{50, 50, "fact", "ID TITLE", 13, 35, 0},
		{30, 43, "fact", "ID TITLE", 13, 28, 0},
		{5, 43, "fact", "ID TITLE", 13, 28, 0},
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
	record := map[string]json.RawMessage{"id": jsonString(fakeID),
		"workspaceName": jsonString("A workspace with quite a long name"), "email": jsonString(email),
		"inviteUrl": jsonString(link),
		"role":      jsonString("member")}
	columns := fakeTable().Op("invitation.create").Presentation().Members["invitations"].Columns
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
		if cut != (room < 400) {
			t.Errorf("%d: the name of the workspace is cut: %v", room, cut)
		}
	}
}

func TestSlowCloseIsExplained(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	open := d.openLocal
	d.openLocal = func(ctx context.Context, dir string, oneShot bool) (op.Caller, func() error, error) {
		c, _, err := open(ctx, dir, oneShot)
		if !oneShot {
			t.Error("a command is not brief")
		}
		return c, func() error { time.Sleep(1200 * time.Millisecond); return nil }, err
	}
	if code := d.run("memory", "create", "--content", "x", "--json"); code != 0 ||
		!strings.Contains(d.err.String(), "a long text is still being embedded") ||
		strings.Count(d.out.String(), "\n") != 1 {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
}

func TestErrorsArePrintedAsTextAndJSON(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("memory", "get", "nowhere"); code != 1 || d.out.Len() != 0 ||
		!strings.Contains(d.err.String(), "(not_found)") {
		t.Errorf("%d %q %q", code, d.out.String(), d.err.String())
	}
	code := d.run("memory", "get", "nowhere", "--json")
	var p map[string]string
	if err := json.Unmarshal(d.out.Bytes(), &p); code != 1 || err != nil || p["code"] != "not_found" ||
		p["error"] != "not_found" || len(p["requestId"]) != 36 || d.err.Len() != 0 {
		t.Errorf("%d %s %q", code, d.out.String(), d.err.String())
	}
	for _, args := range [][]string{{"explode"}, {"memory", "explode"}, {"memory", "list", "extra"}, {"memory", "get"},
		{"memory", "list", "--nope"}, {"memory", "list", "--limit"},
		{"--local", "--server", "https://x.example.org", "memory", "list"}, {"auth", "setup"},
		{"mcp", "--toolset", "most"}, {"completion", "none"}, {"login"}} {
		if code := d.run(args...); code != 2 || d.err.Len() == 0 || d.out.Len() != 0 {
			t.Errorf("%v: %d %q %q", args, code, d.out.String(), d.err.String())
		}
	}
	if d.run("memory", "serch", "x"); !strings.Contains(d.err.String(), `did you mean "search"`) {
		t.Errorf("%s", d.err.String())
	}
}

func TestHelpListsFlagsAndExample(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("memory", "create", "--help"); code != 0 {
		t.Fatal(code)
	}
	for _, want := range []string{"--content", "--source-position", "--idempotency-key", "(required)", "fact, decision",
		"minutes.md"} {
		if !strings.Contains(d.out.String(), want) {
			t.Errorf("no %s in:\n%s", want, d.out.String())
		}
	}
	if d.run("memory", "list", "--help"); !strings.Contains(d.out.String(), " Previous nextCursor\n") {
		t.Errorf("a name has lost its letters:\n%s", d.out.String())
	}
	for _, args := range [][]string{{"atlas", "update"}, {"invitation", "create"}, {"toy-box", "sort"},
		{"account", "me"}} {
		if d.run(append(args, "--help")...); !strings.Contains(d.out.String(), "loci "+strings.Join(args, " ")) {
			t.Errorf("%v: %s", args, d.out.String())
		}
	}
}

func TestCommandsWorkOnServer(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	local := map[string]string{}
	commands := []string{"memory get " + fakeID, "memory get nowhere", "memory list --type fact,note",
		"memory list --limit x", "memory search rock", "memory create --content x --tags a,b",
		"atlas update a1 --name N"}
	for _, line := range commands {
		d.run(append(strings.Fields(line), "--json")...)
		local[line] = withoutRequestID(d.out.String())
	}
	d.environ = append(d.environ, "LOCI_URL="+server.URL, "LOCI_API_KEY="+fakeKey)
	for _, line := range commands {
		d.run(append(strings.Fields(line), "--json")...)
		if got := withoutRequestID(d.out.String()); got != local[line] {
			t.Errorf("%s\nlocal  %s\nremote %s", line, local[line], got)
		}
	}
	if code := d.run("atlas", "update", "a1", "--name", "N", "--if-match", `"t"`, "--agent"); code != 0 ||
		d.service.actor.IfMatch != `"t"` || !d.service.actor.IsAgent {
		t.Errorf("%d %+v", code, d.service.actor)
	}
	if d.openCount != len(commands)-1 { // --limit x needs no call
		t.Errorf("the local database was opened %d times", d.openCount)
	}
}

func withoutRequestID(s string) string {
	before, _, _ := strings.Cut(s, `,"requestId"`)
	return strings.TrimSpace(before)
}

func TestDoctorPrintsTargetAndFailures(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("doctor", "--json"); code != 0 || !strings.Contains(d.out.String(), `"target":"local"`) ||
		!strings.Contains(d.out.String(), `"name":"database","ok":true`) {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
	if code := d.run("doctor"); code != 0 || !regexp.MustCompile(
		`(?m)^embedder  ok: minilm-l6-v2/int8-h128/1 with (go|avx2|avx512vnni), \d+\.\d ms for a short text$`).
		MatchString(d.out.String()) {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
	server := newFakeServer(t, d.service)
	d.environ = append(d.environ, "LOCI_URL="+server.URL)
	for key, want := range map[string]int{fakeKey: 0, "loci_live_wrong": 1, "": 1} {
		d.environ = append(d.environ, "LOCI_API_KEY="+key)
		if code := d.run("doctor"); code != want || !strings.Contains(d.out.String(), "LOCI_URL") ||
			strings.Contains(d.out.String(), "loci_live") || strings.Contains(d.out.String(), "embedder") {
			t.Errorf("%q: %d\n%s", key, code, d.out.String())
		}
	}
	server.Close()
	if code := d.run("doctor"); code != 1 || !strings.Contains(d.out.String(), "server    BROKEN") || d.err.Len() != 0 {
		t.Errorf("%d %s", code, d.out.String())
	}
	blocked := newTestTerminal(t)
	if err := os.WriteFile(blocked.home+"/.local", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := blocked.run("doctor"); code != 1 || !strings.Contains(blocked.out.String(), "folder    BROKEN") {
		t.Errorf("%d %s", code, blocked.out.String())
	}
}

func TestMCPCommandServesStdio(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	if code := d.run("mcp"); code != 0 || d.out.Len() != 0 || d.err.Len() != 0 {
		t.Errorf("%d %q %q", code, d.out.String(), d.err.String())
	}
	d.in = strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_get","arguments":{"memoryId":"` +
			fakeID + `"}}}` + "\n")
	if code := d.run("mcp", "--toolset", "core"); code != 0 || strings.Count(d.out.String(), "\n") != 2 ||
		!strings.Contains(d.out.String(), "Rock") {
		t.Errorf("%d %s", code, d.out.String())
	}
}

func TestDisplayValueFormatsForPeople(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`9007199254740991`: "unlimited", `7`: "7", `"a"`: "a", `["a","b"]`: "a, b",
		`[]`: "", `true`: "true", `0.25`: "0.25"} {
		if got := displayValue("limit", json.RawMessage(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestHelpOffersNoKeyFlagValue(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for _, c := range []struct{ args, has, lacks string }{
		{"login --help", "--key -  ", loci.KeyPrefix},
		{"serve --help", "LOCI_EMBED_KEY", "--embed-key"},
	} {
		if code := d.run(strings.Fields(c.args)...); code != 0 || !strings.Contains(d.out.String(), c.has) ||
			strings.Contains(d.out.String(), c.lacks) {
			t.Errorf("%s: %d\n%s", c.args, code, d.out.String())
		}
	}
	if code := d.run("login", "https://loci.example.org"); code != 2 ||
		!strings.Contains(d.err.String(), "sign in at https://loci.example.org") {
		t.Errorf("%d %s", code, d.err.String())
	}
}
