package extracttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
)

// A Score counts drawn statements against labels.
type Score struct{ Right, Wrong, Missed int }

// Precision returns the share of right ones among the drawn statements.
func (s Score) Precision() float64 { return float64(s.Right) / float64(max(1, s.Right+s.Wrong)) }

// Recall returns the share of the labels that were drawn.
func (s Score) Recall() float64 { return float64(s.Right) / float64(max(1, s.Right+s.Missed)) }

// Measure draws from turns and returns the score of each type, of all as "", and a line for each miss. A statement is
// right where it has a label's type and key, and comes from its part.
func Measure(turns []Turn) (scores map[string]Score, misses []string) {
	scores = map[string]Score{}
	for _, t := range turns {
		at, _ := time.Parse(time.DateOnly, t.SaidOn)
		turn := extract.Turn{Previous: t.Previous, Prompt: t.Prompt, Response: t.Response, SaidOn: at}
		left := append([]Label(nil), t.Want...)
		for part, list := range map[string][]extract.Statement{
			"prompt": extract.FromPrompt(turn), "response": extract.FromResponse(turn)} {
			for _, s := range list {
				right := remove(&left, s, part)
				count(scores, string(s.Type), Score{Right: bit(right), Wrong: bit(!right)})
				if !right {
					misses = append(misses, fmt.Sprintf("turn %d, wrong %s of the %s: %s", t.ID, s.Type, part, s.Text))
				}
			}
		}
		for _, l := range left {
			count(scores, l.Type, Score{Missed: 1})
			misses = append(misses, fmt.Sprintf("turn %d, missed %s of the %s: %s", t.ID, l.Type, l.From, l.Key))
		}
	}
	return scores, misses
}

// remove takes the label that a statement meets from the list.
func remove(list *[]Label, s extract.Statement, part string) bool {
	for i, l := range *list {
		if l.Type == string(s.Type) && l.From == part &&
			strings.Contains(strings.ToLower(s.Text), strings.ToLower(l.Key)) {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}

func count(scores map[string]Score, kind string, more Score) {
	for _, name := range []string{kind, ""} {
		s := scores[name]
		scores[name] = Score{s.Right + more.Right, s.Wrong + more.Wrong, s.Missed + more.Missed}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
