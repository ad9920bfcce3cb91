package setup

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// node returns the file of Node, or skips the test.
func node(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is absent: scripts of clients are not run")
	}
	return path
}

// playedEvents are what the hosts of scripts play.
var playedEvents = []struct {
	form, script string
	recorded     string   // of ../shared
	want         []string // the kind and text of each report
}{
	{"opencode1", "opencode.js", "opencode-1.18.33.plugin.jsonl", []string{"event session.created",
		"chat.message say hello with the tool", "message All done: the tool said hello.", "event session.deleted"}},
	{"opencode2", "opencode.js", "", []string{"event session.created", "chat.message say hello with the tool",
		"message All done: the tool said hello.", "event session.deleted"}},
	{"pi", "pi.js", "pi-1.5.2.extension.jsonl", []string{"session_start", "message_end say hello with the tool",
		"agent_end say hello with the tool, All done: the tool said hello.", "session_shutdown"}},
}

func TestScriptReportsPromptsAndAnswersAlone(t *testing.T) {
	t.Parallel()
	program := node(t)
	for _, c := range playedEvents {
		t.Run(c.form, func(t *testing.T) {
			t.Parallel()
			got := played(t, program, c.form, c.script, filepath.Join("testdata", "events", c.form+".jsonl"))
			testenv.EqualSlices(t, got, c.want)
		})
	}
}

// TestScriptReportsRecordedEvents plays all that the programs once handed to a plugin.
func TestScriptReportsRecordedEvents(t *testing.T) {
	t.Parallel()
	program := node(t)
	for _, c := range playedEvents {
		if c.recorded == "" {
			continue
		}
		t.Run(c.form, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("../../../shared/data/hooks", c.recorded)
			if _, err := os.Stat(path); err != nil {
				t.Skip(path + " is absent: the events of the repository are a part of it")
			}
			got := strings.Join(played(t, program, c.form, c.script, path), "\n")
			for _, want := range []string{"say hello with the tool", "All done: the tool said hello."} {
				testenv.Contains(t, got, want, "is missing in")
			}
			if strings.Contains(got, "hello-from-tool") {
				t.Errorf("tools are reported: %s", got)
			}
		})
	}
}

// TestScriptReportsCredentialsWhole plays a prompt with a word across the place where an event's content ends.
func TestScriptReportsCredentialsWhole(t *testing.T) {
	t.Parallel()
	program := node(t)
	const prompt = "say hello with the tool"
	long := strings.Repeat("a", loci.MaxEventContent-len("begin")) + "begin-end"
	for _, c := range playedEvents {
		text := readText(t, filepath.Join("testdata", "events", c.form+".jsonl"))
		path := filepath.Join(t.TempDir(), "events")
		writeFile(t, path, strings.ReplaceAll(text, prompt, long+strings.Repeat(" ", 1<<20)))
		for _, report := range played(t, program, c.form, c.script, path) {
			if strings.Contains(report, "begin") && !strings.Contains(report, "begin-end") || len(report) > 2<<20 {
				t.Errorf("%s: a report of %d bytes has no whole word", c.form, len(report))
			}
		}
	}
}

func TestScriptStaysSilentWithoutItsProgram(t *testing.T) {
	t.Parallel()
	program := node(t)
	for _, c := range playedEvents {
		path := writeScript(t, c.script, Connection{Command: filepath.Join(t.TempDir(), "absent")})
		host := exec.CommandContext(t.Context(), program, "testdata/host.mjs", c.form, path,
			filepath.Join("testdata", "events", c.form+".jsonl"), filepath.Join(t.TempDir(), "released"))
		if out, err := host.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", c.form, err, out)
		}
	}
}

func TestScriptsAreJavaScript(t *testing.T) {
	t.Parallel()
	program := node(t)
	for _, name := range []string{"opencode.js", "pi.js"} {
		path := writeScript(t, name, Connection{Command: `C:\Program Files\"loci".exe`, Args: []string{"hook", name}})
		if out, err := exec.CommandContext(t.Context(), program, "--check", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func writeScript(t *testing.T, name string, to Connection) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(name, ".js")+".mjs")
	// A slow machine must not lose reports.
	patient := strings.NewReplacer("const seconds = 3 ", "const seconds = 600 ", "timeout: 1000", "timeout: 600000")
	testenv.NoError(t, os.WriteFile(path, []byte(patient.Replace(string(script{name}.render(to)))), 0o600))
	return path
}

// played plays events to a script, and returns its reports in their order.
func played(t *testing.T, program, form, name, events string) (reports []string) {
	t.Helper()
	record := testenv.Must(filepath.Abs("testdata/record.mjs"))(t)
	to := filepath.Join(t.TempDir(), "reports")
	released := filepath.Join(t.TempDir(), "released")
	path := writeScript(t, name, Connection{Command: program, Args: []string{record, to, released}})
	host := exec.CommandContext(t.Context(), program, "testdata/host.mjs", form, path, events, released)
	if out, err := host.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s: %v %s", form, err, out)
	}
	for line := range strings.Lines(readText(t, to)) {
		var r map[string]any
		testenv.NoError(t, json.Unmarshal([]byte(line), &r))
		reports = append(reports, describeReport(r))
	}
	return reports
}

// describeReport returns the kind of a report, and its texts or the type of its event.
func describeReport(r map[string]any) string {
	var texts []string
	var collect func(value any)
	collect = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, v := range value {
				collect(v)
			}
		case map[string]any:
			for name, v := range value {
				text, ok := v.(string)
				if ok && (name == "text" || name == "type" && strings.HasPrefix(text, "session.")) {
					texts = append(texts, text)
				}
				collect(v)
			}
		}
	}
	kind, _ := r["k"].(string)
	if name, ok := r["e"].(string); ok {
		kind = name
	}
	collect(r)
	return strings.TrimSpace(kind + " " + strings.Join(texts, ", "))
}
