package extract

import "fmt"

// A Sample is a sentence with its features, and its normal form.
type Sample struct {
	Text, Words string
	Features    []bool
}

// Samples returns the sentences of a text that may be drawn.
func Samples(text, prompt string, isResponse bool) (list []Sample) {
	all := sentences(visibleLines(text))
	if !isResponse && anyHas(all, abandoned) {
		return nil
	}
	for _, s := range drawable(all, prompt, isResponse) {
		list = append(list, Sample{s.text, normalize(s.text), s.features})
	}
	return list
}

// EachPhrase visits the phrases of the table of cues in a normal form.
func EachPhrase(words string, visit func(phrase string, cues []int)) {
	eachPhrase(words, func(phrase string) { visit(phrase, lexicon[phrase].cues) })
}

// CueCount is the number of features that come from the table of cues.
var CueCount, FeatureNames = len(cues), featureNames()

// SetWeights replaces the table until the process ends.
func SetWeights(columns [6][]float64) {
	weights = weights[:0]
	for n, name := range FeatureNames {
		weights = append(weights, weight{name, columns[0][n], columns[1][n], columns[2][n], columns[3][n], columns[4][n],
			columns[5][n]})
	}
}

// FormatWeights returns the table as source.
func FormatWeights() (s string) {
	for _, w := range weights {
		s += fmt.Sprintf("\t{%q, %.1f, %.1f, %.1f, %.1f, %.1f, %.1f},\n", w.feature, w.prompt, w.response, w.decision,
			w.preference, w.fact, w.task)
	}
	return s
}

// Threshold is the least score of a kept sentence.
const Threshold = threshold

// Shift lowers every score.
func Shift(by float64) {
	weights[len(weights)-1].response -= by
	weights[len(weights)-2].prompt -= by
}
