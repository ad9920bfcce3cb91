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
	if containsOf(lowerASCII(text), abandonments) {
		return nil
	}
	list := sentences(text)
	var found []Statement
	if len(list) > 0 && agrees(list[0].text) {
		found = t.add(found, proposal(t.Previous, list[0].text), loci.TypeDecision, maxStatements)
		if len(found) > 0 {
			list = list[1:]
		}
	}
	return t.addAll(found, list, newSetting("", false, len(list)), maxStatements)
}

// FromResponse draws from the response what the prompt did not say.
func FromResponse(t Turn) []Statement {
	said := FromPrompt(t)
	list := sentences(visibleLines(t.Response))
	all := t.addAll(said, list, newSetting(t.Prompt, true, len(list)), len(said)+maxStatements)
	return all[len(said):]
}

func (t Turn) addAll(found []Statement, list []sentence, in setting, limit int) []Statement {
	for n, s := range list {
		if len(found) >= limit {
			break
		}
		if v := featuresOf(s, n, in); v != nil && v.score(in.isResponse) >= threshold {
			found = t.add(found, s.text, v.kind(), limit)
		}
	}
	return found
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
