package extract

import "strings"

// Features of shape and place, beside those of the table of cues.
const (
	isShort = iota // at most 4 words
	hasNumber
	hasCode
	hasName
	hasColon
	hasQuote
	isListed
	isOnly // sentence of its text
	isFirst
	isLast
	isReport      // of what was done
	isDeclared    // as a lasting state
	isStanding    // order
	isPlainOrder  // for this turn
	isShortChoice // "sqlite it is"
	isPassive
	hasVerb // of the third person before a noun: "holds the"
	isFragment
	underRules
	underOrder // after a line with a colon that says what to do with the text below
	besideHedge
	besideReport
	beforeQuestion
	inFiction
	inPrompt // every one: the intercept
	shapes
)

var shapeNames = [shapes]string{"short", "number", "code", "name", "colon", "quote", "listed", "only sentence", "first",
	"last", "report", "declared", "standing order", "plain order", "short choice", "passive", "verb", "fragment",
	"under rules", "under order", "beside hedge", "beside report", "before question", "in fiction", "in prompt"}

var (
	stating   = groupOf("is", "has", "stative", "must", "can't")
	unsettled = groupOf("symptom", "hedge", "hypothetical", "past", "pronoun", "ask", "told")
	lasting   = groupOf("lasting", "always", "taste", "agent", "plain preference", "plain task", "plain decision")
	verbs     = groupOf("is", "has", "stative", "must", "can't", "choose", "past", "told")
	passing   = groupOf("now", "hedge")
	stopping  = groupOf("stop")
	elliptic  = groupOf("elliptic")
)

func (v vector) set(shape int, is bool) { v[len(cues)+shape] = v[len(cues)+shape] || is }

// read splits a text into sentences with the features that each has by itself. A text that overrides rules has none.
func read(text string) []sentence {
	if overridesRules(text) {
		return nil
	}
	list := sentences(text)
	list = list[:min(len(list), maxRead)]
	for n := range list {
		list[n].read()
	}
	return list
}

// read finds the features that a sentence has by itself.
func (s *sentence) read() {
	words := normalize(s.text)
	s.words = strings.Fields(words)
	v := make(vector, len(cues)+shapes)
	v.markCues(words)
	v.set(isShort, len(s.words) < 7)
	v.set(hasNumber, strings.Contains(words, " # "))
	v.set(hasCode, strings.Contains(words, " ` "))
	v.set(hasQuote, strings.Contains(words, " \" "))
	v.set(hasName, hasCapital(s.text))
	v.set(hasColon, strings.Contains(s.text, ": "))
	v.set(isListed, s.isItem)
	v.set(isPassive, anyPair(s.words, passive))
	v.set(hasVerb, anyPair(s.words, thirdPerson))
	v.set(isShortChoice, len(s.words) < 9 && v.has(elliptic))
	v.markMood(headOf(s.words))
	v.set(underRules, containsOf(s.heading, ruleHeadings))
	s.features = v
}

// markMood sets the features of orders, reports, statements and fragments. The head is the first word of a sentence.
func (v vector) markMood(head string) {
	isOrder := imperatives[head] || head == "let's" || head == "lets"
	reports := reportVerbs[head] || len(head) > 3 && strings.HasSuffix(head, "ed")
	v.set(isReport, reports)
	v.set(isStanding, (isOrder || v.has(stopping)) && v.has(lasting) && !v.has(passing))
	v.set(isPlainOrder, isOrder && !v.has(lasting))
	v.set(isDeclared, !isOrder && !reports && v.has(stating) && !v.has(unsettled))
	v.set(isFragment, !isOrder && !reports && !v.has(verbs) && !v[len(cues)+hasVerb])
}

// headOf returns the first word that is no filler.
func headOf(words []string) string {
	for n, w := range words {
		if w != "^" && w != "$" && !(words[max(0, n-1)] == "^" && fillers[w]) {
			return w
		}
	}
	return ""
}

// isQuestion reports whether a sentence is a question, with or without its mark.
func (s sentence) isQuestion() bool {
	return strings.HasSuffix(s.text, "?") || questionWords[headOf(s.words)] && !strings.Contains(s.text, ": ")
}

// isForeign reports whether words are of another language, by its commonest ones.
func isForeign(words []string) bool {
	count := 0
	for _, w := range words {
		if foreignWords[w] {
			count++
		}
	}
	return count > 1 || count == 1 && len(words) < 8
}

// hasCapital reports whether a word after the first begins with a capital letter, as names do.
func hasCapital(s string) bool {
	for i := 2; i+1 < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && s[i-1] == ' ' && s[i-2] != '.' && s[i+1] != ' ' && s[i+1] != '\'' {
			return true
		}
	}
	return false
}

func anyPair(words []string, is func(first, second string) bool) bool {
	for n := range len(words) - 1 {
		if is(words[n], words[n+1]) {
			return true
		}
	}
	return false
}

func passive(first, second string) bool {
	return auxiliaries[first] && len(second) > 4 && (strings.HasSuffix(second, "ed") || strings.HasSuffix(second, "en"))
}

func thirdPerson(first, second string) bool {
	return determiners[second] && len(first) > 3 && strings.HasSuffix(first, "s") && !strings.HasSuffix(first, "ss") &&
		!strings.HasSuffix(first, "'s") && !auxiliaries[first]
}
