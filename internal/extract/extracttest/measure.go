package extracttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
)

// A Score counts extracted statements that meet a label, all extracted, labels that are met, and all labels.
type Score struct{ Right, Extracted, Met, Labels int }

// Precision returns the share of right ones among the extracted statements.
func (s Score) Precision() float64 { return float64(s.Right) / float64(max(1, s.Extracted)) }

// Recall returns the share of the labels that are met.
func (s Score) Recall() float64 { return float64(s.Met) / float64(max(1, s.Labels)) }

func (s Score) plus(o Score) Score {
	return Score{s.Right + o.Right, s.Extracted + o.Extracted, s.Met + o.Met, s.Labels + o.Labels}
}

// Measure extracts from turns and returns the score of each type, and of all as "", with a line for each miss.
// A statement meets a label of the same part whose key it contains. The score of all ignores the types.
func Measure(turns []Turn) (scores map[string]Score, misses []string) {
	scores = map[string]Score{}
	for _, t := range turns {
		extracted := statementsOf(t)
		for _, kind := range append([]string{""}, types...) {
			scores[kind] = scores[kind].plus(score(ofType(extracted, kind), ofType(t.Want, kind)))
		}
		for _, s := range extracted {
			if !meetsAny(s, t.Want) {
				misses = append(misses, fmt.Sprintf("turn %d, wrong %s of the %s: %s", t.ID, s.Type, s.From, s.Key))
			}
		}
		for _, l := range t.Want {
			if !isMet(l, extracted) {
				misses = append(misses, fmt.Sprintf("turn %d, missed %s of the %s: %s", t.ID, l.Type, l.From, l.Key))
			}
		}
	}
	return scores, misses
}

var types = []string{"decision", "preference", "fact", "task"}

// statementsOf returns the statements of a turn in the form of labels. A day said would split their keys.
func statementsOf(t Turn) (list []Label) {
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

func score(extracted, labels []Label) (s Score) {
	s.Extracted, s.Labels = len(extracted), len(labels)
	for _, d := range extracted {
		if meetsAny(d, labels) {
			s.Right++
		}
	}
	for _, l := range labels {
		if isMet(l, extracted) {
			s.Met++
		}
	}
	return s
}

func meetsAny(extracted Label, labels []Label) bool {
	return slices.ContainsFunc(labels, func(l Label) bool {
		return l.From == extracted.From && strings.Contains(strings.ToLower(extracted.Key), strings.ToLower(l.Key))
	})
}

func isMet(l Label, extracted []Label) bool {
	return slices.ContainsFunc(extracted, func(d Label) bool { return meetsAny(d, []Label{l}) })
}
