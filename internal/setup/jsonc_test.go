package setup

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

const jsonEntry = `{"command": "loci", "args": ["mcp"], "env": {}}`

// jsonEdits are documents that people keep, and what they become.
var jsonEdits = map[string]struct{ before, after string }{
	"empty file":      {"", " {\n  \"servers\": {\n    \"loci\": " + deep + "\n  }\n}\n"},
	"whitespace":      {"\n\n", "\n\n {\n  \"servers\": {\n    \"loci\": " + deep + "\n  }\n}\n"},
	"empty object":    {"{}\n", "{ \n  \"servers\": {\n    \"loci\": " + deep + "\n  }\n}\n"},
	"empty container": {"{\n  \"servers\": {}\n}", "{\n  \"servers\": { \n    \"loci\": " + deep + "\n  }\n}"},
	"comma": {"{\n  \"servers\": {\n    \"a\": 1, // one\n  }, // all\n}\n",
		"{\n  \"servers\": {\n    \"a\": 1, // one\n    \"loci\": " + deep + ",\n  }, // all\n}\n"},
	"no comma": {"{\n  \"servers\": {\n    \"a\": 1 // one\n    // two\n  }\n}\n",
		"{\n  \"servers\": {\n    \"a\": 1, // one\n    \"loci\": " + deep + "\n    // two\n  }\n}\n"},
	"comments alone": {"{\n  \"servers\": {\n    // \"a\": 1\n  }\n}\n",
		"{\n  \"servers\": {\n    // \"a\": 1\n    \"loci\": " + deep + "\n  }\n}\n"},
	"one line":             {`{"a":1}`, `{"a":1, "servers": {"loci": ` + jsonEntry + `}}`},
	"one line, container":  {`{"servers":{"a":{}}}`, `{"servers":{"a":{}, "loci": ` + jsonEntry + `}}`},
	"one line, with comma": {`{"servers":{"a":{},}}`, `{"servers":{"a":{}, "loci": ` + jsonEntry + `,}}`},
	"tabs and CRLF": {"{\r\n\t\"a\": 1\r\n}\r\n", "{\r\n\t\"a\": 1,\r\n\t\"servers\": {\r\n\t\t\"loci\": {\r\n" +
		"\t\t\t\"command\": \"loci\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"mcp\"\r\n\t\t\t],\r\n\t\t\t\"env\": {}\r\n" +
		"\t\t}\r\n" +
		"\t}\r\n}\r\n"},
	"byte order mark": {"\ufeff{\"a\": 1}", "\ufeff{\"a\": 1, \"servers\": {\"loci\": " + jsonEntry + "}}"},
}

const deep = "{\n      \"command\": \"loci\",\n      \"args\": [\n        \"mcp\"\n      ],\n      \"env\": {}\n    }"

func TestSetAddsMemberInTheStyleOfTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range jsonEdits {
		after := set(t, []byte(c.before))
		testenv.Equal(t, string(after), c.after, name, after)
		if back := remove(t, after); string(back) != c.before || back == nil {
			t.Errorf("%s: removed again: %q", name, back)
		}
	}
	if back := remove(t, set(t, nil)); back != nil {
		t.Errorf("a file that did not exist becomes %q", back)
	}
}

func TestSetReplacesValueInItsPlace(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		`{"servers": {"loci": 1, "b": 2}}`: `{"servers": {"loci": ` + jsonEntry + `, "b": 2}}`,
		"{\n  \"servers\": {\n    \"loci\": {}, // x\n    \"b\": 2\n  }\n}": "{\n  \"servers\": {\n    " +
			"\"loci\": " + deep +
			", // x\n    \"b\": 2\n  }\n}",
	} {
		if after := set(t, []byte(before)); string(after) != want {
			t.Errorf("%q becomes %q", before, after)
		}
	}
}

