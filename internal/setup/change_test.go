package setup

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestLinksStay(t *testing.T) {
	t.Parallel()
	for _, client := range connectable() {
		for _, before := range []string{"\n", "(no file)"} {
			checkLink(t, client, before)
		}
	}
}

// checkLink changes a client's file that is a link to a file with that text.
func checkLink(t *testing.T, client, before string) {
	t.Helper()
	w := newWorld(t)
	path, target := w.path(client), filepath.Join(w.home, "dotfiles", "file")
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(target)} {
		testenv.NoError(t, os.MkdirAll(dir, 0o755))
	}
	if before != "(no file)" {
		testenv.NoError(t, os.WriteFile(target, []byte(before), 0o604))
	}
	link := testenv.Must(filepath.Rel(filepath.Dir(path), target))(t)
	testenv.NoError(t, os.Symlink(link, path))
	w.run(w.change(client, &connections[0].to))
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%s: the link is gone: %v %v", client, info, err)
	}
	testenv.Contains(t, readText(t, target), "loci", client)
	w.run(w.change(client, nil))
	testenv.Equal(t, readText(t, target), before, client)
}

// TestLinkBelowLinkedFolderIsFollowed resolves ".." as the system does.
func TestLinkBelowLinkedFolderIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := filepath.Join(w.home, "dotfiles", "deep", "cursor")
	testenv.NoError(t, os.MkdirAll(folder, 0o755))
	for link, to := range map[string]string{filepath.Join(w.home, ".cursor"): folder,
		filepath.Join(folder, "mcp.json"): "../mcp.json"} {
		testenv.NoError(t, os.Symlink(to, link))
	}
	w.run(w.change("cursor", &connections[0].to))
	testenv.Contains(t, readText(t, filepath.Join(w.home, "dotfiles", "deep", "mcp.json")), "loci", "the target has")
}

// The links of a repository are foreign: at the file, at each folder above it, to what exists and to what does not.
func TestProjectFollowsNoLinkOut(t *testing.T) {
	t.Parallel()
	for _, client := range connectable() {
		if !Lookup(client).HasProject() {
			continue
		}
		for _, file := range Lookup(client).project.files {
			for at := file; at != "."; at = filepath.Dir(at) {
				for _, to := range []string{"existing", "missing"} {
					checkLinkOut(t, client, at, to, true)
					checkLinkOut(t, client, at, to, false)
				}
			}
		}
	}
}

// checkLinkOut changes a client's file in a project that has a link to a place outside.
func checkLinkOut(t *testing.T, client, link, to string, relative bool) {
	t.Helper()
	w := newWorld(t)
	outside := filepath.Join(w.home, to)
	if to == "existing" && strings.Contains(filepath.Base(link), "json") {
		testenv.NoError(t, os.WriteFile(outside, []byte("{}"), 0o600))
	} else if to == "existing" {
		testenv.NoError(t, os.Mkdir(outside, 0o700))
	}
	path := filepath.Join(w.project, link)
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if to = outside; relative {
		to = testenv.Must(filepath.Rel(filepath.Dir(path), outside))(t)
	}
	testenv.NoError(t, os.Symlink(to, path))
	c := w.change(client, &connections[0].to)
	c.Lock = filepath.Join(t.TempDir(), "lock")
	before := contents(t, w.home)
	c.Project = w.project
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), path+" is a link to "+to+":") {
		t.Errorf("%s: %s -> %s: %v", client, link, to, err)
	}
	testenv.Equal(t, contents(t, w.home), before, client, link)
}

// contents returns the names and sizes of all that is below a folder.
func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	testenv.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all += fmt.Sprintln(path, info.Mode(), info.Size())
		}
		return err
	}))
	return all
}

func TestOutcomeNamesTargetOfLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	real := testenv.Must(filepath.EvalSymlinks(w.project))(t)
	testenv.NoError(t, os.Mkdir(filepath.Join(w.project, "settings"), 0o755))
	testenv.NoError(t, os.Symlink("settings", filepath.Join(w.project, ".cursor")))
	c := w.change("cursor", &connections[0].to)
	c.Project = w.project
	for _, want := range []Action{Added, Unchanged} {
		out := w.run(c)
		testenv.Equal(t, out, Outcome{File: filepath.Join(w.project, ".cursor", "mcp.json"),
			Target: filepath.Join(real, "settings", "mcp.json"), Action: want})
	}
	testenv.Equal(t, w.run(w.change("cursor", &connections[0].to)).Target, "")
}

func TestCircleOfLinksIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.path("cursor")
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.NoError(t, os.Symlink(path, path))
	_, err := w.change("cursor", &connections[0].to).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "links") {
		t.Error(err)
	}
}

func TestRefusedFilesStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ client, text, want string }{
		{"claude", "{\n  \"a\": 1\n  \"b\": 2\n}\n", "line 3, column 3: invalid character '\"' after object value"},
		{"codex", "a = 1\nb = \n", "line 2, column 5: "},
		{"zed", "{\"context_servers\": []}", "is not an object"},
		{"codex", "mcp_servers = {a = {command = 'b'}}\n", "is not written as tables"},
		{"codex", "mcp_servers.loci.command = 'loci'\nmcp_servers.loci.args = ['mcp']\n", "is not written as a table"},
		{"cursor", `{"mcpServers": {"loci": {"command": "other", "env": {"KEY": "x"}}}}`, "leads to other"},
		{"cursor", `{"mcpServers": {"loci": {"url": "https://a.example/mcp?key=x"}}}`, "leads to " +
			"https://a.example ("},
		{"cursor", `{"mcpServers": {"loci": {"command": "loci", "args": ["mcp", "--local"], "cwd": "/"}}}`, "args " +
			"command cwd"},
		{"cursor", `{"mcpServers": {"loci": 5}}`, "settings that Loci does not write"},
		{"codex", "[mcp_servers.loci]\ncommand = 'other'\n", "leads to other"},
	} {
		w := newWorld(t)
		path := w.write(c.client, c.text)
		_, err := w.change(c.client, &connections[1].to).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
		if strings.Contains(c.text, "KEY") && strings.Contains(err.Error(), "\"x\"") {
			t.Errorf("the error shows a value: %v", err)
		}
		if text := readText(t, path); text != c.text {
			t.Errorf("%q became %q", c.text, text)
		}
	}
}

func TestReadOnlyAndMalformedFilesStay(t *testing.T) {
	t.Parallel()
	for i := range clients {
		c := &clients[i]
		for _, connection := range connections {
			if c.template(connection.to) == "" {
				continue
			}
			for text, want := range map[string]string{"\n": "is read-only", "\n{]": "line 2, column 2: "} {
				w := newWorld(t)
				path := w.write(c.Name, text)
				testenv.NoError(t, os.Chmod(path, 0o444))
				_, err := w.change(c.Name, &connection.to).Run(t.Context())
				if err == nil || !strings.Contains(err.Error(), want) || readText(t, path) != text {
					t.Errorf("%s, %s: %v, %q", c.Name, connection.name, err, readText(t, path))
				}
			}
		}
	}
}

func TestForeignEntryNeedsForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := `{"mcpServers": {"loci": {"command": "other"}, "b": {}}}`
	path := w.write("cursor", foreign)
	_, err := w.change("cursor", nil).Run(t.Context())
	if loci.AsError(err).Code != loci.CodeConflict || readText(t, path) != foreign {
		t.Errorf("removal: %v", err)
	}
	c := w.change("cursor", &connections[0].to)
	c.Force = true
	w.expect(c, Updated)
	testenv.Equal(t, entryOf(t, c.Client, readText(t, path), "loci"), `{"args":["mcp"],"command":"loci"}`)
	testenv.NoError(t, os.WriteFile(path, []byte(foreign), 0o600))
	c.To = nil
	if w.run(c); readText(t, path) != `{"mcpServers": {"b": {}}}` {
		t.Errorf("%s", readText(t, path))
	}
}

func TestOwnEntryChangesWithItsTarget(t *testing.T) {
	t.Parallel()
	for i := range clients {
		c := &clients[i]
		if !c.HasConnection() {
			continue
		}
		w := newWorld(t)
		for _, connection := range connections {
			if c.template(connection.to) == "" {
				continue
			}
			to := connection.to
			if to.URL == "" {
				to.Command = "/opt/bin/loci"
			}
			w.run(w.change(c.Name, &to))
			s := w.change(c.Name, nil).status("user")
			if !s.Connected || !s.Connection.Equal(to) || s.Problem != "" {
				t.Errorf("%s, %s: %+v %+v", c.Name, connection.name, s, s.Connection)
			}
		}
		w.run(w.change(c.Name, nil))
	}
}

