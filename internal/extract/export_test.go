package extract

// CueCount is the number of features that come from the table of cues.
var CueCount, FeatureNames = len(cues), featureNames()

// A Sample is a sentence that may be extracted, in normal form too, with its features.
type Sample struct {
	Text, Words string
	Features    []bool
}

// Samples returns the sentences of a prompt that may be extracted.
func Samples(prompt string) (list []Sample) {
	all := read(visibleLines(prompt))
	if anyHas(all, abandoned) {
		return nil
	}
	for _, s := range extractable(all) {
		list = append(list, Sample{s.text, normalize(s.text), s.features})
	}
	return list
}

// EachPhrase visits the phrases of the table of cues in a normal form.
func EachPhrase(words string, visit func(phrase string, cues []int)) {
	eachPhrase(words, func(phrase string) { visit(phrase, lexicon[phrase].cues) })
}
