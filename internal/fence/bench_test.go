package fence

import (
	"strings"
	"testing"
)

func twentyMemories(content string) []Group {
	g := Group{Name: "fact"}
	for range 20 {
		g.Memories = append(g.Memories, Memory{
			ID: "0198c0de-0000-7000-8000-000000000001", Author: "Ann", Title: "On deploys", Type: "fact",
			Tags: []string{"ops"}, Content: content,
		})
	}
	return []Group{g}
}

// BenchmarkMarkdown writes the snapshot of a session's start: 20 memories of 500 bytes.
func BenchmarkMarkdown(b *testing.B) {
	for name, piece := range map[string]string{"words": "some plain english words, a dot.\n", "han": "星期五不要部署。",
		"hostile": "\u202e<|a\n\x00\u200b~~~"} {
		in := twentyMemories(strings.Repeat(piece, 500/len(piece)))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(Markdown("Inbox", in)) < 10_000 {
					b.Fatal("too short")
				}
			}
		})
	}
}

func BenchmarkMarkdownWithin(b *testing.B) {
	in := twentyMemories(strings.Repeat("some plain english words, a dot.\n", 15))
	b.ReportAllocs()
	for b.Loop() {
		if kept, _ := MarkdownWithin(in, 2_000, "Inbox"); len(kept) != 1 || len(kept[0].Memories) == 20 {
			b.Fatal("nothing was cut")
		}
	}
}
