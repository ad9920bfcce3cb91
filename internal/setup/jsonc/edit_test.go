package jsonc

import (
	"bytes"
	"reflect"
	"testing"
)

const entry = `{"command": "loci", "args": ["mcp"], "env": {}}`

// texts are documents that people keep, and what they become.
var texts = map[string]struct{ before, after string }{
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
	"one line":             {`{"a":1}`, `{"a":1, "servers": {"loci": ` + entry + `}}`},
	"one line, container":  {`{"servers":{"a":{}}}`, `{"servers":{"a":{}, "loci": ` + entry + `}}`},
	"one line, with comma": {`{"servers":{"a":{},}}`, `{"servers":{"a":{}, "loci": ` + entry + `,}}`},
	"tabs and CRLF": {"{\r\n\t\"a\": 1\r\n}\r\n", "{\r\n\t\"a\": 1,\r\n\t\"servers\": {\r\n\t\t\"loci\": {\r\n" +
		"\t\t\t\"command\": \"loci\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"mcp\"\r\n\t\t\t],\r\n\t\t\t\"env\": {}\r\n" +
		"\t\t}\r\n" +
		"\t}\r\n}\r\n"},
	"byte order mark": {"\ufeff{\"a\": 1}", "\ufeff{\"a\": 1, \"servers\": {\"loci\": " + entry + "}}"},
}

const deep = "{\n      \"command\": \"loci\",\n      \"args\": [\n        \"mcp\"\n      ],\n      \"env\": {}\n    }"

func TestSetAddsMemberInTheStyleOfTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range texts {
		after := set(t, []byte(c.before))
		if string(after) != c.after {
			t.Errorf("%s: %q, want %q", name, after, c.after)
		}
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
		`{"servers": {"loci": 1, "b": 2}}`: `{"servers": {"loci": ` + entry + `, "b": 2}}`,
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

func TestParseNamesLineAndError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n\"a\": }":            `line 2: a value is missing before '}'`,
		"{\n\"a\": 1\n\"b\": 2}": `line 3: a comma is missing before '"'`,
		"{\"a\" 1}":              `line 1: a colon is missing after "a"`,
		"{a: 1}":                 `line 1: a name in quotes is missing before 'a'`,
		"{\n\"a\": \"x\n\"}":     `line 2: a text in quotes has no end in its line`,
		"{\n\n":                  `line 3: '{' of line 1 has no end`,
		"{} x":                   `line 1: 'x' follows the end of the object`,
		"[]":                     `line 1: the document is not an object`,
		"// only":                `line 1: there are comments and no object`,
		"{} /* x":                `line 1: a comment has no end`,
		"{\"a\": tru}":           `line 1: "tru" is not a value`,
		"{\"a\": 01}":            `line 1: "01" is not a value`,
		"{\"a\": \"\\x\"}":       `line 1: a text in quotes has an unknown escape`,
		"\xff\xfe{":              `line 1: the file is not UTF-8`,
		"{\"a\": [1, 2}":         `line 1: a comma is missing before '}'`,
		"{,}":                    `line 1: a name in quotes is missing before ','`,
		"{\"a\": \"b":            `line 1: a text in quotes has no end`,
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	deep := bytes.Repeat([]byte("["), 1e6)
	if _, err := Parse(append([]byte(`{"a":`), deep...)); err == nil {
		t.Error("a million arrays are accepted")
	}
	for _, text := range []string{`{"servers": []}`, "{\"servers\": {\"loci\": 1,\n\"loci\": " +
		"2}}", `{"servers": {}, "servers": {}}`} {
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Set("servers", "loci", []byte(entry)); err == nil {
			t.Errorf("%s is changed", text)
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
		after, err := d.Set("servers", "loci", []byte(entry))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(after) - len(text); n <= 0 || !isSubsequence(text, after) {
			t.Fatalf("%q becomes %q", text, after)
		}
		changed, err := Parse(after)
		if err != nil {
			t.Fatalf("%q becomes %q: %v", text, after, err)
		}
		if got, found, err := changed.Value("servers", "loci"); err != nil || !found ||
			!reflect.DeepEqual(got, wantEntry) {
			t.Fatalf("%q becomes %q: %v %v", text, after, got, err)
		}
		if back, err := changed.Remove("servers", "loci"); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q becomes %q and then %q (%v)", text, after, back, err)
		}
	})
}

var wantEntry = map[string]any{"command": "loci", "args": []any{"mcp"}, "env": map[string]any{}}

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
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	after, err := d.Set("servers", "loci", []byte(entry))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return after
}

func remove(t *testing.T, text []byte) []byte {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	after, err := d.Remove("servers", "loci")
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return after
}
