package setup

import (
	"bytes"
	"strings"
	"testing"
)

const tomlEntry = `{"command": "loci", "args": ["mcp"]}`

const tomlBlock = "[servers.loci]\ncommand = \"loci\"\nargs = [\"mcp\"]\n"

// codexLike is a client with that container.
var codexLike, wantTable = &Client{toml: true, container: "servers"},
	map[string]any{"command": "loci", "args": []any{"mcp"}}

// headers has texts and a comment that look like the header of the table.
const headers = "a = \"\"\"\n[servers.loci]\n\\\"\"\"\"\"\nb = '''\n[servers.loci]\n'''\nc = [ # [servers.loci]\n" +
	"  '[servers.loci]', # ]\n]\n"

// tomlEdits are documents that people keep, and what they become.
var tomlEdits = map[string]struct{ before, after string }{
	"empty":           {"", "\n" + tomlBlock},
	"line":            {"a = 1\n", "a = 1\n\n" + tomlBlock},
	"blank line":      {"a = 1\n\n", "a = 1\n\n\n" + tomlBlock},
	"no line end":     {"a = 1", "a = 1\n \n" + tomlBlock},
	"other servers":   {"[servers.a]\nb = 'c' # y\n\n# end\n", "[servers.a]\nb = 'c' # y\n\n# end\n\n" + tomlBlock},
	"CRLF":            {"a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(tomlBlock, "\n", "\r\n")},
	"byte order mark": {"\ufeff[a]\n", "\ufeff[a]\n\n" + tomlBlock},
	"array of tables": {"[[a]]\nb = [[1], [\n[2]]]\n", "[[a]]\nb = [[1], [\n[2]]]\n\n" + tomlBlock},
	"header in texts": {headers, headers + "\n" + tomlBlock},
}

func TestSetAppendsTable(t *testing.T) {
	t.Parallel()
	for name, c := range tomlEdits {
		after, err := parsedTOML(t, c.before).Set("servers", "loci", []byte(tomlEntry))
		if err != nil || string(after) != c.after {
			t.Errorf("%s: %q %v", name, after, err)
			continue
		}
		back, err := parsedTOML(t, string(after)).Remove("servers", "loci")
		if err != nil || string(back) != c.before || back == nil {
			t.Errorf("%s: removed again: %q %v", name, back, err)
		}
	}
	d, _ := parseTOML(nil)
	if after, err := d.Set("servers", "loci", []byte(tomlEntry)); err != nil || string(after) != tomlBlock {
		t.Errorf("a new file: %q %v", after, err)
	}
	if back, err := parsedTOML(t, tomlBlock).Remove("servers", "loci"); back != nil || err != nil {
		t.Errorf("a file that did not exist becomes %q %v", back, err)
	}
}

func TestSetReplacesTableInItsPlace(t *testing.T) {
	t.Parallel()
	before := "a = 1\n\n[ servers . \"loci\" ] # old\nurl = \"x\"\n[servers.loci.env]\nB = \"c\"\n\n# next\n[z]\n" +
		"[servers.loci.tools]\n[y]\n"
	after, err := parsedTOML(t, before).Set("servers", "loci", []byte(tomlEntry))
	if want := "a = 1\n\n" + tomlBlock + "\n# next\n[z]\n[y]\n"; err != nil || string(after) != want {
		t.Errorf("%q %v", after, err)
	}
	after, err = parsedTOML(t, before).Remove("servers", "loci")
	if want := "a = 1\n\n# next\n[z]\n[y]\n"; err != nil || string(after) != want {
		t.Errorf("%q %v", after, err)
	}
}

// TestTablesOfPersonsAreFound removes tables that a person wrote, in all forms of a header.
func TestTablesOfPersonsAreFound(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"\ufeff[servers.loci]\nurl = 'x'\n[[b]]\n":                        "\ufeff[[b]]\n",
		"a = 1\r\n\t['servers'.\"loci\"]#x\r\nurl = 'x' # y\r\n\r\n":      "a = 1\r\n\r\n",
		"[servers.loci]\nb = \"\"\"\n[a]\n\"\"\"\nc = [\n[1],\n]\n[a]\n":  "[a]\n",
		"[servers.loci2]\n[[servers.b.loci]]\n[servers.loci]\nb = 1":      "[servers.loci2]\n[[servers.b.loci]]\n",
		"[servers]\na.b = 1\n\n[servers.loci]\n# b\n[[servers.loci.c]]\n": "[servers]\na.b = 1\n# b\n",
	} {
		after, err := parsedTOML(t, before).Remove("servers", "loci")
		if err != nil || string(after) != want {
			t.Errorf("%q becomes %q %v, want %q", before, after, err, want)
		}
		if err := codexLike.check([]byte(before), after, "loci", nil); err != nil {
			t.Errorf("%q becomes %q: %v", before, after, err)
		}
	}
}

