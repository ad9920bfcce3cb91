package mcp

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
)

// writeRecall quotes what is known about a question.
func (d *Server) writeRecall(ctx context.Context, c *promptCall) (string, error) {
	query := c.arguments["query"]
	markdown, err := d.readContext(ctx, c.call, loci.ReadContext{AtlasID: c.atlas, Query: loci.Query(query)})
	return paragraphs("Recall what is known about this before you go on:", query, markdown,
		"Use what helps, and name the ids of the memories that you used. Say so where they are silent, disagree or "+
			"look outdated. memory_search finds more, and memory_get reads one whole."), err
}

// Bounds of the memories that are quoted beside a text to remember.
const (
	relatedMemories = 5
	relatedTokens   = 2000
)

// writeRemember asks to store a text, beside what is stored of its subject. Without a text it asks for what matters
// later.
func (d *Server) writeRemember(ctx context.Context, c *promptCall) (string, error) {
	text := c.arguments["text"]
	if text == "" {
		return paragraphs("Look back at this conversation and store in Loci what will matter in later sessions: "+
			"decisions with their reasons, preferences, facts that took effort to find, tasks that stay open. Call "+
			"memory_search before each, and change what is stored instead of adding a second truth.",
			storing(c.atlas)), nil
	}
	markdown, err := d.readContext(ctx, c.call, loci.ReadContext{AtlasID: c.atlas, Query: toQuery(text),
		Limit: relatedMemories, MaxTokens: relatedTokens})
	return paragraphs("Remember this in Loci:", text, storing(c.atlas),
		"What is stored of its subject follows. Where a memory says the same, store nothing. Where one has become "+
			"wrong, change it with memory_update, or replace it with memory_supersede.", markdown), err
}

// writeHandover asks for a memory from which another session continues the work.
func (d *Server) writeHandover(ctx context.Context, c *promptCall) (string, error) {
	task := c.arguments["task"]
	markdown, err := d.readContext(ctx, c.call, loci.ReadContext{AtlasID: c.atlas, Query: toQuery(task)})
	if task == "" {
		task = "The work of this conversation."
	}
	return paragraphs("Write a handover of this work:", task,
		"Whoever continues it has not seen this conversation. Say what the goal is, what is done and how it was "+
			"checked, what was decided and why, what was tried and failed, what is open, and what the next step is, "+
			"with the names of files and commands. Store it as one memory of the type task, and decisions and facts "+
			"that outlast the work as memories of their own.",
		storing(c.atlas),
		"What is stored already follows: refer to it by id instead of repeating it. Where it holds an earlier "+
			"handover of the same work, replace that with memory_supersede.", markdown), err
}

// storing says how to store memories, and where.
func storing(atlas loci.ID) string {
	where := ""
	if atlas != "" {
		where = " with atlasId " + string(atlas)
	}
	return "Store each with memory_create (onDuplicate: return)" + where + ": it has a title and a type, can be " +
		"understood on its own, and holds no password or key. Then say what you stored."
}

func paragraphs(texts ...string) string {
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	return strings.Join(texts, "\n\n") + "\n"
}

// maxQuery is the most characters of a query.
const maxQuery = 2000

// toQuery returns the beginning of a text as a query.
func toQuery(text string) loci.Query {
	if runes := []rune(text); len(runes) > maxQuery {
		text = string(runes[:maxQuery])
	}
	return loci.Query(text)
}
