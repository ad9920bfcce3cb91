package extract

import "strings"

var (
	hedged    = groupOf("hedge", "hypothetical")
	told      = groupOf("told")
	fiction   = groupOf("fiction")
	abandoned = groupOf("abandoned")
)

// A place is what surrounds the sentences of a text.
type place struct {
	isResponse, isFiction                           bool
	askedStatus, askedFact, askedHow, askedAnything bool // by the prompt of a response
}

func placeOf(list []sentence, prompt string, isResponse bool) place {
	if !isResponse {
		return place{isFiction: anyHas(list, fiction)}
	}
	asked := lowerASCII(prompt)
	p := place{isResponse: true, askedStatus: containsOf(asked, statusCues),
		askedFact: containsOf(asked, factQuestions), askedHow: containsOf(asked, howQuestions)}
	p.askedAnything = p.askedFact || p.askedHow || strings.Contains(asked, "?")
	return p
}

func anyHas(list []sentence, g group) bool {
	for _, s := range list {
		if s.features.has(g) {
			return true
		}
	}
	return false
}

// mark sets the features of the n-th sentence that come from its place.
func (p place) mark(list []sentence, n int) {
	v := list[n].features
	v.set(isOnly, len(list) == 1)
	v.set(isFirst, n == 0 && len(list) > 1)
	v.set(isLast, n > 0 && n == len(list)-1)
	v.set(inPrompt, !p.isResponse)
	v.set(inResponse, p.isResponse)
	v.set(askedStatus, p.askedStatus)
	v.set(askedFact, p.askedFact)
	v.set(askedHow, p.askedHow)
	v.set(askedNothing, p.isResponse && !p.askedAnything)
	if p.isResponse {
		return
	}
	v.set(inFiction, p.isFiction)
	v.set(underOrder, containsOf(list[n].lead, handled) && !containsOf(list[n].lead, ruleHeadings))
	v.set(beforeQuestion, n+1 < len(list) && strings.HasSuffix(list[n+1].text, "?"))
	for i := max(0, n-2); i < min(len(list), n+3); i++ {
		v.set(besideHedge, i != n && list[i].features.has(hedged))
		v.set(besideReport, i != n && list[i].features.has(told))
	}
}

// drawable returns the sentences of a text that may be drawn. The prompt is that of a response.
func drawable(list []sentence, prompt string, isResponse bool) (found []sentence) {
	p := placeOf(list, prompt, isResponse)
	for n, s := range list {
		if !isForeign(s.words) && !s.isQuestion(isResponse) {
			p.mark(list, n)
			found = append(found, s)
		}
	}
	return found
}
