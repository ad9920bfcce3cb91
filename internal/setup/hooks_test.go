package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// hookTexts are files with hooks that a person had before.
var hookTexts = []struct{ name, text string }{
	{"no file", ""},
	{"empty file", ""},
	{"empty object", "{}\n"},
	{"other settings", "// mine\n{\n    \"model\": \"opus\", // at night\n    \"permissions\": {\"allow\": [],},\n}\n"},
	{"other hooks, comments", "{\n  \"hooks\": {\n    // log\n    \"Stop\": [\n      {\"hooks\": " +
		"[{\"type\": \"command\", \"command\": \"say done\"}]} // keep\n    ],\n    \"PreToolUse\": []\n  },\n" +
		"  \"model\": \"opus\"\n}\n"},
	{"empty lists", "{\"hooks\": {\"SessionStart\": [], \"Stop\": [], \"SessionEnd\": []}}\n"},
	{"CRLF, tabs, BOM", "\ufeff{\r\n\t\"hooks\": {\r\n\t\t\"UserPromptSubmit\": [\r\n\t\t\t{\"hooks\": []}\r\n" +
		"\t\t]\r\n\t}\r\n}"},
	{"one line", `{"a":1,"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"loci-log"}]}]}}`},
}

// wired returns a change of a client's hooks; a nil program removes them.
func (w *world) wired(client string, to *Connection) Change {
	c := w.change(client, to)
	c.Hooks = true
	return c
}

// hookOf returns the program that hooks of a client start.
func hookOf(client string, target ...string) *Connection {
	return &Connection{Command: "/opt/my tools/loci", Args: Lookup(client).HookArgs(target, []string{"agent", "--acp"})}
}

// TestHooksMatchGoldenFiles wires each client in each text, and compares the file with testdata/golden. The hooks are
// written once, and their removal restores every byte.
func TestHooksMatchGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, client := range HookNames() {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			texts := hookTexts
			if _, whole := Lookup(client).hooks.form.(script); whole {
				texts = texts[:1]
			}
			var out strings.Builder
			for _, before := range texts {
				fmt.Fprintf(&out, "== %s\n%s\n", before.name,
					strings.ReplaceAll(wiredText(t, client, before.name, before.text), "\r", "\\r"))
			}
			compareGolden(t, filepath.Join("testdata", "golden", "hooks-"+client+".golden"), out.String())
		})
	}
}

// wiredText returns the text with the hooks, and checks what holds for every text.
func wiredText(t *testing.T, client, name, before string) string {
	t.Helper()
	w := newWorld(t)
	path, to := w.hookFile(client), hookOf(client)
	if name == "no file" {
		before = "(no file)"
	} else {
		writeFile(t, path, before)
	}
	steps := []struct {
		to   *Connection
		want Action
	}{{to, Added}, {to, Unchanged}, {nil, Removed}, {nil, Absent}, {to, Added}}
	after := ""
	for i, step := range steps {
		out := w.run(w.wired(client, step.to))
		text := readText(t, path)
		if i == 0 {
			after = text
		}
		want := after
		if step.to == nil {
			want = before
		}
		if out.Action != step.want || out.File != path || text != want {
			t.Errorf("%s: step %d does %s in %s:\n%s\nwant %s:\n%s", name, i, out.Action, out.File, text, step.want,
				want)
		}
	}
	if s := w.wired(client, nil).hookStatus(); !s.Wired || s.File != path || !s.Command.Equal(*to) || s.Problem != "" {
		t.Errorf("%s: the status is %+v", name, s)
	}
	return after
}

// hookFile returns the file of a client's hooks.
func (w *world) hookFile(client string) string {
	w.t.Helper()
	f := testenv.Must(w.wired(client, nil).resolve().open())(w.t)
	return f.path
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o640))
}

