package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

func TestSetupConnectsClientToItsTarget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ, args []string
		want          string
	}{
		"this device": {nil, nil, `"args": ["mcp"]`},
		"flag local":  {[]string{"LOCI_URL=https://loci.example.org"}, []string{"--local"}, `"args": ["mcp","--local"]`},
		"variable":    {[]string{"LOCI_URL=https://loci.example.org/"}, nil, `"url": "https://loci.example.org/mcp"`},
		"flag server": {nil, []string{"--server", "https://loci.example.org/x/"},
			`"url": "https://loci.example.org/x/mcp"`},
		"endpoint": {nil, []string{"--server", "http://127.0.0.1:7007/mcp"}, `"url": "http://127.0.0.1:7007/mcp"`},
		"key": {nil, []string{"--server", "https://loci.example.org", "--key-env", "MY_KEY"},
			`"Authorization": "Bearer ${env:MY_KEY}"`},
		"stdio": {[]string{"LOCI_URL=https://loci.example.org"}, []string{"--stdio"}, `"args": ["mcp"]`},
		"stdio to a server": {nil, []string{"--stdio", "--server", "https://loci.example.org"},
			`"args": ["mcp","--server","https://loci.example.org"]`},
		"http": {nil, []string{"--server", "http://loci.lan", "--plain-http"}, `"url": "http://loci.lan/mcp"`},
		"agent": {nil, []string{"--server", "https://loci.example.org", "--key-env", "MY_KEY", "--agent"},
			`"X-Loci-Actor": "agent"`},
		"agent by stdio": {[]string{"LOCI_URL=https://loci.example.org"}, []string{"--stdio", "--agent"},
			`"args": ["mcp","--agent"]`},
		"agent by stdio to a server": {nil, []string{"--stdio", "--server", "http://127.0.0.1:7007", "--agent"},
			`"args": ["mcp","--server","http://127.0.0.1:7007","--agent"]`},
	} {
		d := newTestTerminal(t, c.environ...)
		if code := d.run(append([]string{"setup", "cursor"}, c.args...)...); code != 0 {
			t.Errorf("%s: %d %s", name, code, d.err.String())
			continue
		}
		text := d.file(t, ".cursor/mcp.json")
		flat := strings.NewReplacer("\n", "", "  ", "").Replace(text)
		if !strings.Contains(flat, c.want) {
			t.Errorf("%s: %s", name, flat)
		}
		if code := d.run("setup", "cursor", "--remove"); code != 0 || d.file(t, ".cursor/mcp.json") != "" {
			t.Errorf("%s: removal: %d %s", name, code, d.err.String())
		}
	}
}

// file returns a file of the home folder, or "".
func (d *testTerminal) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.home, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func TestSetupUsesTheLogin(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	d.in = strings.NewReader(fakeKey)
	d.expectRun(t, 0, "", "login", server.URL, "--key", "-")
	for client, want := range map[string]string{"codex": "url = " +
		"\"" + server.URL + "/mcp\"", "claude-desktop": `"mcp"`} {
		d.expectRun(t, 0, "", "setup", client)
		text := d.file(t, ".codex/config.toml") + d.file(t, ".config/Claude/claude_desktop_config.json")
		if !strings.Contains(text, want) || strings.Contains(text, fakeKey) {
			t.Errorf("%s: %s", client, text)
		}
	}
	d.expectRun(t, 2, "Connectors", "setup", "claude-desktop", "--server", server.URL)
}

func TestSetupRejectsWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	key := loci.KeyPrefix + strings.Repeat("a", 43)
	for line, want := range map[string]string{
		"setup cluade":                                        `did you mean "claude"?`,
		"setup emacs":                                         "it is one of claude, codex",
		"setup claude codex":                                  "takes one client",
		"setup --remove":                                      "--remove needs a client",
		"setup claude --key-env X":                            "--key-env is for a server",
		"setup claude --server x":                             "takes an address",
		"setup claude --server http://a.lan":                  "use https",
		"setup claude --server https://a:b@c.example":         "leave out user",
		"setup claude --server https://c.example?key=1":       "leave out user",
		"setup claude --server https://c --local":             "exclude each other",
		"setup claude --server https://c --key-env " + key:    "not the key itself",
		"setup claude --server https://c --key-env A-B":       "not the key itself",
		"setup zed --server https://c --key-env LOCI_API_KEY": "cannot take a key",
		"setup claude --agent":                                "a database on this device has no agents",
		"setup claude --agent --local":                        "a database on this device has no agents",
		"setup claude --agent --server https://c":             "needs an API key: add --key-env",
		"setup zed --agent --server https://c --key-env K":    "the entry of Zed cannot have headers with a key",
		"setup cline --agent --server https://c":              "the entry of Cline cannot have headers with a key",
		"setup claude --agent --hooks":                        "--agent is for the entry of the MCP server",
		"setup claude --agent --remove":                       "--remove takes neither",
		"setup --agent":                                       "--agent needs a client",
		"setup claude --name a.b":                             "--name takes",
		"setup windsurf --project":                            "has no file in a project",
		"setup claude --remove --stdio":                       "--remove takes neither",
		"setup claude --frobnicate":                           "unknown flag",

		"setup windsurf --hooks":                   "these have: claude, codex",
		"setup workbuddy":                          "add --hooks",
		"setup --hooks":                            "--hooks needs a client",
		"setup claude --yes":                       "is for --hooks",
		"setup claude --hooks --project":           "takes neither",
		"setup claude --hooks --stdio":             "takes neither",
		"setup claude --hooks --key-env X":         "takes neither",
		"setup claude --hooks --name x":            "leave out --name",
		"setup claude --hooks -- agent":            "leave it out",
		"setup claude -- agent":                    "for the hooks of an editor",
		"setup zed --hooks":                        "agent is missing",
		"setup zed --hooks --remove -- agent":      "leave it out",
		"setup -- agent":                           "needs a client before --",
		"setup claude --hooks --local --server x":  "exclude each other",
		"setup claude --hooks --server https://?k": "takes an address",

		"setup claude --workspace-id " + fakeID:                  "is for --hooks",
		"setup --workspace-id " + fakeID:                         "needs a client",
		"setup claude --hooks --workspace-id=":                   "the name or id of a workspace",
		"setup claude --hooks --remove --workspace-id " + fakeID: "of any workspace",
	} {
		d := newTestTerminal(t)
		code := d.run(strings.Fields(line)...)
		if said := d.err.String(); code != 2 || !strings.Contains(said, want) || strings.Contains(said, key) {
			t.Errorf("%s: %d %s", line, code, said)
		}
		if files, err := os.ReadDir(d.home); err != nil || len(files) > 0 {
			t.Errorf("%s: %v %v", line, files, err)
		}
	}
}

func TestSetupPrintsObjects(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	var done struct {
		Action, File, Next, Diff string
		Connection               struct{ URL string }
	}
	for _, args := range [][]string{{"--dry-run"}, {}, {}} {
		args = append([]string{"setup", "codex", "--json", "--server", "https://loci.example.org"}, args...)
		if code := d.run(args...); code != 0 || json.Unmarshal(d.out.Bytes(), &done) != nil {
			t.Fatalf("%d %s %s", code, d.out.String(), d.err.String())
		}
		if len(args) > 5 && !strings.Contains(done.Diff, "+[mcp_servers.loci]\n") {
			t.Errorf("%+v", done)
		}
	}
	if done.Action != "unchanged" || done.Connection.URL != "https://loci.example.org/mcp" ||
		done.File != filepath.Join(d.home, ".codex/config.toml") || done.Next != "sign in: codex mcp login loci" {
		t.Errorf("%+v", done)
	}
	d.expectRun(t, 0, "codex           yes        no     https://loci.example.org/mcp  ~/.codex/config.toml",
		"setup")
	var all struct {
		Clients []struct{ Client, Scope string }
	}
	code := d.run("setup", "--json")
	if code != 0 || json.Unmarshal(d.out.Bytes(), &all) != nil || len(all.Clients) != 14 {
		t.Errorf("%d %s", code, d.out.String())
	}
}

func TestSetupOfAgentNeedsLoginByKey(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.browse = visit
	server := newOAuthServer(t, d.service)
	d.expectRun(t, 0, "Signed in to ", "login", server.URL)
	d.expectRun(t, 2, "run loci login "+server.URL+" --key -", "setup", "zed", "--stdio", "--agent")
	d.expectRun(t, 0, "as the agent of the key in K.", "setup", "claude", "--key-env", "K", "--agent")
	d.in = strings.NewReader(fakeKey)
	d.expectRun(t, 0, "Signed in to ", "login", server.URL, "--key", "-")
	d.expectRun(t, 0, "Zed is connected", "setup", "zed", "--stdio", "--agent")
}

func TestSetupNamesMemoriesOfTheEntry(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "without a login those of this device", "setup", "cursor")
	d.expectRun(t, 0, "It uses ", "setup", "cursor", "--local")
	if got := d.out.String(); strings.Contains(got, "login") {
		t.Error("the entry keeps to this device:", got)
	}
}
