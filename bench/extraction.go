package main

import (
	"fmt"
	"os"

	"github.com/loci-memory/loci/internal/extract/extracttest"
	"github.com/loci-memory/loci/internal/fence"
)

// instructionTokens is the length of the instruction that an extractor by prompt sends with each turn.
const instructionTokens = 400

// extraction measures statements drawn from the labelled turns that are held out, and prints every miss. Their author
// had not seen the rules. No answer among them has a mark. The line of all types counts a statement as right whatever
// its type.
func (b *bench) extraction() error {
	turns, err := extracttest.Load("internal/extract/testdata/" + extracttest.HeldOut)
	if err != nil {
		return err
	}
	tokens := 0
	for _, t := range turns {
		tokens += instructionTokens + fence.Tokens(t.Prompt+t.Response)
	}
	scores, misses := extracttest.Measure(turns)
	for _, kind := range []string{"", "decision", "preference", "fact", "task"} {
		precision := line{Row: "extraction", What: kind + " precision", Unit: "share", Loci: scores[kind].Precision()}
		recall := line{Row: "extraction", What: kind + " recall", Unit: "share", Loci: scores[kind].Recall()}
		if kind == "" {
			precision.What, recall.What = "precision of all types", "recall of all types"
			precision.Threshold, precision.IsAbsolute, precision.HigherIsBetter = .82, true, true
			recall.Threshold, recall.IsAbsolute, recall.HigherIsBetter = .7, true, true
		}
		b.report.add(precision)
		b.report.add(recall)
	}
	b.report.add(line{Row: "extraction", What: "a turn by an extractor by prompt, input alone", Unit: "tokens",
		Loci: float64(tokens) / float64(len(turns))})
	for _, miss := range misses {
		fmt.Fprintln(os.Stderr, "  "+miss)
	}
	return nil
}
