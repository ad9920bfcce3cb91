package cli

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestJSONFlagPrintsOperationObject(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "memory", "get", fakeID, "--json")
	if got := d.out.String(); !strings.HasPrefix(got, `{"ok":true,"id":"`+fakeID) || !strings.Contains(got, `<b>`) ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("%s", got)
	}
	if code := d.run("invitation", "respond", "i", "--accept", "--confirm", "--json"); code != 0 ||
		d.out.String() != "{\"ok\":true}\n" {
		t.Errorf("%d %q", code, d.out.String())
	}
}

func TestListOfAllMembersHasTheirNames(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	op.Add(d.table, "session.list", "GET /v1/sessions", "List.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.ListSessions) (loci.Sessions, error) {
			return loci.Sessions{Sessions: []loci.Session{
				{ID: fakeID, WorkspaceID: fakeID, UserID: fakeID, Task: "One"},
				{ID: fakeTwinID, WorkspaceID: fakeID, UserID: fakeTwinID, Task: "Two"}}}, nil
		})
	op.Add(d.table, "member.list", "GET /v1/workspaces/{workspaceId}/members", "List.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.ListMembers) (loci.Members, error) {
			return loci.Members{Members: []loci.Member{{UserID: fakeID, Name: "Ann"}, {UserID: "other"}}}, nil
		})
	for line, want := range map[string]string{
		"session list": "ID TASK " + fakeID + " One " + fakeTwinID + " Two",
		"session list --scope managed": "ID USER TASK " + fakeID + " Ann One " + fakeTwinID + " " + fakeTwinID[28:] +
			" Two", // the second user has left
	} {
		code := d.run(strings.Fields(line)...)
		got := regexp.MustCompile(` +STARTED| +\d{4}-\d\d-\d\d \S+`).ReplaceAllString(d.out.String(), "")
		if got = strings.Join(strings.Fields(got), " "); code != 0 || got != want {
			t.Errorf("%s: %d %s%s", line, code, got, d.err.String())
		}
	}
}

func TestRowThatFailedFailsTheCommand(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	results := []loci.BulkResult{{ID: fakeID, OK: true}, {ID: fakeTwinID, OK: true}}
	op.Add(d.table, "session.bulk", "POST /v1/sessions/bulk", "Archive.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.BulkSessions) (loci.BulkResults, error) {
			return loci.BulkResults{Results: results}, nil
		})
	line := []string{"session", "bulk", "--action", "archive", "--session-ids", fakeID + "," + fakeTwinID}
	if code := d.run(line...); code != 0 || d.err.Len() > 0 {
		t.Errorf("%d %q", code, d.err.String())
	}
	results[1] = loci.BulkResult{ID: fakeTwinID, Code: loci.CodeNotFound}
	for out, line := range map[string][]string{
		fakeTwinID + "  false  not_found\n":                                  line,
		`{"id":"` + fakeTwinID + `","ok":false,"code":"not_found"}]}` + "\n": append(line, "--json"),
	} {
		if code := d.run(line...); code != 1 || !strings.HasSuffix(d.out.String(), out) ||
			d.err.String() != "loci: 1 of 2 failed\n" {
			t.Errorf("%v: %d %q %q", line, code, d.out.String(), d.err.String())
		}
	}
}

func TestListPrintsTable(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t, "TZ=UTC")
	d.expectRun(t, 0, "", "memory", "list")
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
	d.expectRun(t, 0, "a@b.c  already_member", "invitation", "create", "w", "--emails", "a@b.c")
}

