package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// fakeWithMemories returns a client of a shelf of n memories of the content.
func fakeWithMemories(t *testing.T, n int, content string) (client, *fakeService) {
	s := newFakeService()
	c := client{t: t, url: serve(t, s), version: "2025-11-25", key: "ann"}
	for i := range n {
		if v, failed := c.tool("memory_create", object{"content": fmt.Sprint(i, " ", content)}); failed {
			t.Fatal(v)
		}
	}
	return c, s
}

func TestGetReadsLongContentInParts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"letters":      strings.Repeat("abcdefghi ", 20_000),
		"lines":        strings.Repeat("One line of many.\n", 10_000),
		"characters":   strings.Repeat("記憶宮殿🏛", 10_000),
		"escapes":      strings.Repeat("\"\\\n\u2028\x01<", 10_000),
		"backslashes":  strings.Repeat(`\n`, 30_000),
		"the boundary": strings.Repeat("x", 32<<10),
	} {
		c, s := fakeWithMemories(t, 1, text)
		want, id := s.memories[0].Content, s.memories[0].ID
		var got strings.Builder
		parts := 1
		for part := 1; part <= parts; part++ {
			args := object{"memoryId": id, "part": part}
			if part == 1 {
				delete(args, "part")
			}
			v, failed := c.tool("memory_get", args)
			if failed || v["id"] != string(id) || v["part"] != float64(part) {
				t.Fatalf("%s: %v", name, v)
			}
			content := v["content"].(string)
			if parts = int(v["parts"].(float64)); name == "lines" && !strings.HasSuffix(content, ".\n") {
				t.Errorf("%s: part %d ends in the middle: %q", name, part, content[len(content)-20:])
			}
			got.WriteString(content)
		}
		if got.String() != want || parts < 2 || parts > 1+len(encode(want))/20_000 {
			t.Errorf("%s: %d parts, %d bytes of %d", name, parts, got.Len(), len(want))
		}
		v, failed := c.tool("memory_get", object{"part": parts + 1, "memoryId": id})
		if !failed || v["code"] != "invalid_query" {
			t.Errorf("%s: beyond the end: %v", name, v)
		}
	}
}

func encode(text string) []byte {
	b, _ := json.Marshal(text) // never fails
	return b
}

func TestGetAcceptsAnyFormOfPart(t *testing.T) {
	t.Parallel()
	c, s := fakeWithMemories(t, 1, "content")
	for args, want := range map[string]any{
		`"\u0070art":1`: 1.0, `"part":1.0`: 1.0, `"part":0.1e1`: 1.0, `"part":"1"`: 1.0, `"part":null`: nil, `"part":""`: nil,
		`"part":0`: "invalid_query", `"part":1.5`: "invalid_query", `"part":-1`: "invalid_query",
		`"part":1e300`: "invalid_query", `"part":2`: "invalid_query", `"part":"one"`: "invalid_query",
		`"part":1,"p\u0061rt":1`: "invalid_query",
	} {
		v, _ := c.tool("memory_get", json.RawMessage(`{"memoryId":"`+string(s.memories[0].ID)+`",`+args+`}`))
		if got := v["part"]; want == "invalid_query" && v["code"] != want ||
			want != "invalid_query" && (got != want || v["content"] != "0 content" || v["parts"] != want) {
			t.Errorf("%s: %v", args, v)
		}
	}
}

func TestSearchShowsWindowAroundBestSnippet(t *testing.T) {
	t.Parallel()
	c, s := fakeWithMemories(t, 5, "")
	before, behind := strings.Repeat("記憶 before. ", 500), strings.Repeat(" behind.", 500)
	s.memories[0].Content = before + `The "needle" lies in the cellar.` + behind
	s.memories[1].Content = "short needle"
	s.memories[2].Content = strings.Repeat("針", 2000) + "needle"
	s.memories[3].Content = "needle" + behind
	s.memories[4].Content = before + "needle"
	v, _ := c.tool("memory_search", object{"query": "needle"})
	for i, m := range v["memories"].([]any) {
		content, _ := m.(object)["content"].(string)
		n := utf8.RuneCountInString(content)
		if !strings.Contains(content, "needle") || n > 800 || n < min(400, len(s.memories[i].Content)) ||
			m.(object)["highlights"] != nil || (m.(object)["truncated"] == true) != (len(s.memories[i].Content) > 800) {
			t.Errorf("%d: %d characters, %.300v", i, n, m)
		}
	}
}

