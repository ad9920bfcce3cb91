package setup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// TestRemovalLeavesNoFolder connects each client in an empty home and an empty project, and disconnects it.
func TestRemovalLeavesNoFolder(t *testing.T) {
	t.Parallel()
	for _, client := range connectable() {
		w := newWorld(t)
		for _, project := range []string{"", w.project} {
			c := w.change(client, &connections[0].to)
			if c.Project = project; project != "" && !c.Client.HasProject() {
				continue
			}
			c.Lock = filepath.Join(t.TempDir(), "lock")
			w.run(c)
			c.To = nil
			w.expect(c, Removed)
			for _, dir := range []string{w.home, w.project} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%s: %v is left in %s (%v)", client, left, dir, err)
				}
			}
		}
	}
}

// TestRemovalKeepsFoldersOfOthers checks folders that are not empty, that others could have made, or that a variable
// names.
func TestRemovalKeepsFoldersOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variable, dir, file, want string
		mode                      os.FileMode
	}{
		"another file":  {dir: ".pi", mode: 0o700, file: "note", want: ".pi/note"},
		"another mode":  {dir: ".pi", mode: 0o755, want: ".pi"},
		"a named one":   {variable: "PI_CODING_AGENT_DIR", dir: "mine", mode: 0o700, want: "mine"},
		"a named above": {variable: "XDG_CONFIG_HOME", dir: "mine", mode: 0o700, want: "mine"},
	} {
		w := newWorld(t)
		dir := filepath.Join(w.home, c.dir)
		testenv.NoError(t, errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, c.mode)))
		if c.file != "" {
			testenv.NoError(t, os.WriteFile(filepath.Join(dir, c.file), nil, 0o600))
		}
		home := w.system.Env
		w.system.Env = func(name string) string {
			if name == c.variable {
				return dir
			}
			return home(name)
		}
		client := "pi"
		if c.variable == "XDG_CONFIG_HOME" {
			client = "opencode"
		}
		for _, to := range []*Connection{&connections[0].to, nil} {
			change := w.change(client, to)
			change.Lock = filepath.Join(t.TempDir(), "lock")
			w.run(change)
		}
		var left []string
		err := filepath.WalkDir(w.home, func(path string, entry os.DirEntry, err error) error {
			if entries, _ := os.ReadDir(path); err == nil && len(entries) == 0 {
				path, _ = filepath.Rel(w.home, path)
				left = append(left, path)
			}
			return err
		})
		if err != nil || !slices.Equal(left, []string{c.want}) {
			t.Errorf("%s: %v is left, want %s (%v)", name, left, c.want, err)
		}
	}
}

// TestRemovalKeepsLinkedFolder checks that a folder which is a link to another one stays.
func TestRemovalKeepsLinkedFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target, link := filepath.Join(w.home, "dotfiles"), filepath.Join(w.home, ".cursor")
	testenv.NoError(t, os.Mkdir(target, 0o700))
	testenv.NoError(t, os.Symlink(target, link))
	w.run(w.change("cursor", &connections[0].to))
	w.run(w.change("cursor", nil))
	for _, path := range []string{target, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestPathsOfThreeSystems(t *testing.T) {
	t.Parallel()
	unix := map[string]string{"HOME": "/home/ann"}
	mac := map[string]string{"HOME": "/Users/ann", "XDG_CONFIG_HOME": "/x"}
	windows := map[string]string{"USERPROFILE": `C:\Users\ann`}
	moved := map[string]string{"HOME": "/home/ann", "XDG_CONFIG_HOME": "/x", "CLAUDE_CONFIG_DIR": "/c",
		"CODEX_HOME": "/d", "PI_CODING_AGENT_DIR": "/p", "COPILOT_HOME": "/o", "CLINE_DIR": "/l",
		"OPENCODE_CONFIG_DIR": "/e"}
	apps := map[string]string{"USERPROFILE": `C:\Users\ann`, "APPDATA": `D:\Roaming`}
	for _, c := range []struct {
		os, client string
		env        map[string]string
		want       string
	}{
		{"linux", "claude", unix, "/home/ann/.claude.json"},
		{"darwin", "claude", mac, "/Users/ann/.claude.json"},
		{"windows", "claude", windows, `C:\Users\ann\.claude.json`},
		{"linux", "claude", moved, "/c/.claude.json"},
		{"linux", "codex", unix, "/home/ann/.codex/config.toml"},
		{"linux", "codex", moved, "/d/config.toml"},
		{"windows", "codex", windows, `C:\Users\ann\.codex\config.toml`},
		{"linux", "opencode", unix, "/home/ann/.config/opencode/opencode.jsonc"},
		{"darwin", "opencode", mac, "/x/opencode/opencode.jsonc"},
		{"linux", "opencode", moved, "/e/opencode.jsonc"},
		{"windows", "opencode", windows, `C:\Users\ann\.config\opencode\opencode.jsonc`},
		{"linux", "gemini", unix, "/home/ann/.gemini/settings.json"},
		{"linux", "pi", unix, "/home/ann/.pi/agent/mcp.json"},
		{"linux", "pi", moved, "/p/mcp.json"},
		{"windows", "cursor", windows, `C:\Users\ann\.cursor\mcp.json`},
		{"linux", "vscode", unix, "/home/ann/.config/Code/User/mcp.json"},
		{"linux", "vscode", moved, "/x/Code/User/mcp.json"},
		{"darwin", "vscode", mac, "/Users/ann/Library/Application Support/Code/User/mcp.json"},
		{"windows", "vscode", windows, `C:\Users\ann\AppData\Roaming\Code\User\mcp.json`},
		{"windows", "vscode", apps, `D:\Roaming\Code\User\mcp.json`},
		{"darwin", "windsurf", mac, "/Users/ann/.codeium/windsurf/mcp_config.json"},
		{"linux", "zed", moved, "/x/zed/settings.json"},
		{"darwin", "zed", mac, "/Users/ann/.config/zed/settings.json"},
		{"windows", "zed", apps, `D:\Roaming\Zed\settings.json`},
		{"linux", "cline", unix, "/home/ann/.cline/data/settings/cline_mcp_settings.json"},
		{"linux", "cline", moved, "/l/data/settings/cline_mcp_settings.json"},
		{"linux", "cline", map[string]string{"CLINE_MCP_SETTINGS_PATH": "/m.json"}, "/m.json"},
		{"darwin", "cline-vscode", mac, "/Users/ann/Library/Application Support/Code/User/globalStorage/" +
			"saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		{"linux", "copilot", moved, "/o/mcp-config.json"},
		{"darwin", "claude-desktop", mac, "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", apps, `D:\Roaming\Claude\claude_desktop_config.json`},
		{"linux", "claude", map[string]string{}, ""},
		{"linux", "claude-desktop", map[string]string{}, ""},
	} {
		s := System{OS: c.os, Env: func(name string) string { return c.env[name] }}
		l := Lookup(c.client).user
		got := ""
		if paths := s.paths(l, s.dir(l)); len(paths) > 0 {
			got = s.freshPath(l, s.dir(l), paths)
		}
		testenv.Equal(t, got, c.want, c.client, c.os)
	}
}

func TestLookupKnowsOtherNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"claude-code": "claude", "Code": "vscode", "gemini-cli": "gemini",
		"copilot-cli": "copilot"} {
		if c := Lookup(name); c == nil || c.Name != want {
			t.Errorf("%s is %v", name, c)
		}
	}
	if Lookup("emacs") != nil {
		t.Error("emacs is known")
	}
}