func TestGetPrintsFieldsAndContent(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "memory", "get", fakeID)
	got := d.out.String()
	for _, want := range []string{"title       Rock\n", "tags        a, b\n", "\n\n# Rock\nHard <b>␛[31m.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	d.expectRun(t, 0, "", "memory", "get", fakeID, "--content-only")
	testenv.Equal(t, d.out.String(), "# Rock\nHard <b>\x1b[31m.")
	d.expectRun(t, exitUsage, "content-only", "memory", "get", fakeID, "--content-only", "--json")
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

func TestSlowCloseIsExplained(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	told := make(notices, 1)
	open := d.openLocal
	d.openLocal = func(ctx context.Context, dir string, oneShot bool) (op.Caller, func() error, error) {
		c, _, err := open(ctx, dir, oneShot)
		if !oneShot {
			t.Error("a command is not brief")
		}
		return c, func() error { // returns when the notice was written
			if text := <-told; !strings.Contains(text, "a long text is still being embedded") {
				t.Error(text)
			}
			return nil
		}, err
	}
	p := &program{Console: console.Console{In: strings.NewReader(""), Out: &d.out, Err: told, Environ: d.Environ},
		deps: d.deps}
	if code := p.run(t.Context(), []string{"memory", "create", "--content", "x", "--json"}); code != 0 ||
		strings.Count(d.out.String(), "\n") != 1 {
		t.Errorf("%d %s", code, d.out.String())
	}
}

// notices receive the texts that a command prints.
type notices chan string

func (n notices) Write(p []byte) (int, error) {
	n <- string(p)
	return len(p), nil
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
}

func TestHelpListsFlagsAndExample(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "", "memory", "create", "--help")
	for _, want := range []string{"--content", "--source-position", "--idempotency-key", "(required)", "fact, decision",
		"minutes.md"} {
		if !strings.Contains(d.out.String(), want) {
			t.Errorf("no %s in:\n%s", want, d.out.String())
		}
	}
	if d.run("memory", "list", "--help"); !strings.Contains(d.out.String(), " (fact, decision, ") {
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
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL, "LOCI_API_KEY="+fakeKey)
	for _, line := range commands {
		d.run(append(strings.Fields(line), "--json")...)
		testenv.Equal(t, withoutRequestID(d.out.String()), local[line])
	}
	if code := d.run("atlas", "update", "a1", "--name", "N", "--if-match", `"t"`, "--agent"); code != 0 ||
		d.service.actor.IfMatch != `"t"` || d.service.actor.AgentID == "" {
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
	d.expectRun(t, 0, `"target":"local"`, "doctor", "--json")
	testenv.Contains(t, d.out.String(), `"name":"database","ok":true`)
	if code := d.run("doctor"); code != 0 || !regexp.MustCompile(
		`(?m)^embedder  ok: minilm-l6-v2/int8-h128/1 with (go|avx2|avx512vnni), \d+\.\d ms for a short text$`).
		MatchString(d.out.String()) {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
	server := newFakeServer(t, d.service)
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL)
	for key, want := range map[string]int{fakeKey: 0, "loci_live_wrong": 1, "": 1} {
		d.Environ = append(d.Environ, "LOCI_API_KEY="+key)
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
	testenv.NoError(t, os.WriteFile(blocked.home+"/.local", nil, 0o600))
	blocked.expectRun(t, 1, "folder    BROKEN", "doctor")
}

func TestMCPHelpNamesTheSetWithSessions(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	const want = "Only the set full has the tools of sessions (session_start"
	if d.run("mcp", "--help"); !strings.Contains(d.out.String(), want) {
		t.Error(d.out.String())
	}
	for _, o := range service.Ops.Ops {
		sets := o.Exposure.Toolsets()
		if strings.HasPrefix(o.Name, "session.") && len(sets) > 0 && !slices.Equal(sets, []op.Toolset{op.FullTools}) {
			t.Errorf("%s is in %v", o.Name, sets)
		}
	}
}

func TestHelpOffersNoKeyFlagValue(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for _, c := range []struct{ args, has, lacks string }{
		{"login --help", "--key -  ", loci.KeyPrefix},
		{"memory list --help", "Page size (1 to 100, default 20)", "(0 to"},
		{"serve --help", "LOCI_EMBED_KEY", "--embed-key"},
	} {
		if code := d.run(strings.Fields(c.args)...); code != 0 || !strings.Contains(d.out.String(), c.has) ||
			strings.Contains(d.out.String(), c.lacks) {
			t.Errorf("%s: %d\n%s", c.args, code, d.out.String())
		}
	}
	d.expectRun(t, 2, "sign in at https://loci.example.org", "login", "https://loci.example.org", "--key", "-")
}
