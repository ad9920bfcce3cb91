package analysis

import (
	"slices"
	"testing"
)

func TestQuestionSpansAreFound(t *testing.T) {
	t.Parallel()
	for run, want := range map[string][][2]int{
		"":           nil,
		"量子":         nil,
		"为什么量子是什么意思": {{0, 9}, {15, 30}},
		"谁在哪里":       {{0, 12}},
	} {
		if got := QuestionSpans(run); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", run, got, want)
		}
	}
}
