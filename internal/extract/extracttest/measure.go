package extracttest

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
)

// A Score counts drawn statements that meet a label, all drawn, labels that are met, and all labels.
type Score struct{ Right, Drawn, Met, Labels int }

// Precision returns the share of right ones among the drawn statements.
func (s Score) Precision() float64 { return float64(s.Right) / float64(max(1, s.Drawn)) }

// Recall returns the share of the labels that are met.
func (s Score) Recall() float64 { return float64(s.Met) / float64(max(1, s.Labels)) }

func (s Score) plus(o Score) Score {
	return Score{s.Right + o.Right, s.Drawn + o.Drawn, s.Met + o.Met, s.Labels + o.Labels}
}

// Measure draws from turns and returns the score of each type, and of all as "", with a line for each miss.
// A statement meets a label of the same part whose key it contains. The score of all ignores the types.
func Measure(turns []Turn) (scores map[string]Score, misses []string) {
	scores = map[string]Score{}
	for _, t := range turns {
		drawn := draw(t)
		for _, kind := range append([]string{""}, types...) {
			scores[kind] = scores[kind].plus(score(ofType(drawn, kind), ofType(t.Want, kind)))
		}
		for _, s := range drawn {
			if !meetsAny(s, t.Want) {
				misses = append(misses, fmt.Sprintf("turn %d, wrong %s of the %s: %s", t.ID, s.Type, s.From, s.Key))
			}
		}
		for _, l := range t.Want {
			if !isMet(l, drawn) {
				misses = append(misses, fmt.Sprintf("turn %d, missed %s of the %s: %s", t.ID, l.Type, l.From, l.Key))
			}
		}
	}
	return scores, misses
}

var types = []string{"decision", "preference", "fact", "task"}

// draw returns the statements of a turn in the form of labels. A day said would split their keys.
func draw(t Turn) (list []Label) {
	turn := extract.Turn{Previous: t.Previous, Prompt: t.Prompt, Response: t.Response}
	for _, s := range extract.FromPrompt(turn) {
		list = append(list, Label{Type: string(s.Type), From: "prompt", Key: s.Text})
	}
	for _, s := range extract.FromResponse(turn) {
		list = append(list, Label{Type: string(s.Type), From: "response", Key: s.Text})
	}
	return list
}

func ofType(list []Label, kind string) (found []Label) {
	for _, l := range list {
		if kind == "" || l.Type == kind {
			found = append(found, l)
		}
	}
	return found
}

func score(drawn, labels []Label) (s Score) {
	s.Drawn, s.Labels = len(drawn), len(labels)
	for _, d := range drawn {
		if meetsAny(d, labels) {
			s.Right++
		}
	}
	for _, l := range labels {
		if isMet(l, drawn) {
			s.Met++
		}
	}
	return s
}

func meetsAny(drawn Label, labels []Label) bool {
	for _, l := range labels {
		if l.From == drawn.From && strings.Contains(strings.ToLower(drawn.Key), strings.ToLower(l.Key)) {
			return true
		}
	}
	return false
}

func isMet(l Label, drawn []Label) bool {
	for _, d := range drawn {
		if meetsAny(d, []Label{l}) {
			return true
		}
	}
	return false
}
