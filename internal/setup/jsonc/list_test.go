package jsonc

import (
	"bytes"
	"strings"
	"testing"
)

const item = `{"hooks": [{"command": "loci"}]}`

// lists are documents that people keep, and what they become.
var lists = map[string]struct{ before, after string }{
	"no file":      {"", "{\n  \"on\": {\n    \"stop\": [\n      " + deepItem + "\n    ]\n  }\n}\n"},
	"empty object": {"{}\n", "{ \n  \"on\": {\n    \"stop\": [\n      " + deepItem + "\n    ]\n  }\n}\n"},
	"empty list":   {`{"on": {"stop": []}}`, "{\"on\": {\"stop\": [ \n  " + itemAt("  ") + "\n]}}"},
	"list in lines": {"{\n  \"on\": {\n    \"stop\": []\n  }\n}",
		"{\n  \"on\": {\n    \"stop\": [ \n      " + deepItem + "\n    ]\n  }\n}"},
	"other items": {stopOf("1, // one\n      2 // two"), stopOf("1, // one\n      2, // two\n      " + deepItem)},
	"trailing comma": {stopOf("1, // one\n      2, // two"),
		stopOf("1, // one\n      2, // two\n      " + deepItem + ",")},
	"one line":       {`{"on":{"stop":[{"a":1}]}}`, `{"on":{"stop":[{"a":1}, ` + item + `]}}`},
	"comments alone": {stopOf("// none"), stopOf("// none\n      " + deepItem)},
	"another member": {"{\n  \"on\": {\n    \"start\": [1]\n  }\n}\n",
		"{\n  \"on\": {\n    \"start\": [1],\n    \"stop\": [\n      " + deepItem + "\n    ]\n  }\n}\n"},
	"CRLF, tabs, BOM": {"\ufeff{\r\n\t\"on\": {\r\n\t\t\"stop\": []\r\n\t}\r\n}", ""},
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
	for name, c := range lists {
		var before []byte
		if name != "no file" {
			before = []byte(c.before)
		}
		after, err := parsed(t, before).Append("on", "stop", []byte(item))
		if err != nil || c.after != "" && string(after) != c.after {
			t.Errorf("%s: %q %v, want %q", name, after, err, c.after)
		}
		value, _, err := parsed(t, after).Value("on", "stop")
		items, _ := value.([]any)
		if err != nil || len(items) == 0 {
			t.Fatalf("%s: %v %v", name, value, err)
		}
		back, err := parsed(t, after).RemoveItem("on", "stop", len(items)-1)
		if err != nil || string(back) != string(before) || (back == nil) != (before == nil) {
			t.Errorf("%s: removed again: %q %v", name, back, err)
		}
	}
}

func TestItemsAreChangedInTheirPlace(t *testing.T) {
	t.Parallel()
	d := parsed(t, []byte(`{"on": {"stop": [1, {"a": [2]}, 3]}}`))
	if after, err := d.SetItem("on", "stop", 1, []byte(item)); err != nil ||
		string(after) != `{"on": {"stop": [1, `+item+`, 3]}}` {
		t.Errorf("%s %v", after, err)
	}
	for index, want := range []string{`[{"a": [2]}, 3]`, `[1, 3]`, `[1, {"a": [2]}]`} {
		after, err := d.RemoveItem("on", "stop", index)
		if err != nil || string(after) != `{"on": {"stop": `+want+`}}` {
			t.Errorf("%d: %s %v", index, after, err)
		}
	}
}

func TestListMustBeList(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"on": {"stop": {}}}`, `{"on": []}`, `{"on": {"stop": 1}}`} {
		d := parsed(t, []byte(text))
		if _, err := d.Append("on", "stop", []byte(item)); err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	d := parsed(t, []byte(`{"on": {"stop": [1]}}`))
	for _, index := range []int{-1, 1} {
		if _, err := d.RemoveItem("on", "stop", index); err == nil {
			t.Errorf("there is an item %d", index)
		}
		if _, err := d.SetItem("on", "start", index, []byte("1")); err == nil {
			t.Errorf("there is an item %d of no list", index)
		}
	}
}

func parsed(t *testing.T, text []byte) *Document {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func FuzzAppendAndRemoveItemRestoreTheText(f *testing.F) {
	for _, c := range lists {
		f.Add([]byte(c.before))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		before, _, err := d.Value("on", "stop")
		items, isList := before.([]any)
		if err != nil || before != nil && !isList {
			return
		}
		after, err := d.Append("on", "stop", []byte(item))
		if err != nil {
			return // the list is null, or the container is no object
		}
		if !isSubsequence(text, after) {
			t.Fatalf("%q becomes %q", text, after)
		}
		changed, err := Parse(after)
		if err != nil {
			t.Fatalf("%q becomes %q: %v", text, after, err)
		}
		got, _, err := changed.Value("on", "stop")
		if all, _ := got.([]any); err != nil || len(all) != len(items)+1 {
			t.Fatalf("%q becomes %q: %v %v", text, after, got, err)
		}
		if back, err := changed.RemoveItem("on", "stop", len(items)); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q becomes %q and then %q (%v)", text, after, back, err)
		}
	})
}