func TestRemoveLeavesWhatOthersWrote(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		`{"servers": {"loci": 1, "b": 2}}`:         `{"servers": {"b": 2}}`,
		`{"servers": {"a": 1, "loci": 1, "b": 2}}`: `{"servers": {"a": 1, "b": 2}}`,
		"{\n  \"servers\": {\n    \"loci\": 1, // mine\n    \"b\": 2\n  }\n}": "{\n  \"servers\": { // mine\n    " +
			"\"b\": 2\n  }\n}",
		"{\n  \"servers\": {\n    /* why */\n    \"loci\": 1\n  }\n}": "{\n  \"servers\": {\n    /* why " +
			"*/\n  }\n}",
		"{\"servers\": {\n  // mine\n  \"loci\": 1, \"b\": 2 }}":    "{\"servers\": {\n  // mine\n \"b\": 2 }}",
		"{\"servers\": {\n  // mine\n  \"loci\": 1 }}":              "{\"servers\": {\n  // mine\n }}",
		"{\"servers\": { \"b\": 2, // mine\n  \"loci\": 1 }}":       "{\"servers\": { \"b\": 2 // mine\n }}",
		"{\"servers\": {\n  // mine\n  \"loci\": 1,\n  \"b\": 2 }}": "{\"servers\": {\n  // mine\n  \"b\": 2 }}",
		"{\"servers\": {\n  // a\n  \"loci\": 1, /* b\n */ \"b\": 2 }}": "{\"servers\": {\n  // a\n /* b\n */ " +
			"\"b\": 2 }}",
		`{ "servers": { "loci": 1 } }`: `{ "servers": {} }`,
		"{}":                           "{}",
	} {
		if after := remove(t, []byte(before)); string(after) != want {
			t.Errorf("%q becomes %q, want %q", before, after, want)
		}
	}
}

