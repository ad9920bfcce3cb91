// Package extract finds statements worth remembering from the prompts and answers of a coding agent, without a model.
// Tables of English cues and the place of a sentence of a prompt are its features. A table of weights, fitted to
// labelled turns by logistic regression, adds them up. A prompt of another language has no cue, so nothing is extracted
// from it. An answer gives what stands under a mark of one of eight languages: "Decision: ...".
package extract

import (
	"time"

	"github.com/loci-memory/loci"
)

// MaxStatements is the most statements that are extracted from an event.
const MaxStatements = 5

const (
	maxSentence = 400  // bytes; a longer one is hardly a statement
	maxRead     = 4000 // sentences of a text, as many as 256 KiB of prose have
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

// FromPrompt extracts from the prompt. Agreement to the answer before it extracts the proposal of that answer.
func FromPrompt(t Turn) []Statement {
	list := read(visibleLines(t.Prompt))
	if len(list) == 0 || anyHas(list, abandoned) {
		return nil
	}
	var found []Statement
	if list[0].agrees() {
		found = t.add(nil, proposal(t.Previous, list[0].text), loci.TypeDecision, MaxStatements)
	}
	for _, s := range extractable(list) {
		if len(found) < MaxStatements && s.features.score() >= threshold {
			found = t.add(found, s.text, s.features.kind(), MaxStatements)
		}
	}
	return found
}

// FromResponse extracts from the response what stands under a mark, unless the prompt said it. It extracts nothing
// where the prompt or the response overrides rules, or the prompt orders a translation, a draft or a story.
func FromResponse(t Turn) []Statement {
	prompt, text := visibleLines(t.Prompt), visibleLines(t.Response)
	if overridesRules(prompt) || overridesRules(text) || isMadeToOrder(prompt) {
		return nil
	}
	said := FromPrompt(t)
	found := said
	for _, s := range markedStatements(text) {
		found = t.add(found, s.Text, s.Type, len(said)+MaxStatements)
	}
	return found[len(said):]
}

// add appends a statement, unless the list has limit statements or one that is nearly equal.
func (t Turn) add(list []Statement, text string, kind loci.MemoryType, limit int) []Statement {
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
