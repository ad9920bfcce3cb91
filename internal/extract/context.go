package extract

import "strings"

var (
	hedged  = groupOf("hedge", "hypothetical")
	told    = groupOf("told")
	fiction = []string{"suppose", "imagine", "act as", "pretend", "what if", "let's say", "hypothetical", "rubber duck", "play the",
		"thought experiment", "example", "write a", "write an", "draft", "translate", "rephrase", "rewrite", "story", "poem"}
	handled = []string{"translate", "rewrite", "rephrase", "review", "group", "summar", "following", " log", "output", "error",
		"says", "wrote", "writes", "what's wrong", "look at", "check", "this:", "these", "explain", "proofread", "classify", "got:",
		"get:", "requirements", "feedback", "text", "below", "trace", "draft", "example", "quote"}
)

// drawable returns the sentences of a text that may be drawn, with their features. The prompt is that of a response.
func drawable(text, prompt string, isResponse bool) (list []sentence, vectors []vector) {
	all := sentences(text)
	place := place{prompt: lowerASCII(prompt), topic: contentWords(prompt), isResponse: isResponse,
		isFiction: !isResponse && containsOf(lowerASCII(text), fiction)}
	vs := make([]vector, len(all))
	for n, s := range all {
		vs[n] = vectorOf(s)
	}
	for n, s := range all {
		fields := strings.Fields(normalize(s.text))
		if isForeign(fields) || strings.HasSuffix(s.text, "?") || !isResponse && isQuestion(s.text, fields) {
			continue
		}
		place.mark(vs, n, all)
		list, vectors = append(list, s), append(vectors, vs[n])
	}
	return list, vectors
}

// A place is what surrounds the sentences of a text.
type place struct {
	prompt                string // of a response, in lower case
	topic                 map[string]bool
	isResponse, isFiction bool
}

// mark sets the features of the n-th sentence that come from its place.
func (p place) mark(all []vector, n int, list []sentence) {
	v := all[n]
	v.set(isOnly, len(list) == 1)
	v.set(isFirst, n == 0 && len(list) > 1)
	v.set(isLast, n > 0 && n == len(list)-1)
	v.set(inPrompt, !p.isResponse)
	v.set(inResponse, p.isResponse)
	v.set(inFiction, p.isFiction)
	v.set(underOrder, !p.isResponse && list[n].lead != "" && containsOf(list[n].lead, handled))
	v.set(beforeQuestion, !p.isResponse && n+1 < len(list) && strings.HasSuffix(list[n+1].text, "?"))
	for i := max(0, n-2); i < min(len(all), n+3) && !p.isResponse; i++ {
		v.set(besideHedge, i != n && all[i].has(hedged))
		v.set(besideReport, i != n && all[i].has(told))
	}
	if p.isResponse {
		v.set(isOnTopic, sharesWord(list[n].text, p.topic))
		isFact, isHow := containsOf(p.prompt, factQuestions), containsOf(p.prompt, howQuestions)
		v.set(askedStatus, containsOf(p.prompt, statusCues))
		v.set(askedFact, isFact)
		v.set(askedHow, isHow)
		v.set(askedNothing, !isFact && !isHow && !strings.Contains(p.prompt, "?"))
	}
}

func sharesWord(text string, topic map[string]bool) bool {
	for w := range contentWords(text) {
		if len(w) > 3 && topic[w] {
			return true
		}
	}
	return false
}
