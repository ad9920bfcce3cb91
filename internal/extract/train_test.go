package extract_test

import (
	"flag"
	"fmt"
	"go/format"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/extract/extracttest"
	"github.com/loci-memory/loci/internal/testenv"
)

var isTraining = flag.Bool("train", false, "fit the weights to the development turns, write weights.go")

// TestWeightsAreFittedToDevelopmentTurns writes weights.go with -train.
func TestWeightsAreFittedToDevelopmentTurns(t *testing.T) {
	t.Parallel()
	source := "package extract\n\n// weights is written by go test ./internal/extract -run Weights -args -train.\n" +
		"var weights = []weight{\n"
	columns := fitAll(samples(t))
	for n, name := range extract.FeatureNames {
		source += fmt.Sprintf("{%q", name)
		for _, column := range columns {
			source += fmt.Sprintf(", %.1f", column[n])
		}
		source += "},\n"
	}
	want, err := format.Source([]byte(source + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if *isTraining {
		err = os.WriteFile("weights.go", want, 0o644)
	}
	if got, _ := os.ReadFile("weights.go"); err != nil || string(got) != string(want) {
		t.Errorf("weights.go is not fitted to the development turns: %v", err)
	}
}

// TestRulesKeepPrecisionInCrossValidation logs precision at each tenth of recall. A phrase that the other folds lack
// does not count, as if nobody had thought of it.
func TestRulesKeepPrecisionInCrossValidation(t *testing.T) {
	t.Parallel()
	const folds = 10
	var all []scored
	for fold := range folds {
		isTested := func(s sample) bool { return s.isBlind && s.turn%folds == fold }
		rest := slices.DeleteFunc(samples(t), isTested)
		columns, known := fitAll(rest), map[string]bool{}
		for _, s := range rest {
			extract.EachPhrase(s.Words, func(phrase string, _ []int) { known[phrase] = true })
		}
		for _, s := range slices.DeleteFunc(samples(t), func(s sample) bool { return !isTested(s) }) {
			clear(s.Features[:extract.CueCount])
			extract.EachPhrase(s.Words, func(phrase string, cues []int) {
				for _, c := range cues {
					s.Features[c] = s.Features[c] || known[phrase]
				}
			})
			all = append(all, scored{sum(columns[0], s.Features), s.kind != ""})
		}
	}
	const least = .78 // measured: .83
	if p := curve(t, all)[5]; p < least {
		t.Errorf("precision %.2f at a recall of .5, want %.2f", p, least)
	}
}

// A scored sentence is right where a person would keep it.
type scored struct {
	score   float64
	isRight bool
}

// curve logs and returns the precision at each tenth of recall.
func curve(t *testing.T, all []scored) (precision [11]float64) {
	slices.SortFunc(all, func(a, b scored) int { return int(math.Copysign(1, b.score-a.score)) })
	total, right := 0, 0
	for _, s := range all {
		total += bit(s.isRight)
	}
	for n, s := range all {
		if right += bit(s.isRight); s.isRight && right*10/total > (right-1)*10/total {
			tenth := right * 10 / total
			precision[tenth] = float64(right) / float64(n+1)
			t.Logf("recall %.1f, precision %.2f, threshold %.1f", float64(tenth)/10, precision[tenth], s.score)
		}
	}
	return precision
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// A sample is a sentence of a labelled prompt. Its type is empty where nobody would keep it.
type sample struct {
	extract.Sample
	turn    int
	kind    string
	isBlind bool
}

func samples(t *testing.T) (list []sample) {
	t.Helper()
	for n, name := range extracttest.Development {
		turns := testenv.Must(extracttest.Load("testdata/" + name))(t)
		for _, turn := range turns {
			for _, s := range samplesOf(turn) {
				s.isBlind = n == 0
				list = append(list, s)
			}
		}
	}
	return list
}

func samplesOf(turn extracttest.Turn) (list []sample) {
	for _, s := range extract.Samples(turn.Prompt) {
		one := sample{Sample: s, turn: turn.ID}
		for _, l := range turn.Want {
			if l.From == "prompt" && strings.Contains(strings.ToLower(s.Text), strings.ToLower(l.Key)) {
				one.kind = l.Type
			}
		}
		list = append(list, one)
	}
	return list
}

// priors are the weights expected before any turn is seen: plain words are rare in the turns, yet certain. The columns
// are keep, decision, preference, fact, task.
var priors = [5]map[string]float64{
	{"plain decision": 2, "plain task": 2, "plain preference": 2, "plain fact": 2, "hedge": -2, "hypothetical": -2,
		"speech": -2, "sarcasm": -2, "told": -1, "now": -1, "anaphora": -1, "symptom": -1, "display": -.5,
		"plain order": -2, "quote": -.5, "under order": -4, "in fiction": -1.5, "beside hedge": -.5,
		"beside report": -.5},
	{"plain decision": 2}, {"plain preference": 2}, {"plain fact": 2}, {"plain task": 2},
}

// fitAll returns the columns of the table of weights: whether to keep a sentence, and one type against the rest.
func fitAll(list []sample) (columns [5][]float64) {
	kept := slices.DeleteFunc(slices.Clone(list), func(s sample) bool { return s.kind == "" })
	columns[0] = fit(list, priors[0], func(s sample) bool { return s.kind != "" })
	for n, kind := range []string{"decision", "preference", "fact", "task"} {
		columns[n+1] = fit(kept, priors[n+1], func(s sample) bool { return s.kind == kind })
	}
	return columns
}

// fit returns the weights of a logistic regression, rounded to tenths, with an L2 penalty on the distance to the
// priors, by gradient descent with momentum. The turns by the author of the rules count half.
func fit(list []sample, prior map[string]float64, isRight func(sample) bool) []float64 {
	const rounds, rate, momentum, penalty = 400, .02, .9, 1.5
	n := len(extract.FeatureNames)
	weights, velocity, gradient := make([]float64, n), make([]float64, n), make([]float64, n)
	for range rounds {
		for i, name := range extract.FeatureNames[:n-1] { // the last one is the intercept
			gradient[i] = penalty * (weights[i] - prior[name])
		}
		gradient[n-1] = 0
		for _, s := range list {
			diff := 1/(1+math.Exp(-sum(weights, s.Features))) - float64(bit(isRight(s)))
			if !s.isBlind {
				diff /= 2
			}
			for i, is := range s.Features {
				if is {
					gradient[i] += diff
				}
			}
		}
		for i := range weights {
			velocity[i] = momentum*velocity[i] - rate*gradient[i]
			weights[i] += velocity[i]
		}
	}
	for i, w := range weights {
		weights[i] = math.Round(w*10)/10 + 0 // no negative zero
	}
	return weights
}

func sum(weights []float64, features []bool) (z float64) {
	for i, is := range features {
		if is {
			z += weights[i]
		}
	}
	return z
}