func TestParseJSONNamesPlaceAndError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n\"a\": }":                      "line 2, column 6: ",
		"{\n\"a\": 1\n\"b\": 2}":           "line 3, column 1: ",
		"{a: 1}":                           "line 1, column 2: ",
		"{\n\n":                            "line 4, column 1: ",
		"{} x":                             "line 1, column 4: ",
		" []":                              "line 1, column 2: the document is not an object",
		"// only":                          "line 2, column 1: ",
		"{} /* x":                          "line 1, column 4: ",
		"\ufeff{\"a\": tru}":               "line 1, column 7: ",
		"{\"a\": \"\\x\"}":                 "line 1, column 7: ",
		"\xff\xfe{":                        "the file is not UTF-8",
		`{"a":` + strings.Repeat("[", 1e6): "more than 100 deep",
	} {
		if _, err := parseJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`{"a": "` + strings.Repeat(`[{\"`, 200) + `"}`, "{} //" + strings.Repeat("[", 200),
		"{/*" + strings.Repeat("[", 200) + "*/}", `{"a": ` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "}"} {
		if _, err := parseJSON([]byte(text)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestOtherFormsOfContainersAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n  \"servers\": []}":                            `line 2, column 14: "servers" is not an object`,
		"{\"servers\": {\"loci\": 1,\n\"lo\\u0063i\": 2}}": `line 2, column 1: "loci" is a duplicate name`,
		`{"servers": {}, "servers": {}}`:                   `line 1, column 17: "servers" is a duplicate name`,
	} {
		_, err := parsedJSON(t, []byte(text)).Set("servers", "loci", []byte(jsonEntry))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// isSubsequence reports whether all bytes of a stand in b, in order.
func isSubsequence(a, b []byte) bool {
	for _, c := range b {
		if len(a) > 0 && a[0] == c {
			a = a[1:]
		}
	}
	return len(a) == 0
}

func set(t *testing.T, text []byte) []byte {
	t.Helper()
	after, err := parsedJSON(t, text).Set("servers", "loci", []byte(jsonEntry))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return after
}

func remove(t *testing.T, text []byte) []byte {
	t.Helper()
	after, err := parsedJSON(t, text).Remove("servers", "loci")
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return after
}

const listItem = `{"hooks": [{"command": "loci"}]}`

// listEdits are documents that people keep, and what they become.
var listEdits = map[string]struct{ before, after string }{
	"no file":        {"", "{\n  \"on\": {\n    \"stop\": [\n      " + deepItem + "\n    ]\n  }\n}\n"},
	"empty object":   {"{}\n", "{ \n  \"on\": {\n    \"stop\": [\n      " + deepItem + "\n    ]\n  }\n}\n"},
	"comments alone": {stopOf("// none"), stopOf("// none\n      " + deepItem)},
	"CRLF, tabs, BOM": {"\ufeff{\r\n\t\"on\": {\r\n\t\t\"stop\": []\r\n\t}\r\n}", "\ufeff{\r\n\t\"on\": {\r\n\t\t" +
		strings.NewReplacer("  ", "\t", "\n", "\r\n").Replace("\"stop\": [ \n      "+deepItem+"\n    ]\n  ") +
		"}\r\n}"},
	"empty list": {`{"on": {"stop": []}}`, "{\"on\": {\"stop\": [ \n  " + itemAt("  ") + "\n]}}"},
	"list in lines": {"{\n  \"on\": {\n    \"stop\": []\n  }\n}",
		"{\n  \"on\": {\n    \"stop\": [ \n      " + deepItem + "\n    ]\n  }\n}"},
	"other items": {stopOf("1, // one\n      2 // two"), stopOf("1, // one\n      2, // two\n      " + deepItem)},
	"trailing comma": {stopOf("1, // one\n      2, // two"),
		stopOf("1, // one\n      2, // two\n      " + deepItem + ",")},
	"one line": {`{"on":{"stop":[{"a":1}]}}`, `{"on":{"stop":[{"a":1}, ` + listItem + `]}}`},
	"another member": {"{\n  \"on\": {\n    \"start\": [1]\n  }\n}\n",
		"{\n  \"on\": {\n    \"start\": [1],\n    \"stop\": [\n      " + deepItem + "\n    ]\n  }\n}\n"},
}

// stopOf returns a document in lines with the items of the list.
func stopOf(items string) string {
	return "{\n  \"on\": {\n    \"stop\": [\n      " + items + "\n    ]\n  },\n}\n"
}

var deepItem = itemAt("      ")

// itemAt returns the item in lines with that indentation.
func itemAt(indent string) string {
	const text = "{\n  \"hooks\": [\n    {\n      \"command\": \"loci\"\n    }\n  ]\n}"
	return strings.ReplaceAll(text, "\n", "\n"+indent)
}

func TestAppendAddsItemInTheStyleOfTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range listEdits {
		var before []byte
		if name != "no file" {
			before = []byte(c.before)
		}
		after, err := parsedJSON(t, before).Append("on", "stop", []byte(listItem))
		if err != nil || string(after) != c.after {
			t.Errorf("%s: %q %v, want %q", name, after, err, c.after)
		}
		value, _, err := parsedJSON(t, after).Value("on", "stop")
		items, _ := value.([]any)
		if err != nil || len(items) == 0 {
			t.Fatalf("%s: %v %v", name, value, err)
		}
		back, err := parsedJSON(t, after).RemoveItem("on", "stop", len(items)-1)
		if err != nil || string(back) != string(before) || (back == nil) != (before == nil) {
			t.Errorf("%s: removed again: %q %v", name, back, err)
		}
	}
}

func TestItemsAreChangedInTheirPlace(t *testing.T) {
	t.Parallel()
	before := []byte(`{"on": {"stop": [1, {"a": [2]}, 3]}}`)
	if after, err := parsedJSON(t, before).SetItem("on", "stop", 1, []byte(listItem)); err != nil ||
		string(after) != `{"on": {"stop": [1, `+listItem+`, 3]}}` {
		t.Errorf("%s %v", after, err)
	}
	for index, want := range []string{`[{"a": [2]}, 3]`, `[1, 3]`, `[1, {"a": [2]}]`} {
		after, err := parsedJSON(t, before).RemoveItem("on", "stop", index)
		if err != nil || string(after) != `{"on": {"stop": `+want+`}}` {
			t.Errorf("%d: %s %v", index, after, err)
		}
	}
}

func parsedJSON(t *testing.T, text []byte) *jsonDocument {
	t.Helper()
	d, err := parseJSON(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

// FuzzAppendAndRemoveItemRestoreJSON sets a list where there is none, and removes it again.
func FuzzAppendAndRemoveItemRestoreJSON(f *testing.F) {
	names := strings.NewReplacer("servers", "on", "loci", "stop")
	for _, c := range jsonEdits {
		f.Add([]byte(names.Replace(c.before)))
	}
	for _, c := range listEdits {
		f.Add([]byte(c.before))
	}
	var added any
	testenv.NoError(f, decodeJSON([]byte(listItem), &added))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseJSON(text)
		if err != nil {
			return
		}
		before, found, err := d.Value("on", "stop")
		items, isList := before.([]any)
		if err != nil || found && !isList {
			return
		}
		after, err := d.Append("on", "stop", []byte(listItem))
		if err != nil || !isSubsequence(text, after) {
			t.Fatalf("%q becomes %q: %v", text, after, err)
		}
		if err := (&Client{container: "on"}).check(text, after, "stop", append(items, added)); err != nil {
			t.Fatalf("%q becomes %q: %v", text, after, err)
		}
		back, err := parsedJSON(t, after).RemoveItem("on", "stop", len(items))
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q becomes %q and then %q (%v)", text, after, back, err)
		}
	})
}

