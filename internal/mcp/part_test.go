package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestPartsFitBesideLongLists(t *testing.T) {
	t.Parallel()
	for _, name := range []int{10, 250, 30_000} { // characters of the name of a file
		text, file := strings.Repeat("word ", 20_000),
			map[string]string{"id": strings.Repeat("1", 200), "fileName": strings.Repeat("x", name)}
		var files []map[string]string
		for range 100 {
			files = append(files, file)
		}
		raw := testenv.Must(json.Marshal(map[string]any{"ok": true, "content": text, "attachments": files}))(t)
		var content strings.Builder
		for part, parts := 1, 1; part <= parts; part++ {
			out := testenv.Must(readPart(raw, part, op.Presentation{Text: "content"}))(t)
			var v struct {
				Content     string `json:"content"`
				Part, Parts int
			}
			testenv.NoError(t, json.Unmarshal(out, &v))
			if len(out) > maxResult || v.Part != part || v.Parts < part {
				t.Fatalf("part %d of %d of %d bytes, asked for %d", v.Part, v.Parts, len(out), part)
			}
			content.WriteString(v.Content)
			parts = v.Parts
		}
		testenv.Equal(t, content.String(), text, "the text is")
	}
}
