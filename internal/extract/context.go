package extract

import (
	"slices"
	"strings"
)

var (
	hedged    = groupOf("hedge", "hypothetical")
	told      = groupOf("told")
	fiction   = groupOf("fiction")
	abandoned = groupOf("abandoned")
)

func anyHas(list []sentence, g group) bool {
	return slices.ContainsFunc(list, func(s sentence) bool { return s.features.has(g) })
}

// setPlaceFeatures sets the features of the n-th sentence that come from its place in a prompt.
func setPlaceFeatures(list []sentence, n int, isFiction bool) {
	v := list[n].features
	v.set(isOnly, len(list) == 1)
	v.set(isFirst, n == 0 && len(list) > 1)
	v.set(isLast, n > 0 && n == len(list)-1)
	v.set(inPrompt, true)
	v.set(inFiction, isFiction)
	v.set(underOrder, containsOf(list[n].lead, handled) && !containsOf(list[n].lead, ruleHeadings))
	v.set(beforeQuestion, n+1 < len(list) && strings.HasSuffix(list[n+1].text, "?"))
	for i := max(0, n-2); i < min(len(list), n+3); i++ {
		v.set(besideHedge, i != n && list[i].features.has(hedged))
		v.set(besideReport, i != n && list[i].features.has(told))
	}
}

// extractable returns the sentences of a prompt that may be extracted.
func extractable(list []sentence) (found []sentence) {
	isFiction := anyHas(list, fiction)
	for n, s := range list {
		if !isForeign(s.words) && !s.isQuestion() {
			setPlaceFeatures(list, n, isFiction)
			found = append(found, s)
		}
	}
	return found
}
