package setup

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// Texts that a person had before, for a container of entries.
var jsonTexts = []struct{ name, text string }{
	{"no file", ""},
	{"empty file", ""},
	{"empty object", "{}\n"},
	{"other servers, comments", "// mine\n{\n    \"theme\": \"dark\", // at night\n    \"%s\": {\n        /* " +
		"files */\n" +
		"        \"files\": {\"command\": \"files\", \"args\": []}, // keep\n        // \"old\": {}\n    },\n    " +
		"\"last\": [1, 2,]\n}\n"},
	{"CRLF, tabs, BOM", "\ufeff{\r\n\t\"%s\": {\r\n\t\t\"files\": {\r\n\t\t\t\"command\": \"files\"\r\n\t\t}\r\n" +
		"\t},\r\n\t\"b\": null\r\n}"},
	{"one line", `{"a":1,"%s":{"files":{"command":"files"}}}`},
}

var tomlTexts = []struct{ name, text string }{
	{"no file", ""},
	{"empty file", ""},
	{"other servers, comments", "# mine\nmodel = \"gpt\" # good\n\n[%s.files] # keep\ncommand = 'files'\n" +
		"args = [ # all\n  \"a\",\n]\n\n[tui]\nnotify = \"\"\"\n[%[1]s.loci]\"\"\"\n"},
	{"CRLF, no line end", "model = \"gpt\"\r\n[%s.files]\r\ncommand = 'files'"},
}

// TestGoldenEntries writes each entry into each text, and compares the file with testdata/golden. The entry is written
// once, and its removal restores every byte.
func TestGoldenEntries(t *testing.T) {
	t.Parallel()
	for i := range clients {
		c := &clients[i]
		if !c.HasConnection() {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			for _, connection := range connections {
				if c.template(connection.to) == "" {
					continue
				}
				for _, before := range textsOf(c) {
					fmt.Fprintf(&out, "== %s: %s\n%s\n", connection.name, before.name,
						strings.ReplaceAll(written(t, c, connection.to, before.name, before.text), "\r", "\\r"))
				}
			}
			compareGolden(t, filepath.Join("testdata", "golden", c.Name+".golden"), out.String())
		})
	}
}

func textsOf(c *Client) (texts []struct{ name, text string }) {
	texts = append(texts, jsonTexts...)
	if c.toml {
		texts = append(texts[:0:0], tomlTexts...)
	}
	for i, text := range texts {
		if strings.Contains(text.text, "%") {
			texts[i].text = fmt.Sprintf(text.text, c.container)
		}
	}
	return texts
}

// written returns the text with the entry, and checks what holds for every text.
func written(t *testing.T, c *Client, to Connection, name, before string) string {
	t.Helper()
	w := newWorld(t)
	path, mode := w.path(c.Name), os.FileMode(0o600)
	if name != "no file" {
		path, mode = w.write(c.Name, before), 0o640
	} else {
		before = "(no file)"
	}
	if out := w.run(w.change(c.Name, &to)); out.Action != Added || out.File != path {
		t.Errorf("%s: %+v", name, out)
	}
	after := readText(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
	}
	if again := w.run(w.change(c.Name, &to)); again.Action != Unchanged || readText(t, path) != after {
		t.Errorf("%s: a second run does %s", name, again.Action)
	}
	if again := w.run(w.change(c.Name, nil)); again.Action != Removed || readText(t, path) != before {
		t.Errorf("%s: removal leaves %q, not %q", name, readText(t, path), before)
	}
	if again := w.run(w.change(c.Name, nil)); again.Action != Absent || readText(t, path) != before {
		t.Errorf("%s: a second removal does %s", name, again.Action)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".loci-*")); len(left) > 0 {
		t.Errorf("%s: %v remain", name, left)
	}
	return after
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	testenv.Equal(t, got, readText(t, path), path)
}

// TestEntriesEqualThoseOfTheClients compares with files that the clients' own commands wrote: without agents.
func TestEntriesEqualThoseOfTheClients(t *testing.T) {
	t.Parallel()
	recorded, err := filepath.Glob("testdata/recorded/*")
	if err != nil || len(recorded) < 7 {
		t.Fatalf("%v %v", recorded, err)
	}
	for _, path := range recorded {
		c := Lookup(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		for _, connection := range connections {
			if c.template(connection.to) == "" || strings.Contains(connection.name, "agent") {
				continue
			}
			w := newWorld(t)
			w.run(w.change(c.Name, &connection.to))
			got := entryOf(t, c, readText(t, w.path(c.Name)), "loci")
			testenv.Equal(t, got, entryOf(t, c, readText(t, path), "loci-"+connection.name), c.Name, connection.name)
		}
	}
}