func TestHooksAreInTheFolderOfTheClient(t *testing.T) {
	t.Parallel()
	for client, want := range map[string][2]string{
		"claude":    {"CLAUDE_CONFIG_DIR", ".claude/settings.json"},
		"codex":     {"CODEX_HOME", ".codex/hooks.json"},
		"opencode":  {"OPENCODE_CONFIG_DIR", ".config/opencode/plugins/loci.js"},
		"pi":        {"PI_CODING_AGENT_DIR", ".pi/agent/extensions/loci.js"},
		"workbuddy": {"WORKBUDDY_CONFIG_DIR", ".workbuddy/settings.json"},
		"zed":       {"", ".config/zed/settings.json"},
	} {
		w := newWorld(t)
		testenv.Equal(t, w.hookFile(client), filepath.Join(w.home, want[1]), client)
		if want[0] == "" {
			continue
		}
		other, home := t.TempDir(), w.system.Env
		w.system.Env = func(name string) string {
			if name == want[0] {
				return other
			}
			return home(name)
		}
		if got := w.hookFile(client); !strings.HasPrefix(got, other) || filepath.Base(got) != filepath.Base(want[1]) {
			t.Errorf("%s: %s", client, got)
		}
	}
}

func TestRemovalOfHooksLeavesNoFolder(t *testing.T) {
	t.Parallel()
	for _, client := range HookNames() {
		w := newWorld(t)
		for _, to := range []*Connection{hookOf(client), nil} {
			c := w.wired(client, to)
			c.Lock = filepath.Join(t.TempDir(), "lock")
			w.run(c)
		}
		if left, err := os.ReadDir(w.home); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left (%v)", client, left, err)
		}
	}
}

func TestBrokenHookFilesStay(t *testing.T) {
	t.Parallel()
	own := `{"type": "command", "command": "loci hook claude"}`
	for text, want := range map[string]string{
		"{\n  \"hooks\": {\n    \"Stop\": [,]\n  }\n}": "line 3, column 14: ",
		`{"hooks": []}`:            `"hooks" is not an object`,
		`{"hooks": {"Stop": {}}}`:  `"Stop" in "hooks" is not a list`,
		`{"hooks": {}, "hooks":1}`: "is a duplicate name",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x"}, ` + own + `]}]}}`: "beside others in one group",
	} {
		w := newWorld(t)
		path := w.hookFile("claude")
		writeFile(t, path, text)
		for _, to := range []*Connection{hookOf("claude"), nil} {
			_, err := w.wired("claude", to).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) ||
				readText(t, path) != text {
				t.Errorf("%s: %v, then %s", text, err, readText(t, path))
			}
		}
		if s := w.wired("claude", nil).hookStatus(); s.Wired || !strings.Contains(s.Problem, want) {
			t.Errorf("%s: the status is %+v", text, s)
		}
	}
}

// TestHooksOfAnotherProgramAreRenewed replaces the path of an older program in its place, and completes the events.
func TestHooksOfAnotherProgramAreRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.hookFile("codex")
	writeFile(t, path, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/loci-1.2 hook codex"}]}, `+
		`{"hooks": [{"type": "command", "command": "/old/loci-1.2 hook claude"}]}]}}`)
	w.expect(w.wired("codex", hookOf("codex", "--local")), Updated)
	text := readText(t, path)
	if n := strings.Count(text, `"command": "'/opt/my tools/loci' hook codex --local"`); n != 4 ||
		strings.Contains(text, "loci-1.2 hook codex") || !strings.Contains(text, "loci-1.2 hook claude") {
		t.Errorf("%s", text)
	}
	w.run(w.wired("codex", nil))
	want := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/loci-1.2 hook claude"}]}]}}`
	testenv.Equal(t, readText(t, path), want)
}

func TestSecondHookOfLociIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.hookFile("codex")
	w.run(w.wired("codex", hookOf("codex")))
	want := readText(t, path)
	const old = `{"hooks": [{"type": "command", "command": "/old/loci hook codex"}]}`
	at := strings.LastIndex(want, "]")
	writeFile(t, path, want[:at]+", "+old+want[at:])
	if out := w.run(w.wired("codex", hookOf("codex"))); out.Action != Updated ||
		strings.Contains(readText(t, path), "/old/loci") {
		t.Errorf("%s: %s", out.Action, readText(t, path))
	}
}

// TestOwnTimeoutStays leaves what a person changed in a group of Loci.
func TestOwnTimeoutStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.hookFile("claude")
	w.run(w.wired("claude", hookOf("claude")))
	text := strings.Replace(readText(t, path), `"timeout": 3`, `"timeout": 9`, 1)
	writeFile(t, path, text)
	if out := w.run(w.wired("claude", hookOf("claude"))); out.Action != Unchanged || readText(t, path) != text {
		t.Errorf("%s: %s", out.Action, readText(t, path))
	}
}

