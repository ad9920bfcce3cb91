// Package extract draws statements worth remembering from the prompts and answers of a coding agent. It uses tables of
// English cues instead of a model. A text of another language has no cue, so nothing is drawn from it.
package extract

import (
	"time"

	"github.com/loci-memory/loci"
)

const (
	maxStatements = 5
	maxSentence   = 400 // bytes; a longer one is hardly a statement
	minSentence   = 12
)

// A Statement is a sentence worth remembering.
type Statement struct {
	Text string
	Type loci.MemoryType
}

// A Turn holds what is known of a turn when one of its events arrives. Previous is the answer before the prompt.
type Turn struct {
	Previous, Prompt, Response string
	SaidOn                     time.Time
}

// FromPrompt draws from the prompt. Agreement to the answer before it draws the proposal of that answer.
func FromPrompt(t Turn) []Statement {
	text := visibleLines(t.Prompt)
	if givesUp(text) {
		return nil
	}
	list := sentences(text)
	var found []Statement
	if len(list) > 0 && agrees(list[0]) {
		found = t.add(found, proposal(t.Previous, list[0]), loci.TypeDecision)
	}
	for _, s := range list {
		if kind, ok := classifyPrompt(s); ok {
			found = t.add(found, s, kind)
		}
	}
	return found
}

// FromResponse draws from the response what the prompt did not say.
func FromResponse(t Turn) []Statement {
	said := FromPrompt(t)
	all := said
	for _, s := range sentences(visibleLines(t.Response)) {
		if kind, ok := classifyResponse(s, isQuestion(t.Prompt)); ok {
			all = t.addWithin(all, s, kind, len(said)+maxStatements)
		}
	}
	return all[len(said):]
}

func (t Turn) add(list []Statement, text string, kind loci.MemoryType) []Statement {
	return t.addWithin(list, text, kind, maxStatements)
}

// addWithin appends a statement, unless the list has limit statements or one that is nearly equal.
func (t Turn) addWithin(list []Statement, text string, kind loci.MemoryType, limit int) []Statement {
	if text == "" || len(list) >= limit {
		return list
	}
	words := contentWords(text)
	for _, s := range list {
		if resemble(words, contentWords(s.Text)) {
			return list
		}
	}
	return append(list, Statement{Text: markDay(text, t.SaidOn), Type: kind})
}
