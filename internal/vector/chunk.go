package vector

import (
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
)

// ChunkVersion names the way in which texts are cut into passages: another way
// makes other vectors.
const ChunkVersion = "p1"

// maxTitleTokens is how much of the room for a passage its title may take.
const maxTitleTokens = 40

// Chunks cuts a memory into the texts that are embedded: whole paragraphs where
// that fits, else whole lines or sentences, of 50 to 120 words, the title in front
// of each, unless it was made of the first line, and at most MaxPieces pieces. A
// character of a script without spaces counts as a word. A memory has at least one
// passage, and every word of it is in one. What the model cannot read is not cut by
// its pieces: there is nothing to lose.
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

// ChunkStart is where in the content the nth passage begins, from 1 on.
func ChunkStart(title, content string, n int, e Embedder) int {
	_, list := chunkMemory(title, content, e)
	if n < 1 || n > len(list) {
		return 0
	}
	return list[n-1].From
}

// chunkMemory is what stands in front of the passages, and where they are.
func chunkMemory(title, content string, e Embedder) (front string, list []analysis.Span) {
	pieces := func(s string) int { n, _ := e.Pieces(s); return n }
	if front = strings.TrimSpace(title); front != "" && analysis.TitleRepeatsContent(front, content) {
		front = ""
	}
	for pieces(front) > maxTitleTokens {
		front = strings.TrimSpace(front[:analysis.MiddleBoundary(front)])
	}
	c := analysis.Chunker{MaxWords: analysis.MaxChunkWords}
	if Readable(content, e) {
		c.Size, c.MaxSize = pieces, MaxChunkTokens-pieces(front)
	}
	return front, c.Split(content)
}