func TestScriptOfSomebodyElseNeedsForce(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"opencode", "pi"} {
		w := newWorld(t)
		path := w.hookFile(client)
		writeFile(t, path, "export default {}\n")
		for _, to := range []*Connection{hookOf(client), nil} {
			if _, err := w.wired(client, to).Run(t.Context()); loci.AsError(err).Code != loci.CodeConflict {
				t.Errorf("%s: %v", client, err)
			}
		}
		if s := w.wired(client, nil).hookStatus(); s.Wired {
			t.Errorf("%s: %+v", client, s)
		}
		c := w.wired(client, hookOf(client))
		c.Force = true
		w.expect(c, Updated)
		other := hookOf(client, "--server", "https://loci.example.org")
		w.expect(w.wired(client, other), Updated)
		if s := w.wired(client, nil).hookStatus(); !s.Wired || !s.Command.Equal(*other) {
			t.Errorf("%s: %+v", client, s)
		}
	}
}

func TestAgentBehindLociChangesWithItsCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.hookFile("zed")
	before := "{\n  // agents\n  \"agent_servers\": {\n    \"mine\": {\"command\": \"agent\"}\n  }\n}\n"
	writeFile(t, path, before)
	w.run(w.wired("zed", hookOf("zed")))
	other := &Connection{Command: "/opt/loci",
		Args: Lookup("zed").HookArgs([]string{"--local"}, []string{"opencode", "acp"})}
	w.expect(w.wired("zed", other), Updated)
	const want = "/opt/loci acp --local -- opencode acp"
	if s := w.wired("zed", nil).hookStatus(); !s.Wired || s.Command.String() != want {
		t.Errorf("%+v", s)
	}
	if s := w.change("zed", nil).status("user"); s.Connected {
		t.Errorf("the agent counts as a connection: %+v", s)
	}
	if w.run(w.wired("zed", nil)); readText(t, path) != before {
		t.Errorf("%s", readText(t, path))
	}
}

// TestHooksChangeWithTheirWorkspace replaces earlier hooks, and removes them whatever workspace they name.
func TestHooksChangeWithTheirWorkspace(t *testing.T) {
	t.Parallel()
	const one, two = "01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"
	for _, client := range HookNames() {
		for _, target := range [][]string{nil, {"--local"}, {"--server", "http://a.lan", "--plain-http"}} {
			w := newWorld(t)
			path := w.hookFile(client)
			before := 0
			for _, workspace := range []string{one, two, "", two} {
				args := slices.Clone(target)
				if workspace != "" {
					args = append(args, "--workspace-id", workspace)
				}
				to := hookOf(client, args...)
				want := map[bool]Action{true: Added, false: Updated}[before == 0]
				w.expect(w.wired(client, to), want)
				if out := w.run(w.wired(client, to)); out.Action != Unchanged {
					t.Errorf("%s %v: %+v", client, args, out)
				}
				text := readText(t, path)
				if n := strings.Count(text, "my tools/loci"); before > 0 && n != before ||
					workspace != one && strings.Contains(text, one) || workspace == "" && strings.Contains(text, two) {
					t.Errorf("%s %v: %d commands: %s", client, args, n, text)
				} else {
					before = n
				}
				if s := w.wired(client, nil).hookStatus(); !s.Wired || !s.Command.Equal(*to) {
					t.Errorf("%s %v: the status is %+v", client, args, s)
				}
			}
			if out := w.run(w.wired(client, nil)); out.Action != Removed || readText(t, path) != "(no file)" {
				t.Errorf("%s: %+v %s", client, out, readText(t, path))
			}
		}
	}
}

func TestCommandLinesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	for os, programs := range map[string][]string{
		"linux":   {"/usr/bin/loci", "/opt/my tools/loci", "/home/o'neil/loci", "/tmp/$(x)/loci"},
		"windows": {`C:\Program Files\loci.exe`, `C:\loci.exe`},
	} {
		for _, program := range programs {
			to := Connection{Command: program,
				Args: []string{"hook", "claude", "--server", "https://loci.example.org/x"}}
			line := joinCommand(to, os)
			if got := splitCommand(line); !got.Equal(to) {
				t.Errorf("%s: %q is read as %+v", os, line, got)
			}
		}
	}
	for _, line := range []string{"", "loci", "echo 'loci hook claude'", "loci hook codex", "other hook claude",
		"'loci"} {
		if (Change{Client: Lookup("claude")}).isOwn(line) {
			t.Errorf("%q counts as one of Loci", line)
		}
	}
}
