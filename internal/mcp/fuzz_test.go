package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// FuzzTruncateResult truncates lists of any JSON: the result is JSON within the limit, and removing an argument leaves
// the others unchanged.
func FuzzTruncateResult(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","content":"\ud83c\udfdb\u00e9\"\\","tags":["a","b"],"source":{"name":null,"n":-1.5e3}}`,
		`{}`, `[]`, `5`, `" [{,:}] \\"`, `[[[[{"a":[1,2,{}]}]]]]`, `{ "limit" : 5 , "x" : [ ] }`,
		`{"a":1,"limit":[{"limit":2}]}`, `{"l\u0069mit":5,"x":"\\\""}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, item []byte, offset int) {
		if !json.Valid(item) || len(item) > 4096 {
			return
		}
		long, _ := json.Marshal(string(bytes.Repeat(item, 40_000/(len(item)+1)+1)))
		list := bytes.Repeat(append(bytes.Clone(item), ','), 300)
		raw := append(append(append(append([]byte(`{"content":`), long...), `,"list":[`...), list[:len(list)-1]...),
			`]}`...)
		out, maxItems := truncateResult(raw, max(-1, offset), maxResult, op.Presentation{Text: "content"})
		if out != nil && (!json.Valid(out) || len(out) > maxResult) {
			t.Fatalf("%d bytes: %s", len(out), out)
		}
		if out == nil && (maxItems < 0 || maxItems >= 300) {
			t.Fatalf("space for %d", maxItems)
		}
		checkTruncated(t, item)
	})
}

// checkTruncated compares removeMember and addNumber with a map.
func checkTruncated(t *testing.T, item []byte) {
	var want map[string]any
	if strictjson.Walk(item, nil) != nil || json.Unmarshal(item, &want) != nil || want == nil {
		return
	}
	value, rest := removeMember(item, "limit")
	if _, has := want["limit"]; has != (value != nil) {
		t.Fatalf("limit in %s: %s", item, value)
	}
	want["limit"] = 9.0
	var got map[string]any
	if err := json.Unmarshal(addNumber(rest, "limit", 9), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %v, %v: %v", item, got, want, err)
	}
}
