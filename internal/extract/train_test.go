package extract_test

import (
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/extract/extracttest"
)

var isTraining = flag.Bool("train", false, "fit the weights to the development turns and write weights.go")

// A sample is a sentence of a labelled turn. Its type is empty where nobody would keep it.
type sample struct {
	extract.Sample
	turn       int
	kind       string
	isResponse bool
	weight     float64
}

// samplesOf returns the sentences of turns. The turns by the author of the rules count half.
func samplesOf(t *testing.T, path string, weight float64) (list []sample) {
	t.Helper()
	turns, err := extracttest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		for _, part := range []string{"prompt", "response"} {
			text := map[string]string{"prompt": turn.Prompt, "response": turn.Response}[part]
			for _, s := range extract.Samples(text, turn.Prompt, part == "response") {
				one := sample{Sample: s, turn: turn.ID, isResponse: part == "response", weight: weight}
				for _, l := range turn.Want {
					if l.From == part && strings.Contains(strings.ToLower(s.Text), strings.ToLower(l.Key)) {
						one.kind = l.Type
					}
				}
				list = append(list, one)
			}
		}
	}
	return list
}

// fit returns the weights of a logistic regression with an L2 penalty, by gradient descent with momentum.
func fit(list []sample, prior map[string]float64, isRight func(sample) bool) []float64 {
	const rounds, rate, momentum, penalty = 400, .02, .9, 1.5
	n := len(extract.FeatureNames)
	weights, velocity, gradient := make([]float64, n), make([]float64, n), make([]float64, n)
	for range rounds {
		for i := range gradient {
			gradient[i] = penalty * (weights[i] - prior[extract.FeatureNames[i]])
		}
		gradient[n-1], gradient[n-2] = 0, 0 // the intercepts
		for _, s := range list {
			diff := 1 / (1 + math.Exp(-sum(weights, s.Features)))
			if isRight(s) {
				diff--
			}
			for i, is := range s.Features {
				if is {
					gradient[i] += diff * s.weight
				}
			}
		}
		for i := range weights {
			velocity[i] = momentum*velocity[i] - rate*gradient[i]
			weights[i] += velocity[i]
		}
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

// priors are the weights expected before any turn is seen: plain words are rare in the turns, yet certain.
var priors = []map[string]float64{
	{"plain decision": 2, "plain task": 2, "plain preference": 2, "plain fact": 2,
		"hedge": -2, "hypothetical": -2, "speech": -2, "sarcasm": -2, "told": -1, "now": -1, "anaphora": -1, "symptom": -1, "display": -.5,
		"plain order": -2, "quote": -.5, "under order": -2, "in fiction": -1.5, "beside hedge": -.5, "beside report": -.5},
	{"plain decision": 2.5, "plain task": 2.5, "plain fact": 1, "hedge": -1, "hypothetical": -1},
	{"plain decision": 2}, {"plain preference": 2}, {"plain fact": 2}, {"plain task": 2},
}

// fitAll returns the six columns of the table: prompt, response, and one against the rest for each type.
func fitAll(list []sample) (columns [6][]float64) {
	for n, isResponse := range []bool{false, true} {
		part := slices.DeleteFunc(slices.Clone(list), func(s sample) bool { return s.isResponse != isResponse })
		columns[n] = fit(part, priors[n], func(s sample) bool { return s.kind != "" })
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(s sample) bool { return s.kind == "" })
	for n, kind := range []string{"decision", "preference", "fact", "task"} {
		columns[n+2] = fit(kept, priors[n+2], func(s sample) bool { return s.kind == kind })
	}
	for _, column := range columns {
		for i, w := range column {
			column[i] = math.Round(w*10) / 10
		}
	}
	return columns
}

func TestTrain(t *testing.T) {
	if !*isTraining {
		t.Skip("run with -train to fit the weights")
	}
	list := append(samplesOf(t, "testdata/blind_development.jsonl", 1), samplesOf(t, "testdata/turns.jsonl", .5)...)
	extract.SetWeights(fitAll(list))
	source := "package extract\n\n// weights is fitted to the development turns by go test -run TestTrain -train. Zeros say that a feature is not used.\n" +
		"var weights = []weight{\n" + extract.FormatWeights() + "}\n"
	if err := os.WriteFile("weights.go", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
}