// TestSettingsOfThePersonStay leaves flags and queries that a person added to an entry.
func TestSettingsOfThePersonStay(t *testing.T) {
	t.Parallel()
	for text, conflict := range map[string]bool{
		`{"mcpServers": {"loci": {"command": "/opt/loci", "args": ["mcp", "--atlas", "Website"]}}}`:      false,
		`{"mcpServers": {"loci": {"command": "loci", "args": ["mcp"], "cwd": "/"}}}`:                     false,
		`{"mcpServers": {"loci": {"command": "/opt/loci", "args": ["mcp"], "cwd": "/"}}}`:                true,
		`{"mcpServers": {"loci": {"url": "https://loci.example.org/mcp?toolset=core"}}}`:                 true,
		`{"mcpServers": {"loci": {"command": "loci", "args": ["mcp", "--local", "--toolset", "full"]}}}`: false,
	} {
		w := newWorld(t)
		path := w.write("cursor", text)
		out, err := w.change("cursor", &connections[0].to).Run(t.Context())
		refused := err != nil && loci.AsError(err).Code == loci.CodeConflict
		if refused != conflict || !conflict && out.Action != Unchanged || readText(t, path) != text {
			t.Errorf("%s: %s %v, then %s", text, out.Action, err, readText(t, path))
		}
	}
	w := newWorld(t)
	text := `{"mcpServers": {"loci": {"url": "https://loci.example.org/mcp?toolset=core"}}}`
	path := w.write("cursor", text)
	if out := w.run(w.change("cursor", &connections[1].to)); out.Action != Unchanged || readText(t, path) != text {
		t.Errorf("%s: %s", out.Action, readText(t, path))
	}
	w.run(w.change("cursor", nil))
}

// TestAnotherServerNeedsForce keeps a client from changing servers by the way.
func TestAnotherServerNeedsForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.change("cursor", &connections[1].to))
	other := Connection{URL: "https://other.example.org/mcp"}
	if _, err := w.change("cursor", &other).Run(t.Context()); loci.AsError(err).Code != loci.CodeConflict {
		t.Error(err)
	}
	w.run(w.change("cursor", nil))
}

func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.change("cursor", &connections[1].to)
	c.DryRun, c.Lock = true, ""
	out := w.run(c)
	want := "--- /dev/null\n+++ " + out.File + "\n@@ -0,0 +1,7 @@\n+{\n+  \"mcpServers\": {\n+    \"loci\": {\n" +
		"+      \"url\": \"https://loci.example.org/mcp\"\n+    }\n+  }\n+}\n"
	testenv.Equal(t, out.Diff, want)
	if _, err := os.Stat(filepath.Dir(out.File)); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
	path := w.write("cursor", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4\n}")
	want = "--- " + path + "\n+++ " + path + "\n@@ -2,5 +2,10 @@\n   \"a\": 1,\n   \"b\": 2,\n   \"c\": 3,\n-  " +
		"\"d\": 4\n" +
		"+  \"d\": 4,\n+  \"mcpServers\": {\n+    \"loci\": {\n+      \"url\": \"https://loci.example.org/mcp\"\n" +
		"+    }\n+  }\n" +
		" }\n\\ No newline at end of file\n"
	if out := w.run(c); out.Diff != want {
		t.Errorf("%s", out.Diff)
	}
}

func TestParallelRunsKeepEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("cursor", "{\n  \"a\": 1\n}\n")
	var all sync.WaitGroup
	for _, name := range strings.Fields("a b c d e f g h") {
		all.Go(func() {
			c := w.change("cursor", &connections[0].to)
			c.Entry = name
			if _, err := c.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, name := range strings.Fields("a b c d e f g h") {
		if got := entryOf(t, Lookup("cursor"), readText(t, path), name); got == "null" {
			t.Errorf("%s is lost", name)
		}
	}
}

func TestProjectFileIsNamedByTheProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for client, file := range map[string]string{"claude": ".mcp.json", "codex": ".codex/config.toml",
		"opencode": "opencode.json", "gemini": ".gemini/settings.json", "pi": ".pi/mcp.json",
		"cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json", "zed": ".zed/settings.json",
		"copilot": ".github/mcp.json"} {
		c := w.change(client, &connections[2].to)
		if !c.Client.HasKey() {
			c.To = &connections[1].to
		}
		c.Project = w.project
		if out := w.run(c); out.File != filepath.Join(w.project, file) {
			t.Errorf("%s writes %s", client, out.File)
		}
	}
	all := List(w.system, "loci", w.project, func(program string) bool { return program == "zed" })
	connected, installed := 0, 0
	for _, s := range all {
		if s.Connected && s.Scope == "project" {
			connected++
		}
		if s.Installed {
			installed++
		}
	}
	if connected != 9 || installed != 2 || len(all) != len(clients)+9 {
		t.Errorf("%d connected, %d installed, %d lines", connected, installed, len(all))
	}
}

// TestOpencodeKeepsToTheFileInUse chooses among the names of its file as opencode does.
func TestOpencodeKeepsToTheFileInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.home, ".config", "opencode")
	testenv.Equal(t, w.path("opencode"), filepath.Join(dir, "opencode.jsonc"), "a new file is")
	w.write("opencode", "{}")
	plain := filepath.Join(dir, "opencode.json")
	testenv.NoError(t, os.WriteFile(plain, []byte("{}"), 0o600))
	testenv.Equal(t, w.path("opencode"), plain, "of two files")
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "opencode.jsonc"), []byte(`{"mcp": {"loci": {}}}`), 0o600))
	testenv.Equal(t, w.path("opencode"), filepath.Join(dir, "opencode.jsonc"))
}

// TestAgentChangesEntry makes an entry one of an agent and back, and keeps what a person added.
func TestAgentChangesEntry(t *testing.T) {
	t.Parallel()
	plain, agent := connections[0].to, Connection{Command: "loci", Args: []string{"mcp", AgentFlag}}
	key, named := connections[2].to, connections[3].to
	w := newWorld(t)
	for _, step := range []struct {
		client string
		to     Connection
		want   Action
	}{{"claude", plain, Added}, {"claude", agent, Updated}, {"claude", agent, Unchanged}, {"claude", plain, Updated},
		{"codex", key, Added}, {"codex", named, Updated}, {"codex", named, Unchanged}, {"codex", key, Updated}} {
		w.expect(w.change(step.client, &step.to), step.want)
	}
	for _, args := range []string{`"mcp", "--agent", "--toolset", "full"`, `"mcp", "--agent"`} {
		w.write("claude", `{"mcpServers": {"loci": {"command": "loci", "args": [`+args+`]}}}`)
		w.expect(w.change("claude", &agent), Unchanged)
	}
	w.write("cursor", `{"mcpServers": {"loci": {"url": "https://loci.example.org/mcp", "headers": {`+
		`"Authorization": "Bearer ${env:LOCI_API_KEY}", "X-Loci-Actor": "somebody"}}}}`)
	if _, err := w.change("cursor", &named).Run(t.Context()); !loci.Is(err, loci.CodeConflict) {
		t.Errorf("another actor: %v", err)
	}
}

// TestMain runs a writer instead of the tests if the variable names a home folder: it adds and removes the entry until
// it is killed.
func TestMain(m *testing.M) {
	home := os.Getenv("LOCI_TEST_SETUP_HOME")
	if home == "" {
		os.Exit(m.Run())
	}
	c := Change{Client: Lookup("cursor"), Entry: "loci", Lock: filepath.Join(home, "lock"),
		System: System{OS: "linux", Env: func(string) string { return home }}}
	for {
		c.To = &connections[0].to
		if _, err := c.Run(context.Background()); err != nil {
			os.Exit(3)
		}
		c.To = nil
		if _, err := c.Run(context.Background()); err != nil {
			os.Exit(4)
		}
	}
}

func TestKilledWriterLeavesWholeFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := "{\n  \"padding\": \"" + strings.Repeat("x", 1<<20) + "\"\n}\n"
	path := w.write("cursor", before)
	w.run(w.change("cursor", &connections[0].to))
	after := readText(t, path)
	for i := range 10 {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), "LOCI_TEST_SETUP_HOME="+w.home)
		testenv.NoError(t, writer.Start())
		time.Sleep(time.Duration(40+13*i) * time.Millisecond)
		testenv.NoError(t, writer.Process.Kill())
		_ = writer.Wait() // killed
		if text := readText(t, path); text != before && text != after {
			t.Fatalf("run %d leaves a file of %d bytes", i, len(text))
		}
	}
	w.run(w.change("cursor", nil))
}
