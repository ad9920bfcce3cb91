package extract_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/extract/extracttest"
)

func TestCurve(t *testing.T) {
	turns, err := extracttest.Load("testdata/" + os.Getenv("CURVE") + ".jsonl")
	if err != nil {
		t.Skip()
	}
	extract.Shift(-1.2 - 0.3 - extract.Threshold)
	for z := -1.2; z < 2.2; z += .3 {
		extract.Shift(.3)
		sc, _ := extracttest.Measure(turns)
		line := fmt.Sprintf("C thr %.1f ", z+.0)
		for _, k := range []string{"", "decision", "preference", "fact", "task"} {
			line += fmt.Sprintf("| %s %.2f/%.2f ", k, sc[k].Precision(), sc[k].Recall())
		}
		parts := map[string]extracttest.Score{}
		for _, tn := range turns {
			for _, part := range []string{"prompt", "response"} {
				one := tn
				one.Want = nil
				for _, l := range tn.Want {
					if l.From == part {
						one.Want = append(one.Want, l)
					}
				}
				s, _ := extracttest.MeasurePart([]extracttest.Turn{one}, part)
				p := parts[part]
				parts[part] = extracttest.Score{p.Right + s.Right, p.Drawn + s.Drawn, p.Met + s.Met, p.Labels + s.Labels}
			}
		}
		line += fmt.Sprintf("|| P %.2f/%.2f R %.2f/%.2f", parts["prompt"].Precision(), parts["prompt"].Recall(), parts["response"].Precision(), parts["response"].Recall())
		fmt.Println(line)
	}
}