// TestRemoveKeepsLineEndBeforeWhatFollows has texts without a line end to which other programs added tables.
func TestRemoveKeepsLineEndBeforeWhatFollows(t *testing.T) {
	t.Parallel()
	for following, want := range map[string]string{
		"[z]\n":                              "a = 1\n[z]\n",
		"\n[z]\n":                            "a = 1\n\n[z]\n",
		"# end\n":                            "a = 1\n# end\n",
		"[z]\n[servers.loci.env]\nb = 'c'\n": "a = 1\n[z]\n",
		"[servers.loci.env]\nb = 'c'\n":      "a = 1",
	} {
		before := "a = 1\n \n" + tomlBlock + following
		if after, err := parsedTOML(t, before).Remove("servers", "loci"); err != nil || string(after) != want {
			t.Errorf("%q becomes %q %v, want %q", before, after, err, want)
		}
	}
}

func TestOtherFormsOfTablesAreRefused(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"servers = {a = {command = 'b'}}\n":   "is not written as tables",
		"servers.loci.command = 'b'\n":        "is not written as a table [servers.loci]",
		"[servers]\nloci = {command = 'b'}\n": "is not written as a table [servers.loci]",
		"[servers]\nloci.command = 'b'\n":     "is not written as a table [servers.loci]",
		"[servers.\"lo\\u0063i\"]\n":          "is not written as a table [servers.loci]",
		"[servers.loci.env]\nA = 'b'\n":       "is not written as a table [servers.loci]",
		"servers = 1\n":                       "servers is not a table",
		"[[servers]]\nloci = 1\n":             "servers is not a table",
	} {
		after, err := parsedTOML(t, before).Set("servers", "loci", []byte(tomlEntry))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q becomes %q, %v", before, after, err)
		}
	}
	if _, err := parseTOML([]byte("a = 1\nb = [\n")); err == nil || !strings.HasPrefix(err.Error(), "line ") {
		t.Errorf("%v", err)
	}
}

func TestParseTOMLBoundsNesting(t *testing.T) {
	t.Parallel()
	many := strings.Repeat
	for _, text := range []string{"a = " + many("[", 101) + many("]", 101), many("a={", 101) + many("}", 101),
		many("a.", 100) + "a = 1", "[" + many("a.", 100) + "a]", `"a" . ` + many("'b'.", 100) + "a = 1",
		"a = 1 # x\n" + many("[", 1<<20), many("a={", 1<<20)} {
		if _, err := parseTOML([]byte(text)); err == nil || !strings.Contains(err.Error(), "more than 100 deep") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	for _, text := range []string{"a = " + many("[", 90) + many("]", 90), many("a.", 90) + "a = 1",
		"a = [" + many("1.5, [2.5], ", 500) + "]", "a = '" + many("[.", 200) + "' # " + many("[.", 200),
		`a = """` + many("{\n", 200) + `"""`, many("# a.b\n", 200), many("[[a.b]]\nc = 1.5\n", 200)} {
		if _, err := parseTOML([]byte(text)); err != nil {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func FuzzSetAndRemoveRestoreTOML(f *testing.F) {
	for _, c := range tomlEdits {
		f.Add([]byte(c.before))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseTOML(text)
		if err != nil {
			return
		}
		if _, found, err := d.Value("servers", "loci"); err != nil || found {
			return
		}
		after, err := d.Set("servers", "loci", []byte(tomlEntry))
		if err != nil {
			return // another form, or a text that cannot be continued
		}
		if !bytes.HasPrefix(after, text) {
			t.Fatalf("%q becomes %q", text, after)
		}
		changed := parsedTOML(t, string(after))
		if err := codexLike.check(text, after, "loci", wantTable); err != nil && !bytes.Contains(text, []byte("nan")) {
			t.Fatalf("%q becomes %q: %v", text, after, err)
		}
		if back, err := changed.Remove("servers", "loci"); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q becomes %q and then %q (%v)", text, after, back, err)
		}
	})
}

func parsedTOML(t *testing.T, text string) *tomlDocument {
	t.Helper()
	d, err := parseTOML([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}
