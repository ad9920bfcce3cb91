package search

import "testing"

func TestEveryFeatureHasAName(t *testing.T) {
	t.Parallel()
	names := FeatureNames()
	for name, want := range map[string]Features{"passages": FeaturePassages, "pairs": FeaturePairs,
		"neighbours": FeatureNeighbours, "dates": FeatureDates, "repair": FeatureRepair,
		"families": FeatureFamilies, "exact": FeatureExact, "fill": FeatureFill, "scores": FeatureScores, "no such": 0,
		"": 0} {
		if got := FeatureNamed(name); got != want {
			t.Errorf("%q is %b, not %b", name, got, want)
		}
	}
	if all := Features(1<<len(names) - 1); all != 2*FeatureScores-1 {
		t.Errorf("%d names for the features up to %b", len(names), FeatureScores)
	}
}

// A query that is repaired leaves out what it left out before, and families are
// left out with their words.
func TestWhatIsLeftOutStaysOut(t *testing.T) {
	t.Parallel()
	d := newFakeStore()
	v := flushedSnapshot(t, d, 1, []DocUpdate{textUpdate(1, 1, "the harbour master answers letters"),
		textUpdate(2, 2, "резервное копирование")})
	for _, c := range []struct {
		query   string
		without Features
		term    string // the first
		pairs   int
		family  bool
	}{
		{"harbuor master", 0, "harbour", 1, false},
		{"harbuor master", FeaturePairs, "harbour", 0, false},
		{"harbuor master", FeatureRepair, "harbuor", 1, false},
		{"копированию", 0, "копированию", 0, true},
		{"копированию", FeatureFamilies | FeatureRepair, "копированию", 0, false},
	} {
		got, err := v.RewriteQuery(NewCache(0), d.fetch, Parse(c.query).Without(c.without))
		if err != nil || got.terms[0].text != c.term || len(got.wordBigrams) != c.pairs ||
			len(got.expansionTerms) > 0 != c.family {
			t.Errorf("%s without %b: %+v, %v", c.query, c.without, got, err)
		}
	}
}
