package search

import "slices"

// Features are parts of a search that can be left out, so that one can measure what
// each is worth. The zero value leaves out none.
type Features uint

// The features; docs/retrieval.md tells what they do.
const (
	FeaturePassages   Features = 1 << iota // the best passage of a long text counts
	FeaturePairs                           // words side by side count more
	FeatureNeighbours                      // memories of a conversation lend each other their scores
	FeatureDates                           // a date in the query lifts memories of that time
	FeatureRepair                          // unknown words stand for the nearest known ones
	FeatureFamilies                        // words stand for those that begin alike
	FeatureExact                           // phrases, identifiers and titles come first
	FeatureFill                            // what words found has its nearness in meaning
	FeatureScores                          // fusion weighs ranks by scores; else 1 / (60 + rank)
)

var featureNames = []string{"passages", "pairs", "neighbours", "dates", "repair", "families", "exact", "fill", "scores"}

// FeatureNames lists what can be left out. Those from "fill" on are of hybrid
// searches alone.
func FeatureNames() []string { return slices.Clone(featureNames) }

// FeatureNamed is the feature with a name; of another name it is none.
func FeatureNamed(name string) Features {
	if i := slices.Index(featureNames, name); i >= 0 {
		return 1 << i
	}
	return 0
}

// Has reports whether f holds all of g.
func (f Features) Has(g Features) bool { return f&g == g }

// Without is the query answered without some features.
func (q Query) Without(f Features) Query {
	if q.without = f; f.Has(FeaturePairs) {
		q.wordBigrams = nil
	}
	if f.Has(FeatureDates) {
		q.terms = slices.Clone(q.terms)
		for i := range q.terms {
			if t := &q.terms[i]; t.dated {
				t.dated, t.weight = false, t.weight/dateWordWeight
			}
		}
	}
	return q
}
