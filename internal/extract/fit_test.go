package extract_test

import (
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/extract"
)

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
