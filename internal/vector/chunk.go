package vector

import (
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
)

// ChunkVersion identifies the rules of chunks. It changes when the same text may have other chunks, and so other
// vectors.
const ChunkVersion = "p1"

// maxTitleTokens is the longest title of a chunk.
const maxTitleTokens = 40

// Chunks cuts a memory into the texts to embed. Each has at most 120 words of content and, with its title,
// MaxChunkTokens tokens. It ends at a paragraph, else a line, else a sentence. Where the text and these limits allow
// it, it has at least 50 words. The title precedes each chunk, unless it is long and the content begins with it. A
// character of an unsegmented script counts as a word. A memory has at least one chunk, and each word is in one. Text
// that the model cannot read is cut by words alone.
func Chunks(title, content string, e Embedder) (out []string) {
	front, list := chunkMemory(title, content, e)
	for _, x := range list {
		out = append(out, strings.TrimSpace(front+"\n"+strings.TrimSpace(content[x.From:x.To])))
	}
	if len(out) == 0 {
		out = append(out, front)
	}
	return out
}

// Beginning returns the first chunk of a memory, cut to so many tokens.
func Beginning(title, content string, maxTokens int, e Embedder) string {
	const maxTokenBytes = 16 // a longer text has more tokens
	text := Chunks(title, strings.ToValidUTF8(content[:min(len(content), maxTokenBytes*maxTokens)], ""), e)[0]
	for n, _ := e.CountTokens(text); n > maxTokens; n, _ = e.CountTokens(text) {
		text = strings.TrimSpace(text[:analysis.MiddleBoundary(text)])
	}
	return text
}

// ChunkStart returns the offset of the nth chunk in the content, from 1 on.
func ChunkStart(title, content string, n int, e Embedder) int {
	_, list := chunkMemory(title, content, e)
	if n < 1 || n > len(list) {
		return 0
	}
	return list[n-1].From
}

// chunkMemory returns the text in front of the chunks, and their spans.
func chunkMemory(title, content string, e Embedder) (front string, list []analysis.Span) {
	tokens := func(s string) int { n, _ := e.CountTokens(s); return n }
	if front = strings.TrimSpace(title); front != "" && analysis.TitleRepeatsContent(front, content) {
		front = ""
	}
	for tokens(front) > maxTitleTokens {
		front = strings.TrimSpace(front[:analysis.MiddleBoundary(front)])
	}
	c := analysis.Chunker{MaxWords: analysis.MaxChunkWords}
	if Readable(content, e) {
		c.Size, c.MaxSize = tokens, MaxChunkTokens-tokens(front)
	}
	return front, c.Split(content)
}
