package tomltable

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

var lines = []string{`command = "loci"`, `args = ["mcp"]`}

const block = "[servers.loci]\ncommand = \"loci\"\nargs = [\"mcp\"]\n"

// texts are documents that people keep, and what they become.
var texts = map[string]struct{ before, after string }{
	"empty":       {"", "\n" + block},
	"line":        {"a = 1\n", "a = 1\n\n" + block},
	"blank line":  {"a = 1\n\n", "a = 1\n\n\n" + block},
	"no line end": {"a = 1", "a = 1\n \n" + block},
	"other servers": {"[servers.a] # x\ncommand = 'b' # y\n\n# end\n", "[servers.a] # x\ncommand = 'b' # y\n\n# " +
		"end\n\n" + block},
	"CRLF": {"a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(block, "\n", "\r\n")},
	"header in texts": {"a = \"\"\"\n[servers.loci]\n\\\"\"\"\"\"\nb = '''\n[servers.loci]\n'''\nc = [\n  " +
		"'[servers.loci]', # ]\n]\n", "a = \"\"\"\n" +
		"[servers.loci]\n\\\"\"\"\"\"\nb = '''\n[servers.loci]\n'''\nc = [\n  '[servers.loci]', # ]\n]\n\n" + block},
}

func TestSetAppendsTable(t *testing.T) {
	t.Parallel()
	for name, c := range texts {
		after, err := parse(t, c.before).Set("servers", "loci", lines)
		if err != nil || string(after) != c.after {
			t.Errorf("%s: %q %v", name, after, err)
			continue
		}
		back, err := parse(t, string(after)).Remove("servers", "loci")
		if err != nil || string(back) != c.before || back == nil {
			t.Errorf("%s: removed again: %q %v", name, back, err)
		}
	}
	d, _ := Parse(nil)
	after, err := d.Set("servers", "loci", lines)
	if err != nil || string(after) != block {
		t.Errorf("a new file: %q %v", after, err)
	}
	if back, err := parse(t, block).Remove("servers", "loci"); back != nil || err != nil {
		t.Errorf("a file that did not exist becomes %q %v", back, err)
	}
}

func TestSetReplacesTableInItsPlace(t *testing.T) {
	t.Parallel()
	before := "a = 1\n\n[ servers . \"loci\" ] # old\nurl = \"x\"\n[servers.loci.env]\nB = \"c\"\n\n# next\n[z]\n" +
		"[servers.loci.tools]\n[y]\n"
	after, err := parse(t, before).Set("servers", "loci", lines)
	if want := "a = 1\n\n" + block + "\n# next\n[z]\n[y]\n"; err != nil || string(after) != want {
		t.Errorf("%q %v", after, err)
	}
	after, err = parse(t, before).Remove("servers", "loci")
	if want := "a = 1\n\n# next\n[z]\n[y]\n"; err != nil || string(after) != want {
		t.Errorf("%q %v", after, err)
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
		before := "a = 1\n \n" + block + following
		if after, err := parse(t, before).Remove("servers", "loci"); err != nil || string(after) != want {
			t.Errorf("%q becomes %q %v, want %q", before, after, err, want)
		}
	}
}

func TestSetRefusesOtherForms(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"servers = {a = {command = 'b'}}\n":   "is not written as tables",
		"servers.loci.command = 'b'\n":        "is not written as a table [servers.loci]",
		"[servers]\nloci = {command = 'b'}\n": "is not written as a table [servers.loci]",
		"[servers.loci.env]\nA = 'b'\n":       "is not written as a table [servers.loci]",
		"servers = 1\n":                       "servers is not a table",
		"[[servers]]\nloci = 1\n":             "servers is not a table",
	} {
		after, err := parse(t, before).Set("servers", "loci", lines)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q becomes %q, %v", before, after, err)
		}
	}
	if _, err := Parse([]byte("a = 1\nb = [\n")); err == nil || !strings.HasPrefix(err.Error(), "line ") {
		t.Errorf("%v", err)
	}
}

func TestParseBoundsNesting(t *testing.T) {
	t.Parallel()
	many := strings.Repeat
	for _, text := range []string{"a = " + many("[", 101) + many("]", 101), many("a={", 101) + many("}", 101),
		many("a.", 100) + "a = 1", "[" + many("a.", 100) + "a]", `"a" . ` + many("'b'.", 100) + "a = 1",
		"a = 1 # x\n" + many("[", 1<<20), many("a={", 1<<20)} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "more than 100 deep") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	for _, text := range []string{"a = " + many("[", 90) + many("]", 90), many("a.", 90) + "a = 1",
		"a = [" + many("1.5, [2.5], ", 500) + "]", "a = '" + many("[.", 200) + "' # " + many("[.", 200),
		`a = """` + many("{\n", 200) + `"""`, many("# a.b\n", 200), many("[[a.b]]\nc = 1.5\n", 200)} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func FuzzSetAndRemoveRestoreTheText(f *testing.F) {
	for _, c := range texts {
		f.Add([]byte(c.before))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if _, found, err := d.Value("servers", "loci"); err != nil || found {
			return
		}
		after, err := d.Set("servers", "loci", lines)
		if err != nil {
			return // another form, or a text that cannot be continued
		}
		if !bytes.HasPrefix(after, text) {
			t.Fatalf("%q becomes %q", text, after)
		}
		changed := parse(t, string(after))
		if got, _, err := changed.Value("servers", "loci"); err != nil ||
			!reflect.DeepEqual(got, map[string]any{"command": "loci", "args": []any{"mcp"}}) {
			t.Fatalf("%q becomes %q: %v %v", text, after, got, err)
		}
		if back, err := changed.Remove("servers", "loci"); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q becomes %q and then %q (%v)", text, after, back, err)
		}
	})
}

func parse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}