func TestTruncateKeepsItemsOfPage(t *testing.T) {
	t.Parallel()
	c, _ := fakeWithMemories(t, 20, strings.Repeat("long ", 2000))
	v, failed := c.tool("memory_list", nil)
	list := v["memories"].([]any)
	if failed || len(list) != 20 || list[19].(object)["truncated"] != true {
		t.Errorf("%d memories of 20", len(list))
	}
	if n := len(list[0].(object)["content"].(string)); n < 800 {
		t.Errorf("only %d characters", n)
	}
}

func TestPagesLoseNoItemWhenTruncated(t *testing.T) {
	t.Parallel()
	c, _ := fakeWithMemories(t, 200, strings.Repeat("Short. ", 50))
	seen, pages := map[any]bool{}, 0
	args := object{"limit": 100}
	for {
		v, failed := c.tool("memory_list", args)
		if failed {
			t.Fatal(v)
		}
		for _, m := range v["memories"].([]any) {
			seen[m.(object)["id"]] = true
		}
		pages++
		if v["nextCursor"] == nil {
			break
		}
		args["cursor"] = v["nextCursor"]
	}
	if len(seen) != 200 || pages < 3 || pages > 4 {
		t.Errorf("%d memories on %d pages", len(seen), pages)
	}
}

func TestTruncatedLastPageKeepsCursor(t *testing.T) {
	t.Parallel()
	for size := range 24 {
		c, _ := fakeWithMemories(t, 100, strings.Repeat("x", size+300))
		v, failed := c.tool("memory_list", object{"limit": 100})
		if items, _ := v["memories"].([]any); failed || len(items) < 20 || v["nextCursor"] == nil {
			t.Errorf("memories of %d bytes: a page of %d, cursor %v", size+300, len(items), v["nextCursor"])
		}
	}
}

// A memory may have superseded very many: their ids do not crowd out the memory.
func TestTruncateLimitsListsOfTexts(t *testing.T) {
	t.Parallel()
	c, s := fakeWithMemories(t, 3, "a note")
	for i := range 900 {
		s.memories[1].Supersedes = append(s.memories[1].Supersedes,
			loci.ID(fmt.Sprintf("01a20154-2c96-728a-887c-%012d", i)))
	}
	for tool, args := range map[string]object{"memory_list": {}, "memory_search": {"query": "note"},
		"memory_get": {"memoryId": s.memories[1].ID}} {
		v, failed := c.tool(tool, args)
		list, _ := v["memories"].([]any)
		if tool == "memory_get" {
			list = []any{v, v, v}
		}
		if failed || len(list) != 3 {
			t.Fatalf("%s: %d memories, %.200v", tool, len(list), v)
		}
		m := list[1].(object)
		ids, _ := m["supersedes"].([]any)
		if whole := tool == "memory_get"; (len(ids) == 50) != whole || (m["truncated"] == true) != whole ||
			!strings.Contains(m["content"].(string), "a note") {
			t.Errorf("%s: %d ids, %.200v", tool, len(ids), m)
		}
	}
}

func TestSearchGivesTenByDefault(t *testing.T) {
	t.Parallel()
	c, _ := fakeWithMemories(t, 25, "tide")
	for args, want := range map[string]int{`{"query":"tide"}`: 10, `{"query":"tide","limit":null}`: 10,
		`{"query":"tide","limit":"12"}`: 12, `{"query":"tide","limit":1000}`: 25} {
		v, failed := c.tool("memory_search", json.RawMessage(args))
		if list, _ := v["memories"].([]any); failed || len(list) != want {
			t.Errorf("%s: %d memories, want %d", args, len(list), want)
		}
	}
}