// TestChangeOfOtherSettingsIsNotWritten checks texts that no edit should make.
func TestChangeOfOtherSettingsIsNotWritten(t *testing.T) {
	t.Parallel()
	jsonc := &Client{container: "servers"}
	for _, c := range []struct {
		client        *Client
		before, after string
		ok            bool
	}{
		{jsonc, `{"a": 1.50}`, `{"servers": {"loci": 1}, "a": 1.50}`, true},
		{jsonc, "", `{"servers": {"loci": 1}}`, true},
		{jsonc, `{"a": 1.50}`, `{"servers": {"loci": 1}, "a": 1.5}`, false},
		{jsonc, `{"a": 1}`, `{"servers": {"loci": 1}}`, false},
		{jsonc, `{"servers": {"b": 1}}`, `{"servers": {"loci": 1}}`, false},
		{jsonc, `{}`, `{"servers": {"loci": 2}}`, false},
		{jsonc, `{}`, `{"servers": {"loci": 1}`, false},
		{codexLike, "a = 1", "a = 1\nservers.loci = '1'", true},
		{codexLike, "a = 1", "servers.loci = '1'", false},
		{codexLike, "a = '''\n[servers.loci]'''", "servers.loci = '1'\na = '''\n'''", false},
		{codexLike, "[servers.b]", "[servers.b]\n[servers.c]\n[servers]\nloci = '1'", false},
		{codexLike, "", "a = ", false},
	} {
		var want any = "1"
		if !c.client.toml {
			testenv.NoError(t, decodeJSON([]byte("1"), &want))
		}
		if err := c.client.check([]byte(c.before), []byte(c.after), "loci", want); (err == nil) != c.ok {
			t.Errorf("%q to %q: %v", c.before, c.after, err)
		}
	}
}

func TestChangeOfOtherHooksIsNotWritten(t *testing.T) {
	t.Parallel()
	const own, other = `{"hooks": [{"command": "loci hook claude"}]}`, `{"hooks": [{"command": "x"}]}`
	c := newWorld(t).wired("claude", nil)
	for after, ok := range map[string]bool{
		`{"hooks": {"Stop": [` + other + `, ` + own + `], "SessionEnd": [` + own + `]}, "a": 1}`: true,
		`{"hooks": {"Stop": [` + other + `]}, "a": 1}`:                                           true,
		`{"hooks": {"Stop": [` + own + `]}, "a": 1}`:                                             false,
		`{"hooks": {"Stop": [` + other + `, ` + other + `]}, "a": 1}`:                            false,
		`{"hooks": {"Stop": [` + other + `]}}`:                                                   false,
		`{"hooks": {"Stop": [` + other + `]}, "a": 1`:                                            false,
	} {
		err := turnHooks.check(c, []byte(`{"hooks": {"Stop": [`+other+`]}, "a": 1}`), []byte(after))
		testenv.Equal(t, (err == nil), ok, after, err)
	}
}

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
