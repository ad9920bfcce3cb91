package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
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

func TestGetReturnsNextOffsetWhenContentIsLong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"letters":      strings.Repeat("abcdefghi ", 20_000),
		"characters":   strings.Repeat("記憶宮殿🏛", 10_000),
		"escapes":      strings.Repeat("\"\\\n\u2028\x01<", 10_000),
		"the boundary": strings.Repeat("x", 32<<10),
	} {
		c, s := fakeWithMemories(t, 1, text)
		want, id := s.memories[0].Content, s.memories[0].ID
		var got strings.Builder
		args := object{"memoryId": id}
		parts := 0
		for {
			v, failed := c.tool("memory_get", args)
			if failed || v["id"] != string(id) {
				t.Fatalf("%s: %v", name, v)
			}
			got.WriteString(v["content"].(string))
			parts++
			next, more := v["nextOffset"]
			testenv.Equal(t, more, (v["truncated"] == true), name, v["truncated"], next)
			if !more {
				break
			}
			testenv.RequireEqual(t, int(next.(float64)), utf8.RuneCountInString(got.String()), name, next)
			args["offset"] = next
		}
		if got.String() != want || parts < 2 {
			t.Errorf("%s: %d parts, %d bytes of %d", name, parts, got.Len(), len(want))
		}
		if v, _ := c.tool("memory_get", object{"offset": 1_000_000, "memoryId": id}); v["content"] != "" ||
			v["truncated"] != nil {
			t.Errorf("%s: beyond the end: %v", name, v["content"])
		}
	}
}

func TestGetAcceptsAnyFormOfOffset(t *testing.T) {
	t.Parallel()
	c, s := fakeWithMemories(t, 1, "content")
	for args, want := range map[string]string{
		`"\u006fffset":5`: "tent", `"offset":5.0`: "tent", `"offset":0.5e1`: "tent", `"offset":-0`: "0 content",
		`"offset":5.5`: "", `"offset":-1`: "", `"offset":1e300`: "", `"offset":"5"`: "tent", `"offset":"five"`: "",
		`"offset":null`: "0 content", `"offset":""`: "0 content", `"offset":5,"o\u0066fset":5`: "",
	} {
		v, failed := c.tool("memory_get", json.RawMessage(`{"memoryId":"`+string(s.memories[0].ID)+`",`+args+`}`))
		if content, _ := v["content"].(string); content != want || failed != (want == "") {
			t.Errorf("%s: %v", args, v)
		}
	}
}

func TestSearchTruncatesTextsTo1000Characters(t *testing.T) {
	t.Parallel()
	c, s := fakeWithMemories(t, 2, strings.Repeat("宮", 2000))
	s.memories[1].Content = "short 宮"
	v, _ := c.tool("memory_search", object{"query": "宮"})
	long, short := v["memories"].([]any)[0].(object), v["memories"].([]any)[1].(object)
	if utf8.RuneCountInString(long["content"].(string)) != 1000 || long["truncated"] != true {
		t.Errorf("%d characters, truncated %v", utf8.RuneCountInString(long["content"].(string)), long["truncated"])
	}
	if short["content"] != "short 宮" || short["truncated"] != nil || v["truncated"] != nil {
		t.Errorf("short %v", short)
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
	c, _ := fakeWithMemories(t, 200, strings.Repeat("Short. ", 25))
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
		c, _ := fakeWithMemories(t, 100, strings.Repeat("x", size+150))
		v, failed := c.tool("memory_list", object{"limit": 100})
		if items, _ := v["memories"].([]any); failed || len(items) < 20 || v["nextCursor"] == nil {
			t.Errorf("memories of %d bytes: a page of %d, cursor %v", size+150, len(items), v["nextCursor"])
		}
	}
}

func TestTruncateAppliesToWrites(t *testing.T) {
	t.Parallel()
	c, _ := fakeWithMemories(t, 0, "")
	v, failed := c.tool("memory_create", object{"content": strings.Repeat("x", 200<<10)})
	m := v["memory"].(object)
	if failed || m["truncated"] != true || v["nextOffset"] != nil || len(m["content"].(string)) < 20_000 {
		t.Errorf("%v, %d characters", m["truncated"], len(m["content"].(string)))
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
